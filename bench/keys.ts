/** Many keys: INCR, GET and INCRBY of random keys, beside Redis and a minimal Node server for many keys. */
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { startRedis } from '../test/launch/redis.ts'
import { startBareKeys } from './bare-keys-server.ts'
import { hostileNames } from './hostile-names.ts'
import { keysDefined, keysDefinedElsewhere } from './keys-defined.ts'
import { keysInPeriods } from './keys-in-periods.ts'
import { keysInUse } from './keys-in-use.ts'
import { mixedKeys } from './mixed-keys.ts'
import { askEach, benchmarkKey } from './name-links.ts'
import { newKeys, newKeysElsewhere } from './new-keys.ts'
import { processCpuUs } from './process-cpu.ts'
import { type RedisFigures, type RedisLoad, redisBenchmarkFigures } from './redis-benchmark.ts'
import type { Budget, Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

type Server = { readonly port: number; readonly pid: number }
type Measured = RedisFigures & { readonly cpuUs: number }
type Contender = 'redis' | 'fahao' | 'bare' | 'before'
type Servers = ReadonlyMap<Contender, Server>
type Rounds = ReadonlyMap<Contender, readonly Measured[]>

const names: Record<Contender, string> = {
  redis: 'Redis, no persistence',
  fahao: 'Fahao, SQLite',
  bare: 'the prototype',
  before: 'the earlier build',
}
const pipelines = [1, 16, 128] as const
type Pipeline = (typeof pipelines)[number]
const firstRequests: Record<Pipeline, number> = { 1: 20_000, 16: 100_000, 128: 200_000 }

/** One command over a number of keys. */
type Scenario = {
  readonly name: string
  readonly keys: number
  /** The text before the number of keys in `--only`. */
  readonly only: string
  readonly command?: readonly string[]
  readonly budgets: Readonly<Record<Pipeline, Budgets>>
}
type Budgets = { readonly throughput?: number; readonly cpu?: number; readonly p99?: number }

/** How often each key is asked for beforehand: by then a counter with an adaptive step has got more than its first reserve. */
const warmTimes = 8
const randomKey = 'counter:__rand_int__'
/** Throughput at least and CPU at most, to Redis's, at pipelines 1, 16 and 128. */
const incrBudgets: ReadonlyMap<number, readonly [throughput: number, cpu: number][]> = new Map([
  [1, []],
  [
    1000,
    [
      [0.9, 1.6],
      [1, 1],
      [1.5, 0.6],
    ],
  ],
  [
    20_000,
    [
      [0.8, 1.6],
      [0.7, 1.6],
      [1, 1],
    ],
  ],
  [
    200_000,
    [
      [0.7, 1.7],
      [0.6, 1.9],
      [0.8, 1.4],
    ],
  ],
])
const p99Most = 3
/** Of INCR's budget over as many keys. */
const otherCommandsLeast = 0.8

const scenarios: readonly Scenario[] = [
  ...[...incrBudgets].map(([keys, budgets]) => ({
    name: 'INCR',
    only: '',
    keys,
    budgets: perPipeline((index) => {
      const [throughput, cpu] = budgets[index] ?? []
      return throughput === undefined ? {} : { throughput, cpu: cpu!, p99: p99Most }
    }),
  })),
  ...[
    { name: 'GET', only: 'get:', command: ['GET', randomKey] },
    { name: 'INCRBY 10', only: 'incrby:', command: ['INCRBY', randomKey, '10'] },
  ].map((each) => ({
    ...each,
    keys: 1000,
    budgets: perPipeline((index) => ({
      throughput: incrBudgets.get(1000)![index]![0] * otherCommandsLeast,
      p99: p99Most,
    })),
  })),
]

/**
 * Each number of keys with its budgets, new keys, keys in use and defined, hostile and mixed ones. `--only 20000@128`, `--only
 * get:1000@16,in-use`: parts of it. `--names 10000000`: only keys in use and defined ones, so many of them.
 */
export async function keys(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  if (effort.names !== undefined)
    return [await keysDefined(lifetime, effort), await keysInUse(lifetime, effort)]
  const sections: Section[] = []
  if (
    scenarios.some((scenario) => pipelines.some((pipeline) => isWanted(cellOf(scenario, pipeline), effort)))
  )
    sections.push(...(await warmKeys(lifetime, effort)))
  if (isWanted('new', effort)) sections.push(await newKeys(lifetime, effort))
  if (isWanted('new-elsewhere', effort)) sections.push(await newKeysElsewhere(lifetime, effort))
  if (isWanted('in-use', effort)) sections.push(await keysInUse(lifetime, effort))
  if (isWanted('in-periods', effort)) sections.push(await keysInPeriods(lifetime, effort))
  if (isWanted('defined', effort)) sections.push(await keysDefined(lifetime, effort))
  if (isWanted('hostile', effort)) sections.push(await hostileNames(lifetime, effort))
  if (isWanted('defined-elsewhere', effort)) sections.push(...(await keysDefinedElsewhere(lifetime, effort)))
  if (isWanted('mixed', effort)) sections.push(await mixedKeys(lifetime, effort))
  return sections
}

async function warmKeys(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const servers = await startServers(lifetime, effort.before)
  const sections: Section[] = []
  for (const scenario of scenarios) {
    const wanted = pipelines.filter((pipeline) => isWanted(cellOf(scenario, pipeline), effort))
    if (wanted.length > 0) sections.push(await measureScenario(servers, effort, scenario, wanted))
  }
  return sections
}

function cellOf({ only, keys }: Scenario, pipeline: Pipeline): string {
  return `${only}${keys}@${pipeline}`
}

function isWanted(cell: string, { only }: Effort): boolean {
  return only === undefined || only.split(',').includes(cell)
}

function perPipeline<Value>(of: (index: number) => Value): Record<Pipeline, Value> {
  return { 1: of(0), 16: of(1), 128: of(2) }
}

async function startServers(lifetime: Lifetime, before: string | undefined): Promise<Servers> {
  return new Map<Contender, Server>([
    ['redis', await startRedis(lifetime)],
    ['fahao', await startOurs(lifetime)],
    ['bare', await startBareKeys(lifetime)],
    ...(before === undefined ? [] : [['before', await startOurs(lifetime, before)] as const]),
  ])
}

async function startOurs(lifetime: Lifetime, checkout?: string): Promise<Server> {
  const { resp, pid } = await startFahao(lifetime, {
    ...(checkout && { checkout }),
    // redis-benchmark does not name a library that reads large integers exactly.
    args: ['--auto-create', '*=sequence', '--rounding-guard', 'off', '--log-level', 'warn'],
  })
  return { port: resp, pid }
}

async function measureScenario(
  servers: Servers,
  effort: Effort,
  scenario: Scenario,
  wanted: readonly Pipeline[],
): Promise<Section> {
  const { name, keys } = scenario
  const figures: Figure[] = []
  const absolute: Figure[] = []
  for (const { port } of servers.values()) {
    for (let time = 0; time < warmTimes; time++) await askEach(port, { count: keys, nameOf: benchmarkKey })
  }
  for (const pipeline of wanted) {
    const rounds = await measureCell(servers, effort, scenario, pipeline)
    figures.push(...ratios(rounds, pipeline, scenario.budgets[pipeline]))
    absolute.push(...absolutes(rounds, pipeline))
  }
  return {
    name: `Keys: ${name} over ${keys === 1 ? 'one key' : `${keys.toLocaleString('en-US')} random keys`}`,
    how: `\`redis-benchmark -c 50 -r ${keys}\`, about ${effort.seconds} s each, interleaved; ratios round by round, median of ${effort.rounds}. Each key was asked for ${warmTimes} times beforehand.`,
    figures: [...figures, ...absolute],
  }
}

async function measureCell(
  servers: Servers,
  effort: Effort,
  { keys, command }: Scenario,
  pipeline: Pipeline,
): Promise<Rounds> {
  const load = { keys, pipeline, ...(command && { command }) }
  const requests = new Map<Contender, number>()
  // Warms up, and finds the number of requests that fill the time.
  for (const [name, { port }] of servers) {
    await redisBenchmarkFigures(port, { ...load, requests: firstRequests[pipeline] })
    const { perSecond } = await redisBenchmarkFigures(port, { ...load, requests: firstRequests[pipeline] })
    requests.set(name, Math.ceil((perSecond * effort.seconds) / pipeline) * pipeline)
  }
  return interleaved([...servers.keys()], effort.rounds, (name) =>
    measure(servers.get(name)!, { ...load, requests: requests.get(name)! }),
  )
}

async function measure({ port, pid }: Server, load: RedisLoad): Promise<Measured> {
  const before = processCpuUs(pid)
  const figures = await redisBenchmarkFigures(port, load)
  return { ...figures, cpuUs: (processCpuUs(pid) - before) / load.requests }
}

function ratios(rounds: Rounds, pipeline: Pipeline, { throughput, cpu, p99 }: Budgets): Figure[] {
  const at = `pipeline ${pipeline}`
  const of = (name: Contender, what: keyof Measured) => rounds.get(name)!.map((each) => each[what])
  const ratio = (
    of1: Contender,
    of2: Contender,
    key: keyof Measured,
    what: string,
    budget?: Budget,
  ): Figure => ({
    what: `${at}: ${of1 === 'fahao' ? '' : `${names[of1]}, `}${what} to ${names[of2]}`,
    unit: '×',
    ...(budget && { budget }),
    ...ratioOf(of(of1, key), of(of2, key)),
  })
  return [
    ratio(
      'fahao',
      'redis',
      'perSecond',
      'throughput',
      throughput === undefined ? undefined : { least: throughput },
    ),
    ratio('fahao', 'redis', 'cpuUs', 'server CPU per request', cpu === undefined ? undefined : { most: cpu }),
    ratio('fahao', 'redis', 'p99Ms', 'p99', p99 === undefined ? undefined : { most: p99 }),
    ratio('bare', 'redis', 'perSecond', 'throughput'),
    ratio('bare', 'redis', 'cpuUs', 'server CPU per request'),
    ...(rounds.has('before')
      ? [
          ratio('before', 'redis', 'perSecond', 'throughput'),
          ratio('before', 'redis', 'cpuUs', 'server CPU per request'),
          ratio('fahao', 'before', 'perSecond', 'throughput'),
          ratio('fahao', 'before', 'cpuUs', 'server CPU per request'),
        ]
      : []),
  ]
}

function absolutes(rounds: Rounds, pipeline: Pipeline): Figure[] {
  return [...rounds].flatMap(([name, measured]) => {
    const figure = (what: string, unit: string, of: (each: Measured) => number): Figure => ({
      what: `pipeline ${pipeline}: ${names[name]}, ${what}`,
      unit,
      ...spreadOf(measured.map(of)),
    })
    return [
      figure('requests', 'k/s', ({ perSecond }) => perSecond / 1000),
      figure('CPU per request', 'µs', ({ cpuUs }) => cpuUs),
      figure('p99', 'ms', ({ p99Ms }) => p99Ms),
    ]
  })
}
