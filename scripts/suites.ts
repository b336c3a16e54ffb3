/**
 * Runs the suites and ends with one summary: `node scripts/suites.ts [folder | file | glob …] [--name PATTERN]`.
 *
 * Suites that start processes measure time, and run one after another with the machine to themselves; all
 * others share its cores. Two runs of node:test, whose counts are added up at the end.
 */
import { globSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'

type TestEvent = ReturnType<typeof run> extends AsyncIterable<infer Event> ? Event : never
type Counts = Map<string, number>
/** Milliseconds that the tests of a file took. */
type Times = Map<string, number>

const alone = /^test\/(integration|fault)\//
/** For a test or a suite that hangs: several times what the longest takes on a slow machine. */
const sharingTimeoutMs = 3 * 60_000
const aloneTimeoutMs = 10 * 60_000
const slowestShown = 10
const countLine = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { name: { type: 'string' } },
})
const files = testFiles(positionals.length > 0 ? positionals : ['test'])
if (files.length === 0) {
  console.error(`No *.test.ts in ${positionals.join(', ')}: name a folder, a file or a glob.`)
  process.exit(1)
}
Readable.from(events(files)).compose(spec).pipe(process.stdout)

function testFiles(places: readonly string[]): string[] {
  const patterns = places.map((place) => (isFolder(place) ? `${place}/**/*.test.ts` : place))
  return [...new Set(patterns.flatMap((pattern) => globSync(pattern)))].sort()
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

async function* events(all: readonly string[]): AsyncGenerator<TestEvent> {
  const counts: Counts = new Map()
  const times: Times = new Map()
  yield* oneRun(
    all.filter((file) => !alone.test(file)),
    { concurrency: availableParallelism(), timeout: sharingTimeoutMs },
    counts,
    times,
  )
  yield* oneRun(
    all.filter((file) => alone.test(file)),
    { concurrency: 1, timeout: aloneTimeoutMs },
    counts,
    times,
  )
  yield diagnostic(`The ${slowestShown} slowest files:`)
  const slowest = [...times].sort(([, one], [, other]) => other - one).slice(0, slowestShown)
  for (const [file, ms] of slowest)
    yield diagnostic(`${(ms / 1000).toFixed(1).padStart(6)} s ${relative(process.cwd(), file)}`)
  for (const [name, count] of counts) yield diagnostic(`${name} ${count}`)
}

function diagnostic(message: string): TestEvent {
  return { type: 'test:diagnostic', data: { nesting: 0, level: 'info', message } } as TestEvent
}

/** One run of node:test without its closing counts, which are added to `counts`; the times of files to `times`. */
async function* oneRun(
  some: string[],
  how: { concurrency: number; timeout: number },
  counts: Counts,
  times: Times,
): AsyncGenerator<TestEvent> {
  if (some.length === 0) return
  const only = values.name === undefined ? {} : { testNamePatterns: [values.name] }
  for await (const event of run({ files: some, ...how, ...only })) {
    if (event.type === 'test:fail') process.exitCode = 1
    if ((event.type === 'test:pass' || event.type === 'test:fail') && event.data.nesting === 0) {
      const { file, details } = event.data
      if (file) times.set(file, (times.get(file) ?? 0) + details.duration_ms)
    }
    const count = event.type === 'test:diagnostic' ? countLine.exec(event.data.message) : null
    if (count && event.type === 'test:diagnostic' && event.data.nesting === 0) {
      counts.set(count[1]!, (counts.get(count[1]!) ?? 0) + Number(count[2]))
      continue
    }
    if (event.type !== 'test:summary') yield event
  }
}
