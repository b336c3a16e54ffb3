/** The MySQL proxy: sysbench through it, directly, and through two relays that read nothing: HAProxy and node:net. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { password, superuser } from '../test/launch/database.ts'
import { startFahao } from '../test/launch/fahao.ts'
import { guardTables, upstreamOf } from '../test/launch/guards.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { freePort, temporaryFolder } from '../test/launch/places.ts'
import { requireProgram, startProcess } from '../test/launch/process.ts'
import { treeCpuUs } from './process-cpu.ts'
import type { Budget, Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, type Spread, spreadOf } from './rounds.ts'
import { prepareSysbench, runSysbench, type SysbenchFigures, type SysbenchLoad } from './sysbench.ts'

type Contender = {
  readonly name: string
  readonly database: string
  readonly port: number
  /** The process that relays; undefined: none does. */
  readonly pid?: number
}
type Measured = SysbenchFigures & { readonly cpuUs: number }

const threads = 16
const rows = 20_000
const scripts = ['oltp_point_select', 'oltp_insert', 'oltp_read_write'] as const
/** V8 compiles a relay's code during its first ten thousand statements or so. */
const warmUpSeconds = 10
/** The part of the direct throughput that the open loop offers. */
const offeredPart = 0.2

/** Closed loop: as fast as 16 connections can. Open loop: a rate that leaves the cores time. */
export async function mysqlProxy(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const contenders = await startAll(lifetime)
  const [direct] = contenders
  const closed: Figure[] = []
  const open: Figure[] = []
  const seconds = Math.ceil(effort.seconds * 2)
  for (const script of scripts) {
    const run = (contender: Contender, perSecond?: number) =>
      measure(contender, loadOf(contender, script), seconds, perSecond)
    for (const contender of contenders) await measure(contender, loadOf(contender, script), warmUpSeconds)
    const rounds = await interleaved(contenders, effort.rounds, (contender) => run(contender))
    closed.push(...figures(script, rounds, direct!, closedBudgets))
    const offered = spreadOf(rounds.get(direct!)!.map(({ perSecond }) => perSecond)).value * offeredPart
    const paced = await interleaved(contenders, effort.rounds, (contender) => run(contender, offered))
    open.push(...figures(script, paced, direct!, openBudgets))
  }
  const how = `sysbench with ${threads} connections on MariaDB (durable), ${seconds} s each after ${warmUpSeconds} s of warm-up, interleaved; everything on the same two cores. Ratios to direct connections round by round, median of ${effort.rounds}`
  return [
    {
      name: 'MySQL proxy: closed loop',
      how: `${how}. HAProxy and node:net pass bytes on unread.`,
      figures: closed,
    },
    {
      name: 'MySQL proxy: open loop',
      how: `${how}, at ${offeredPart * 100} % of the direct throughput of the closed loop.`,
      figures: open,
    },
  ]
}

async function startAll(lifetime: Lifetime): Promise<readonly Contender[]> {
  const mariaDb = await startMariaDb(lifetime, { settings: { 'innodb-buffer-pool-size': '512M' } })
  const names = ['direct', 'HAProxy', 'node:net', 'Fahao'] as const
  const databases = new Map<string, string>()
  for (const name of names) {
    const database = new URL(await mariaDb.newDatabase()).pathname.slice(1)
    databases.set(name, database)
    await prepareSysbench({ ...login, script: 'oltp_insert', port: mariaDb.port, database, threads, rows })
  }
  const upstream = mariaDb.port
  const starts = { HAProxy: startHaproxy, 'node:net': startBareRelay }
  const contenders: Contender[] = [{ name: 'direct', database: databases.get('direct')!, port: upstream }]
  for (const [name, start] of Object.entries(starts))
    contenders.push({ name, database: databases.get(name)!, ...(await start(lifetime, upstream)) })
  const database = databases.get('Fahao')!
  await guardTables(mariaDb, [`${database}.sbtest1.id`])
  return [...contenders, { name: 'Fahao', database, ...(await startProxy(lifetime, upstream, database)) }]
}

const login = { user: superuser, password }

function loadOf({ port, database }: Contender, script: string): SysbenchLoad {
  return { ...login, script, port, database, threads, rows }
}

