/**
 * Libraries whose integers are JavaScript numbers. Past 2^53−1 they round without a word, and two ids become
 * one in the caller's hands. So an id of that size goes to them as a RESP3 big number, which they read exactly
 * (node-redis 6 as a bigint, ioredis 6 as a string), and in RESP2 not at all.
 *
 * Both read an integer digit by digit as `number * 10 + byte - 48`, which passes through a value 48 larger, so
 * that odd integers are wrong from 2^53−47 on already. The line is drawn at 2^53−64.
 */
import { type Run, safeHi, two32 } from '../ids/run.ts'

const marginIds = 64

/** The largest id that these libraries surely read exactly. */
export const readExactlyMax = 2n ** 53n - BigInt(marginIds) - 1n

/** How an id past `readExactlyMax` reaches a client: as any integer, as a RESP3 big number, or not at all. */
export type WideIds = 'integer' | 'big-number' | 'refused'

/** The names that such libraries give themselves, in lower case. */
const roundingLibraries: ReadonlySet<string> = new Set(['node-redis', 'ioredis'])

/** What a client that named its library like this can be sent. */
export function wideIdsFor(libraryName: string, protocol: 2 | 3): WideIds {
  // Libraries append what the application tells them: `node-redis(my-app)`.
  const library = libraryName.split('(', 1)[0]!.toLowerCase()
  if (!roundingLibraries.has(library)) return 'integer'
  return protocol === 3 ? 'big-number' : 'refused'
}

/** Whether the first id of the run is at most `readExactlyMax`. */
export function readsExactly(run: Run): boolean {
  return run.hi < safeHi - 1 || (run.hi === safeHi - 1 && run.lo < two32 - marginIds)
}
