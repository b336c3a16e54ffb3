/** Work that can be done in slices: a generator that yields where it may pause. */

/** The slices of some work. Each takes about a millisecond. */
export type Slices<Result> = Generator<undefined, Result, undefined>

/** Bytes of a text that are read in about a millisecond. Shorter texts are one slice. */
export const sliceBytes = 32_768
/** Rows that are written in about a millisecond. */
export const sliceRows = 500

/** Does all of it now. */
export function atOnce<Result>(slices: Slices<Result>): Result {
  for (;;) {
    const step = slices.next()
    if (step.done) return step.value
  }
}
