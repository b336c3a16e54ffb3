/** Batches: ids of the clock as runs and as texts, beside a block of a counter. */
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { processCpuUs } from './process-cpu.ts'
import { redisBenchmark } from './redis-benchmark.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, type Spread, spreadOf } from './rounds.ts'

type Server = { readonly port: number; readonly pid: number }
/** One request, again and again. */
type Load = { readonly name: string; readonly server: Server; readonly command: readonly string[] }
/** CPU time of the server per request of each load, in µs, a value for each round. */
type Measured = ReadonlyMap<Load, readonly number[]>

const batch = 1000
/** As many ids per ms as PD's timestamps have: other layouts would end a batch of a busy server at borrowMax. */
const layouts = {
  timestamp: 'time:41,sequence:18;epoch=2025-01-01T00:00:00Z',
  snowflake: 'time:41,node:4,sequence:18;epoch=2025-01-01T00:00:00Z',
} as const
const kinds = ['timestamp', 'snowflake'] as const
const earlier = 'of the earlier build'

/** ID.RUNS and ID.NEXT COUNT of both clock kinds, then one id for each request. */
export async function runs(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const ours = await start(lifetime)
  const before = effort.before === undefined ? undefined : await start(lifetime, effort.before)
  const block = load(ours, 'INCRBY', 'order', `${batch}`)
  const sections: Section[] = []
  for (const kind of kinds) {
    const asRuns = load(ours, 'ID.RUNS', kind, `${batch}`)
    const asTexts = load(ours, 'ID.NEXT', kind, 'COUNT', `${batch}`)
    const textsBefore = before && load(before, 'ID.NEXT', kind, 'COUNT', `${batch}`)
    const measured = await measureAll([asRuns, asTexts, block, ...(textsBefore ? [textsBefore] : [])], effort)
    sections.push({
      name: `Batches of a ${kind}, ${batch} ids each`,
      how: how(effort),
      figures: [
        ratio('ID.RUNS to INCRBY of a sequence', measured, asRuns, block),
        ratio('ID.RUNS to ID.NEXT COUNT', measured, asRuns, asTexts),
        ...(textsBefore
          ? [
              ratio(`ID.RUNS to ID.NEXT COUNT ${earlier}`, measured, asRuns, textsBefore),
              ratio(`ID.NEXT COUNT to that ${earlier}`, measured, asTexts, textsBefore),
            ]
          : []),
        ...perId(measured, batch),
      ],
    })
  }
  sections.push(await single(ours, effort))
  return sections
}

async function single(ours: Server, effort: Effort): Promise<Section> {
  const asRuns = kinds.map((kind) => load(ours, 'ID.RUNS', kind, '1'))
  const asText = load(ours, 'ID.NEXT', 'timestamp')
  const number = load(ours, 'INCR', 'order')
  const measured = await measureAll([...asRuns, asText, number], effort)
  return {
    name: 'One id for each request',
    how: how(effort),
    figures: [
      ...asRuns.map((each) => ratio(`${each.name} to ${number.name}`, measured, each, number)),
      ...perId(measured, 1),
    ],
  }
}

async function start(lifetime: Lifetime, checkout?: string): Promise<Server> {
  const { resp, pid } = await startFahao(lifetime, {
    ...(checkout && { checkout }),
    // redis-benchmark does not name a library that reads large integers exactly.
    args: ['--rounding-guard', 'off', '--log-level', 'warn'],
  })
  const client = await RawClient.connect(resp, lifetime)
  await client.command('ID.CREATE', 'order', 'KIND', 'sequence')
  for (const kind of kinds) await client.command('ID.CREATE', kind, 'KIND', kind, 'LAYOUT', layouts[kind])
  return { port: resp, pid }
}

function load(server: Server, ...command: readonly string[]): Load {
  return { name: command.join(' '), server, command }
}

async function measureAll(loads: readonly Load[], effort: Effort): Promise<Measured> {
  const requests = new Map<Load, number>()
  for (const each of loads) {
    // Warms up, and finds the number of requests that fill the time.
    await redisBenchmark(each.server.port, { command: each.command, pipeline: 1, requests: 5000 })
    const perSecond = await redisBenchmark(each.server.port, {
      command: each.command,
      pipeline: 1,
      requests: 5000,
    })
    requests.set(each, Math.ceil(perSecond * effort.seconds))
  }
  return interleaved(loads, effort.rounds, (each) => cpuUs(each, requests.get(each)!))
}

/** CPU time of the server per request, in µs. */
async function cpuUs({ server, command }: Load, requests: number): Promise<number> {
  const before = processCpuUs(server.pid)
  await redisBenchmark(server.port, { command, pipeline: 1, requests })
  return (processCpuUs(server.pid) - before) / requests
}

function ratio(what: string, measured: Measured, ours: Load, theirs: Load): Figure {
  return { what: `server CPU: ${what}`, unit: '×', ...ratioOf(measured.get(ours)!, measured.get(theirs)!) }
}

function perId(measured: Measured, ids: number): Figure[] {
  return [...measured].map(([{ name }, values]) => ({
    what: `${name}: server CPU per id`,
    unit: 'ns',
    ...perIdOf(values, ids),
  }))
}

function perIdOf(values: readonly number[], ids: number): Spread {
  return spreadOf(values.map((us) => (us * 1000) / ids))
}

function how({ rounds, seconds }: Effort): string {
  return `\`redis-benchmark -c 50\`, one request at a time on each connection, about ${seconds} s each, interleaved; the CPU time of the server, which other work on the machine changes less than the throughput; ratios round by round, median of ${rounds}.`
}
