/**
 * The token of a leased range, `INCARNATION.END.SECRET`: the proof that the range is the caller's, and what a node that does not
 * know the range needs to count what is given back of it.
 */
import type { GeneratorRange } from '../catalogue/catalogue.ts'
import { countBelow, firstFrom, type Range } from '../ids/run.ts'

/** Raw values that a caller says it has not used, of an incarnation that it names. */
export type UnknownRange = Range & { readonly incarnation: bigint }

const shape = /^(\d{1,19})\.(\d{1,19})\.[\w-]{22}$/

/** The token of a range. `secret`: 16 bytes. */
export function rangeToken(
  { incarnation, end }: Pick<GeneratorRange, 'incarnation' | 'end'>,
  secret: Uint8Array,
): string {
  return `${incarnation}.${end}.${Buffer.from(secret).toString('base64url')}`
}

/** What a return from `from` on gives back, by the token; less what lies above `until`. Undefined: nothing. */
export function rangeOf(token: string, from: bigint, until?: bigint): UnknownRange | undefined {
  const [, incarnation, stated] = shape.exec(token) ?? []
  if (incarnation === undefined || stated === undefined) return undefined
  const end = until ?? BigInt(stated)
  return from < end ? { incarnation: BigInt(incarnation), start: from, end } : undefined
}

/** How many ids of a generator are in it; 0 if it is of another incarnation. */
export function idsIn(
  { incarnation, start, end }: UnknownRange,
  generator: Pick<GeneratorRange, 'incarnation' | 'definition'>,
): number {
  const { increment, offset, max } = generator.definition
  if (incarnation !== generator.incarnation || increment === undefined || offset === undefined) return 0
  return max !== undefined && end <= max + 1n
    ? countBelow(firstFrom(start, increment, offset), end, increment)
    : 0
}
