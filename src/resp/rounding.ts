/**
 * Libraries whose integers are JavaScript numbers. Past 2^53−1 they round without a word, and two ids become
 * one in the caller's hands. So an id of that size goes to them as a RESP3 big number where they read those
 * exactly, and not at all elsewhere.
 */

/** How an id past 2^53−1 reaches a client: as any integer, as a RESP3 big number, or not at all. */
export type WideIds = 'integer' | 'big-number' | 'refused'

/** By the name that a library gives itself: whether it reads RESP3's big numbers exactly. */
const rounding: ReadonlyMap<string, { readonly bigNumbers: boolean }> = new Map([
  ['node-redis', { bigNumbers: true }],
  ['ioredis', { bigNumbers: false }],
])

/** What a client that named its library like this can be sent. */
export function wideIdsFor(libraryName: string, protocol: 2 | 3): WideIds {
  // Libraries append what the application tells them: `node-redis(my-app)`.
  const library = rounding.get(libraryName.split('(', 1)[0]!.toLowerCase())
  if (library === undefined) return 'integer'
  return library.bigNumbers && protocol === 3 ? 'big-number' : 'refused'
}
