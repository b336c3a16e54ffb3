/**
 * Runs test files and ends with one summary: `node scripts/suites.ts [--all | --rest] [place …] [--name PATTERN]`.
 *
 * Without arguments: the files of `npm test`. With `--rest`: all others. With `--all`: both. A place is a folder, a
 * file or a glob, and replaces that choice. A test file is a process; the unit tests of a room share one, because the start of a
 * process takes longer than most of them. One process more than there are cores runs at a time, then those that must run
 * alone: two runs of node:test, whose counts are added up at the end. test-lists.ts says which file belongs to what.
 */
import { globSync, mkdirSync, mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { alone, filesOf, matcher, processesOf } from './test-lists.ts'

type TestEvent = ReturnType<typeof run> extends AsyncIterable<infer Event> ? Event : never
type Counts = Map<string, number>
/** Milliseconds that a process took, from its start to its end, by its file. */
type Times = Map<string, number>

/** For a test or a suite that hangs: several times what the longest takes on a slow machine. */
const timeoutMs = 10 * 60_000
const slowestShown = 25
const countLine = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/

/** What files that run the tests of several are shown as. */
const names = new Map<string, string>()

const cache = resolve('node_modules/.cache')
/** Keeps files in memory. */
const memory = '/dev/shm'
/** For the data of several databases at once. */
const roomBytes = 3 * 2 ** 30

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { name: { type: 'string' }, all: { type: 'boolean' }, rest: { type: 'boolean' } },
})
const existing = testFiles(['test'])
const runsAlone = matcher(existing, alone)
const chosen = filesOf(values.all ? 'all' : values.rest ? 'rest' : 'short', existing)
// Many files start servers and wait for them: of three, two keep two cores busy.
const together = availableParallelism() + 1
const files = positionals.length > 0 ? testFiles(positionals) : chosen
if (files.length === 0) {
  console.error(`No *.test.ts in ${positionals.join(', ')}: name a folder, a file or a glob.`)
  process.exit(1)
}
// Test files are many, and each is a process: with its modules compiled and their types taken out, it starts in half the time.
process.env.NODE_COMPILE_CACHE ??= join(cache, 'compiled')
// A sync of a file in memory takes no time, and processes that are killed lose nothing there either.
if (process.env.TMPDIR === undefined && freeBytes(memory) >= roomBytes) process.env.TMPDIR = memory
Readable.from(events()).compose(spec).pipe(process.stdout)

function testFiles(places: readonly string[]): string[] {
  const patterns = places.map((place) => (isFolder(place) ? `${place}/**/*.test.ts` : place))
  return [...new Set(patterns.flatMap((pattern) => globSync(pattern)))].sort()
}

/** A file that runs the tests of several. Its first test is over when all are loaded, so that none runs before. */
function joined(folder: string, name: string, some: readonly string[]): string {
  const path = join(folder, `${name.replaceAll('/', '-')}.test.mjs`)
  names.set(path, `${name} (${some.length} files)`)
  const loads = some.map((file) => `await import(${JSON.stringify(resolve(file))})`)
  const title = JSON.stringify(`${name} loads`)
  const first = [
    "import { test } from 'node:test'",
    'const loaded = Promise.withResolvers()',
    `test(${title}, () => loaded.promise)`,
  ]
  writeFileSync(path, [...first, ...loads, 'loaded.resolve()', ''].join('\n'))
  return path
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function freeBytes(folder: string): number {
  if (!isFolder(folder)) return 0
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

async function* events(): AsyncGenerator<TestEvent> {
  const counts: Counts = new Map()
  const times: Times = new Map()
  const processes = processesOf(files.filter((file) => !runsAlone(file)))
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'suites-'))
  const templates = mkdtempSync(join(tmpdir(), 'fahao-templates-'))
  process.env.FAHAO_TEST_TEMPLATES = templates
  try {
    yield* oneRun(
      processes.map(({ name, files }) => (files.length === 1 ? files[0]! : joined(folder, name, files))),
      together,
      counts,
      times,
    )
    yield* oneRun(files.filter(runsAlone), 1, counts, times)
  } finally {
    for (const each of [folder, templates]) rmSync(each, { recursive: true, force: true })
  }
  yield diagnostic(`The ${slowestShown} slowest processes:`)
  const slowest = [...times].sort(([, one], [, other]) => other - one).slice(0, slowestShown)
  for (const [file, ms] of slowest) yield diagnostic(`${(ms / 1000).toFixed(1).padStart(6)} s ${file}`)
  for (const [name, count] of counts) yield diagnostic(`${name} ${count}`)
}

function diagnostic(message: string): TestEvent {
  return { type: 'test:diagnostic', data: { nesting: 0, level: 'info', message } } as TestEvent
}

/** One run of node:test without its closing counts, which are added to `counts`; the times of files to `times`. */
async function* oneRun(
  some: string[],
  concurrency: number,
  counts: Counts,
  times: Times,
): AsyncGenerator<TestEvent> {
  if (some.length === 0) return
  const only = values.name === undefined ? {} : { testNamePatterns: [values.name] }
  for await (const event of run({ files: some, concurrency, timeout: timeoutMs, ...only })) {
    if (event.type === 'test:fail') process.exitCode = 1
    // The run of a file is a test that has the name of the file.
    if (event.type === 'test:complete' && event.data.nesting === 0 && some.includes(event.data.name))
      times.set(names.get(event.data.name) ?? event.data.name, event.data.details.duration_ms)
    const count = event.type === 'test:diagnostic' ? countLine.exec(event.data.message) : null
    if (count && event.type === 'test:diagnostic' && event.data.nesting === 0) {
      counts.set(count[1]!, (counts.get(count[1]!) ?? 0) + Number(count[2]))
      continue
    }
    if (event.type !== 'test:summary') yield event
  }
}
