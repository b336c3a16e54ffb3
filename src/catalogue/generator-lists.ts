/**
 * Lists of the generators that a caller may name. They are read in parts, from where such names begin, and let other
 * requests run between two parts: what a list costs grows with what the caller may name, and no part takes long.
 */
import type { Access } from '../auth/access.ts'
import { commonRanges, rangesOf } from '../auth/name-ranges.ts'
import { globMatcher, matchWork } from '../base/glob.ts'
import type { Turns } from '../base/turns.ts'
import type { Catalogue, ListedGenerator, ListPart } from './catalogue.ts'

/** Which generators are listed. */
export type ListRequest = {
  /** Generators that it may not name are left out. */
  readonly access: Access
  /** A glob for names; default: every name. */
  readonly pattern?: string | undefined
  /** The list begins behind this name. */
  readonly after?: string | undefined
  /** Aborted: the list ends with ABORTED. */
  readonly signal?: AbortSignal | undefined
}

/** About how much work a part is: less than half of a turn. */
const partWork = 49_152
const looksMax = 200
/** The time to read a record, as the bytes of a reply that take as long. */
const recordWork = 256

/** Yields the generators of a list part by part, in byte order of their names. Errors: UNAVAILABLE, ABORTED. */
export async function* listedParts(
  catalogue: Pick<Catalogue, 'page'>,
  turns: Turns,
  request: ListRequest,
): AsyncGenerator<readonly ListedGenerator[]> {
  for (let after = request.after; ; ) {
    const { found, next } = await listedPart(catalogue, turns, { ...request, after })
    yield found
    if (next === undefined) return
    after = next
  }
}

/** The part of a list behind `after`: up to `max` generators. Its `next` may be a name that the caller may not know. */
export async function listedPart(
  catalogue: Pick<Catalogue, 'page'>,
  turns: Turns,
  { access, pattern = '*', after, signal }: ListRequest,
  max = looksMax,
): Promise<ListPart> {
  const work = recordWork + access.work + matchWork(pattern)
  const looks = Math.max(1, Math.min(max, looksMax, Math.floor(partWork / work)))
  await turns.take(looks * work)
  signal?.throwIfAborted()
  const matches = globMatcher(pattern)
  return catalogue.page({
    ranges: pattern === '*' ? access.ranges : commonRanges(access.ranges, rangesOf([pattern])),
    after,
    looks,
    wanted: (name) => matches(name) && access.reaches(name),
  })
}
