/**
 * JavaScript libraries hold integers as doubles. Past 2^53−1 they round without an error, and distinct ids become
 * equal in the caller. So an id of that size leaves as an integer only for a client that has shown that it reads such
 * integers exactly, and as a RESP3 big number only for one that is known to read those exactly. Any other client gets
 * the error UNSAFE: a reply of another type is 0 in a C program that reads `reply->integer` without a check.
 */
import { readExactlyMax } from '../commands/drawing.ts'
import type { Run } from '../ids/run.ts'

/** The same as a number. */
export const readExactlyMaxNumber = Number(readExactlyMax)

/** How an id past `readExactlyMax` reaches a client: as any integer, as a RESP3 big number, or not at all. */
export type WideIds = 'integer' | 'big-number' | 'refused'

/**
 * Which clients are guarded: `strict`: all but those that name a library known to be exact; `known`: those alone that
 * name a library known to round; `off`: none.
 */
export type RoundingGuard = 'strict' | 'known' | 'off'

/** The library name of a connection between nodes: its requests were forwarded. */
const forwardMark = 'fahao-forward'

/** Names under which the leader sends large ids in the form that the client's node has chosen for the client. */
export const forwardNames: Readonly<Record<WideIds, string>> = {
  integer: forwardMark,
  'big-number': `ioredis(${forwardMark})`,
  refused: `iovalkey(${forwardMark})`,
}

/** Whether a connection with this library name comes from another node. */
export function isForwardName(libraryName: string): boolean {
  return libraryName.endsWith(forwardMark) || libraryName.endsWith(`(${forwardMark})`)
}

/**
 * Libraries that round, by the name that they send in CLIENT SETINFO, in lower case, and whether they read a RESP3 big
 * number exactly.
 */
const roundingLibraries: ReadonlyMap<string, boolean> = new Map([
  ['node-redis', true],
  ['ioredis', true],
  ['glidejs', true],
  ['iovalkey', false],
])

/** Libraries of languages whose integers have 64 bits or more, and that read integer replies into them. */
const exactLibraries: ReadonlySet<string> = new Set([
  forwardMark,
  'redis-cli',
  'valkey-cli',
  'hiredis',
  'hiredis-py',
  'libvalkey',
  'redis-py',
  'valkey-py',
  'glidepy',
  'glidego',
  'glidejava',
  'go-redis',
  'rueidis',
  'valkey-go',
  'redigo',
  'radix',
  'jedis',
  'valkey-java',
  'lettuce',
  'redisson',
  'redis-rs',
  'fred',
  'se.redis',
  'phpredis',
  'predis',
  'redis-rb',
  'redis-client',
])

/** The form of large ids for a client with this library name. */
export function wideIdsFor(libraryName: string, protocol: 2 | 3, guard: RoundingGuard): WideIds {
  // A node guards its own clients only: the name of a forwarding node states the form that its client needs.
  if (guard === 'off' && !isForwardName(libraryName)) return 'integer'
  // Libraries append the names of the application and the platform: `node-redis(my-app)`, `go-redis(,go1.26)`.
  const named = libraryName.split(/[(,_]/, 1)[0]!.toLowerCase()
  // StackExchange.Redis appends with a hyphen: `SE.Redis-DC`.
  const library = named.startsWith('se.redis-') ? 'se.redis' : named
  const exact = guard === 'strict' ? exactLibraries.has(library) : !roundingLibraries.has(library)
  if (exact) return 'integer'
  return protocol === 3 && roundingLibraries.get(library) ? 'big-number' : 'refused'
}

/** Whether the first id of the run is at most `readExactlyMax`. */
export function firstReadsExactly(run: Run): boolean {
  return run.number <= readExactlyMaxNumber
}

/** Whether every id of the run is at most `readExactlyMax`. */
export function readsExactly(run: Run): boolean {
  // NaN past 2^53−1, which compares as false; a product that is not exact is far above the limit.
  return run.number + run.stride * (run.count - 1) <= readExactlyMaxNumber
}
