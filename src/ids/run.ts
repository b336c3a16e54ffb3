/**
 * A run of ids: `first`, `first + stride`, … `count` of them. It is how ids travel from the issuer to the
 * reply: one object per caller, filled again and again, so that the fast path allocates no memory.
 *
 * An id is kept as two halves of 32 bits: a double holds integers up to 2^53 only, and a BigInt per id costs
 * more than everything else on the way.
 */

const words = new Uint32Array(2)
const wide = new BigUint64Array(words.buffer)
const [lowWord, highWord] = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? [0, 1] : [1, 0]

/** The values, or ids one apart, from `start` up to below `end`. */
export type Range = {
  readonly start: bigint
  readonly end: bigint
}

/** 2^32. */
export const two32 = 0x1_0000_0000
const two31 = 0x8000_0000

/** The high half of 2^53: ids whose high half is below this are exact as numbers. */
export const safeHi = 0x20_0000

/** A run of ids, filled by the issuer. */
export class Run {
  /** High 31 bits of the first id. */
  hi = 0
  /** Low 32 bits of the first id, unsigned. */
  lo = 0
  /** How many ids. */
  count = 0
  /** From one id to the next; at least 1, below 2^53. 0: the ids are in no order, and only `at` returns them. */
  stride = 1

  /** The first id. */
  get first(): bigint {
    return this.at(0)
  }

  /** The first id as a number, or NaN past 2^53−1. */
  get number(): number {
    return this.hi < safeHi ? this.hi * two32 + this.lo : Number.NaN
  }

  /** The id at `index`, from 0. */
  at(index: number): bigint {
    words[lowWord] = this.lo
    words[highWord] = this.hi
    const first = wide[0]!
    return index === 0 ? first : first + BigInt(this.stride) * BigInt(index)
  }

  /** Makes the run `count` ids from `first` on. */
  set(first: bigint, count: number, stride: number): void {
    wide[0] = first
    this.lo = words[lowWord]!
    this.hi = words[highWord]!
    this.count = count
    this.stride = stride
  }

  /** Makes the run one id: what `set(id, 1, 1)` does. */
  setOne(id: bigint): void {
    this.set(id, 1, 1)
  }

  /** Drops the first id. */
  advance(): void {
    this.lo += this.stride
    if (this.lo >= two32) {
      this.hi += Math.floor(this.lo / two32)
      this.lo %= two32
    }
    this.count--
  }

  /** The first id in decimal. */
  toString(): string {
    // V8 converts small integers fastest, and a BigInt of 64 bits faster than a double beyond them.
    return this.hi === 0 && this.lo < two31 ? String(this.lo) : this.first.toString()
  }
}

/**
 * A run of ids in no order. Each id is computed when it is read: an id of a permuted generator takes a hundred times as
 * long as one that is counted, so a large batch is computed in the parts in which it is sent.
 */
export class ScatteredRun extends Run {
  readonly #idAt: (index: number) => bigint

  /** `count` ids; `idAt` computes each by its index. */
  constructor(count: number, idAt: (index: number) => bigint) {
    super()
    this.set(idAt(0), count, 0)
    this.#idAt = idAt
  }

  override at(index: number): bigint {
    return this.#idAt(index)
  }
}

/**
 * The ids of runs as few half-open ranges: runs that touch become one. Ids that are further apart, as a generator
 * that was altered while its caller waited may give, are a range each.
 */
export function rangesOf(runs: readonly Run[]): Range[] {
  const ranges: { start: bigint; end: bigint }[] = []
  for (const run of runs) {
    const whole = run.stride === 1 ? run.count : 1
    for (let at = 0; at < run.count; at += whole) {
      const start = run.at(at)
      const last = ranges.at(-1)
      if (last?.end === start) last.end += BigInt(whole)
      else ranges.push({ start, end: start + BigInt(whole) })
    }
  }
  return ranges
}

/** `count` ids from `first` on, `stride` apart: a run as it is sent. For a single id the stride means nothing. */
export type IdRun = { readonly first: bigint; readonly stride: number; readonly count: number }

/** The ids of runs, in their order, as few runs: one that continues the run before it becomes part of it. */
export function mergedRuns(runs: readonly Run[]): IdRun[] {
  const merged: { first: bigint; stride: number; count: number }[] = []
  for (const run of runs) {
    // Ids without an order are a run each. A generator that is altered while its caller waits may give such ids.
    const whole = run.stride === 0 ? 1 : run.count
    const stride = run.stride === 0 ? 1 : run.stride
    for (let at = 0; at < run.count; at += whole) {
      const first = run.at(at)
      const last = merged.at(-1)
      if (last !== undefined && continues(last, first, stride, whole)) last.count += whole
      else merged.push({ first, stride, count: whole })
    }
  }
  return merged
}

function continues(last: IdRun, first: bigint, stride: number, count: number): boolean {
  if (last.stride !== stride && count > 1) return false
  return first === last.first + BigInt(last.stride) * BigInt(last.count)
}

/** Ids of a counter are the values ≡ `offset` (mod `increment`). The first at or above `value`. */
export function firstFrom(value: bigint, increment: number, offset: bigint): bigint {
  const stride = BigInt(increment)
  return value + ((((offset - value) % stride) + stride) % stride)
}

/** How many ids from the id `next` on are below `end`. */
export function countBelow(next: bigint, end: bigint, increment: number): number {
  const stride = BigInt(increment)
  return end <= next ? 0 : Number((end - next + stride - 1n) / stride)
}
