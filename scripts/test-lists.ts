/**
 * Which test files `npm test` runs, which files share a process, and which run alone. An entry is a file or a folder.
 * The runner refuses an entry that matches no test file.
 *
 * A test file that `inNpmTest` does not name belongs to the rest. `npm run test:all` and `.ci/run` run the rest too.
 */

/** What `npm test` runs. It is meant to take five minutes on two cores, and `.ci/run` twenty. */
export const inNpmTest: readonly string[] = [
  'test/suites.test.ts',
  'test/tidy.test.ts',
  'test/supply-chain.test.ts',
  'test/unit',
  'test/console/bytes.test.ts', // what a browser gets of the console; its pages in a browser are in the rest
  'test/console/live-figures.test.ts',
  // The contract of the engine in memory, embedded, and on a database; the others, and what only databases do, are in the rest.
  'test/conformance/memory.test.ts',
  'test/conformance/sqlite.test.ts',
  'test/conformance/postgres.test.ts',
  'test/conformance/commits.test.ts', // several records and a reserve on servers, whose answers are lost
  'test/conformance/batched-calls.test.ts', // calls that share a message to a server
  'test/sim/leaders.test.ts', // of both, as many seeds again are in the rest
  'test/sim/nodes.test.ts',
  'test/fuzz', // some generated requests of HTTP, and conversations of MySQL; `npm run fuzz:http` and `fuzz:mysql` have more
  'test/mutations', // the deliberate faults still fit the source; `npm run mutations` tries them
  // One integration path for each transport. Those of PostgreSQL's protocol and of the MySQL proxy are among the unit tests.
  'test/integration/ioredis.test.ts', // RESP
  'test/integration/http.test.ts', // HTTP, the native API
  'test/integration/client.test.ts', // fahao-client, over both
  'test/integration/permissions.test.ts', // both: every command and operation with every kind of user
  'test/integration/users.test.ts', // users of two processes
  'test/integration/compat-http.test.ts', // HTTP, the APIs of Leaf, TinyID and IdBuilder
  'test/integration/cluster.test.ts', // a cluster
  'test/integration/cli.test.ts', // the command line, against a server
  // One short fault of each kind.
  'test/fault/short', // kill -9, clocks, an engine that is away or forgets, hostile clients, leaders killed or stopped
  'test/fault/disk-full.test.ts',
  'test/fault/unknown.test.ts', // writes without a reply
  'test/fault/zombie.test.ts', // a process that is paused
]

/** Files that run while no other file does, because they compare times. */
export const alone: readonly string[] = [
  'test/fault/hostile.test.ts', // compares the waits of a client with and without an attack
]

/** Files that take longest, the longest first: they begin before the others, so that none runs by itself at the end. */
export const longest: readonly string[] = [
  'test/fault/cluster.test.ts',
  'test/integration/postgres-clients.test.ts',
  'test/fault/cluster-etcd.test.ts',
  'test/upgrade/rolling.test.ts',
  'test/fault/forgetting.test.ts',
  'test/conformance/sql.test.ts',
  'test/integration/artifacts.test.ts', // on a new machine it first makes a root of Debian
  'test/docs/pages.test.ts',
  'test/fault/outage.test.ts',
  'test/integration/legacy/generators.test.ts',
  'test/integration/turns/turns.test.ts',
  'test/sim/nodes.test.ts',
]

/** The rooms of the unit tests. The test files of a room share a process: they leave nothing behind that others see. */
const unitRoom = /^test\/unit\/[^/]+(?=\/)/

/** Test files that one process runs. */
export type TestProcess = { readonly name: string; readonly files: readonly string[] }

/** The processes of `files`: first the longest, then those with the most files. */
export function processesOf(files: readonly string[]): TestProcess[] {
  const groups = Map.groupBy(files, (file) => unitRoom.exec(file)?.[0] ?? file)
  const rank = ({ name }: TestProcess) => (longest.includes(name) ? longest.indexOf(name) : longest.length)
  return [...groups]
    .map(([name, files]) => ({ name, files }))
    .sort((left, right) => rank(left) - rank(right) || right.files.length - left.files.length)
}

/** The part of the test files to run: those of `npm test`, all others, or both. */
export type Part = 'short' | 'rest' | 'all'

/** The files of a part, in the order of `files`. Throws as `matcher` does. */
export function filesOf(part: Part, files: readonly string[], short = inNpmTest): string[] {
  const isShort = matcher(files, short)
  return files.filter((file) => part === 'all' || isShort(file) === (part === 'short'))
}

/** Whether an entry is a given file or a folder above it. Throws when an entry matches none of `files`. */
export function matcher(files: readonly string[], entries: readonly string[]): (file: string) => boolean {
  const matches = (entry: string, file: string) => file === entry || file.startsWith(`${entry}/`)
  const unmatched = entries.filter((entry) => !files.some((file) => matches(entry, file)))
  if (unmatched.length > 0)
    throw new Error(
      `No test file matches ${unmatched.join(', ')}: correct the lists in scripts/test-lists.ts.`,
    )
  return (file) => entries.some((entry) => matches(entry, file))
}