async function measure(
  { pid }: Contender,
  load: SysbenchLoad,
  seconds: number,
  perSecond?: number,
): Promise<Measured> {
  const before = pid === undefined ? 0 : treeCpuUs(pid)
  const figures = await runSysbench(load, seconds, perSecond)
  const cpuUs = pid === undefined ? 0 : (treeCpuUs(pid) - before) / figures.statements
  return { ...figures, cpuUs }
}

type Budgets = Partial<Record<keyof Measured, Budget>>
const closedBudgets: Budgets = { perSecond: { least: 0.85 }, p50Ms: { most: 1.1 }, p99Ms: { most: 1.25 } }
const openBudgets: Budgets = { p50Ms: { most: 1.1 }, p99Ms: { most: 1.25 } }
const units = {
  perSecond: ['transactions', '/s'],
  p50Ms: ['p50', 'ms'],
  p99Ms: ['p99', 'ms'],
  cpuUs: ['CPU of the relay per statement', 'µs'],
} as const

function figures(
  script: string,
  rounds: ReadonlyMap<Contender, readonly Measured[]>,
  direct: Contender,
  budgets: Budgets,
): Figure[] {
  const of = (contender: Contender, key: keyof typeof units) =>
    rounds.get(contender)!.map((each) => each[key])
  const figure = (what: string, unit: string, spread: Spread, budget?: Budget): Figure => ({
    what: `${script}: ${what}`,
    unit,
    ...spread,
    ...(budget && { budget }),
  })
  const keys = Object.keys(units) as (keyof typeof units)[]
  const ratios = [...rounds.keys()]
    .filter((contender) => contender !== direct)
    .flatMap((contender) =>
      keys
        .filter((key) => key !== 'cpuUs')
        .map((key) =>
          figure(
            `${contender.name}, ${units[key][0]} to direct`,
            '×',
            ratioOf(of(contender, key), of(direct, key)),
            contender.name === 'Fahao' ? budgets[key] : undefined,
          ),
        ),
    )
  const absolute = [...rounds.keys()].flatMap((contender) =>
    keys
      .filter((key) => key !== 'cpuUs' || contender.pid !== undefined)
      .map((key) =>
        figure(`${contender.name}, ${units[key][0]}`, units[key][1], spreadOf(of(contender, key))),
      ),
  )
  return [...ratios, ...absolute]
}

async function startHaproxy(lifetime: Lifetime, upstream: number): Promise<{ port: number; pid: number }> {
  const port = await freePort()
  const file = join(temporaryFolder(lifetime), 'haproxy.cfg')
  writeFileSync(
    file,
    `defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen mysql
  bind 127.0.0.1:${port}
  server one 127.0.0.1:${upstream}
`,
  )
  const command = requireProgram('haproxy')
  const { pid } = await startProcess(lifetime, { command, args: ['-f', file], readyWhen: { port } })
  return { port, pid }
}

async function startBareRelay(lifetime: Lifetime, upstream: number): Promise<{ port: number; pid: number }> {
  const port = await freePort()
  const { pid } = await startProcess(lifetime, {
    command: process.execPath,
    args: [join(import.meta.dirname, 'bare-relay.ts'), `${port}`, `${upstream}`],
    readyWhen: { line: /^ready$/m },
  })
  return { port, pid }
}

/** `fahao proxy` beside a server, which it asks for the ids of the table that sysbench fills. */
async function startProxy(
  lifetime: Lifetime,
  upstream: number,
  database: string,
): Promise<{ port: number; pid: number }> {
  const fahao = await startFahao(lifetime, { args: ['--log-level', 'warn', '--auto-create', '*=segment'] })
  await fetch(`${fahao.http}/v1/generators/sbtest`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ kind: 'segment', start: 1_000_000 }),
  })
  const port = await freePort()
  const { pid } = await startProcess(lifetime, {
    command: process.execPath,
    args: [
      join(import.meta.dirname, '..', 'dist', 'fahao.js'),
      ...['proxy', '--listen', `127.0.0.1:${port}`, '--upstream', upstreamOf({ port: upstream })],
      ...['--url', fahao.http, '--table', `${database}.sbtest1.id=sbtest`],
    ],
    readyWhen: { port },
  })
  return { port, pid }
}
