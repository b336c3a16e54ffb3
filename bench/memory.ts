/** Memory: of generators in use, and of those that are only defined. */
import { join } from 'node:path'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { temporaryFolder } from '../test/launch/places.ts'
import type { Defined, InUse, Opened } from './memory-probe.ts'
import { runProbe } from './probe.ts'
import { residentBytes } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, type Spread, spreadOf } from './rounds.ts'

const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const

/** Bytes per generator. */
export async function memory(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  return [await inUse(lifetime, effort), await defined(lifetime, effort)]
}

async function inUse(lifetime: Lifetime, { quick }: Effort): Promise<Section> {
  const count = quick ? 4000 : 20_000
  const figures: Figure[] = []
  for (const kind of kinds) {
    const engine = `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`
    const { heapBytes, residentBytes: resident } = await runProbe<InUse>(...probe('use', engine, kind, count))
    figures.push(
      { what: `${kind}: heap`, unit: 'B', budget: { most: 1024 }, ...once(heapBytes / count) },
      {
        what: `${kind}: resident, the store’s thread and its cache included`,
        unit: 'B',
        ...once(resident / count),
      },
    )
  }
  const used = await runProbe<InUse>(...probe('use', 'memory:', 'sequence', count))
  const kept = await runProbe<InUse>(...probe('keep', 'memory:', 'sequence', count))
  figures.push(
    {
      what: 'sequence on memory: heap, without what the engine keeps',
      unit: 'B',
      budget: { most: 1024 },
      ...once((used.heapBytes - kept.heapBytes) / count),
    },
    { what: 'memory: heap, a record and a counter', unit: 'B', ...once(kept.heapBytes / count) },
  )
  return {
    name: 'Memory: a generator in use',
    how: `${count.toLocaleString('en-US')} generators are opened in process on SQLite and issue one id each; growth after a full collection, divided by their number. On the memory engine, what it keeps is measured with as many records and counters and no generator, and taken off.`,
    figures,
  }
}

async function defined(lifetime: Lifetime, { quick, rounds }: Effort): Promise<Section> {
  const count = quick ? 20_000 : 100_000
  const empty = `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`
  const full = `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`
  await runProbe<Defined>(...probe('define', empty, 'sequence', 0))
  const { seconds } = await runProbe<Defined>(...probe('define', full, 'sequence', count))
  const opened = async (engine: string) => await runProbe<Opened>(...probe('open', engine, 'sequence', 0))
  const pairs: { empty: Opened; full: Opened; emptyServer: number; fullServer: number }[] = []
  for (let round = 0; round < Math.min(rounds, 3); round++) {
    pairs.push({
      empty: await opened(empty),
      full: await opened(full),
      emptyServer: await serverBytes(lifetime, empty),
      fullServer: await serverBytes(lifetime, full),
    })
  }
  const of = (pick: (pair: (typeof pairs)[number]) => number) => spreadOf(pairs.map(pick))
  const mebibytes = (bytes: number) => bytes / 2 ** 20
  return {
    name: 'Memory: generators that are only defined',
    how: `A store with ${count.toLocaleString('en-US')} generators (defined in ${seconds.toFixed(0)} s) and an empty one are opened in turn, in process and by \`fahao serve\`; median of ${pairs.length}.`,
    figures: [
      {
        what: 'heap at start, per defined generator',
        unit: 'B',
        budget: { most: 1 },
        ...of(({ empty, full }) => (full.heapBytes - empty.heapBytes) / count),
      },
      { what: 'heap at start, empty store', unit: 'MiB', ...of(({ empty }) => mebibytes(empty.heapBytes)) },
      { what: 'heap at start, full store', unit: 'MiB', ...of(({ full }) => mebibytes(full.heapBytes)) },
      {
        what: 'server resident at start, empty store',
        unit: 'MiB',
        ...of((pair) => mebibytes(pair.emptyServer)),
      },
      {
        what: 'server resident at start, full store',
        unit: 'MiB',
        ...of((pair) => mebibytes(pair.fullServer)),
      },
      { what: 'opening, empty store', unit: 'ms', ...of(({ empty }) => empty.openMs) },
      { what: 'opening, full store', unit: 'ms', ...of(({ full }) => full.openMs) },
    ],
  }
}

async function serverBytes(lifetime: Lifetime, engine: string): Promise<number> {
  const server = await startFahao(lifetime, { engine, args: ['--log-level', 'warn'] })
  const bytes = residentBytes(server.pid)
  await server.kill('SIGTERM')
  return bytes
}

function probe(task: string, engine: string, kind: string, count: number): [string, ...string[]] {
  return ['memory-probe.ts', task, engine, kind, `${count}`]
}

function once(value: number): Spread {
  return spreadOf([value])
}
