/**
 * The campaign of leases: processes that issue ids by themselves, from ranges and from the time of worker ids, are
 * killed, stopped for longer than their leases last, and moved by an hour in time, while the server is killed too. No id
 * of a generator may be in two places of the logs.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { type MovableClock, movableClock } from '../launch/faketime.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { type RunningProcess, startProcess } from '../launch/process.ts'
import type { HolderTask } from './holder.ts'
import { type Checked, checkRuns, readRuns } from './run-log.ts'

/** How large a campaign is. */
export type CampaignSize = {
  /** It ends when this many ids are in the logs. */
  readonly ids: number
  /** How many processes take ids at once. */
  readonly processes: number
  /** How long leases last, in ms. */
  readonly ttlMs: number
  /** How long a stopped process is stopped: longer than its leases, in ms. */
  readonly stoppedMs: number
  /** Time between two faults, in ms. */
  readonly pauseMs: number
  /** How many ids a process takes in one turn, and how long it rests afterwards, in ms. */
  readonly batch: number
  readonly restMs: number
  /** At least this many faults of each kind happen. */
  readonly faultsMin: number
  /** Flags of the server. */
  readonly args?: readonly string[]
}

/** What a campaign did, and what its logs show. */
export type Outcome = {
  readonly faults: Readonly<Record<Fault, number>>
  readonly checked: ReadonlyMap<string, Checked>
}

const generators = { event: 'snowflake', user: 'segment' } as const
type Name = keyof typeof generators
const faults = ['killed', 'stopped', 'moved', 'server killed'] as const
type Fault = (typeof faults)[number]
const moves = ['+1h', '-1h', '+0']

/** One process that takes ids, through all its restarts, and the clock that it sees. */
type Holder = {
  readonly task: HolderTask
  readonly clock: MovableClock
  running: RunningProcess
  stopped: boolean
}

/** Runs a campaign. `say` is told now and then how many ids have been issued. */
export async function leaseCampaign(
  lifetime: Lifetime,
  size: CampaignSize,
  say: (ids: number) => void,
): Promise<Outcome> {
  const folder = temporaryFolder(lifetime)
  const server = await startFahao(lifetime, { args: size.args ?? [] })
  const client = await server.connect()
  for (const [name, kind] of Object.entries(generators))
    assert.equal(await client.command('ID.CREATE', name, 'KIND', kind), 'OK')
  await client.close()
  const holders = await Promise.all(
    Array.from({ length: size.processes }, (_, index) => startHolder(lifetime, server, folder, index, size)),
  )
  const counts: Record<Fault, number> = { killed: 0, stopped: 0, moved: 0, 'server killed': 0 }
  for (let round = 0; ; round++) {
    const ids = idsIn(holders)
    say(ids)
    if (ids >= size.ids && Math.min(...Object.values(counts)) >= size.faultsMin) break
    const fault = faults[round % faults.length]!
    if (fault === 'server killed') {
      await restartServer(server)
      counts[fault]++
    } else {
      const holder = chosen(holders, fault, round)
      if (holder !== undefined) await strike(lifetime, holder, fault, ++counts[fault], size)
    }
    await pause(size.pauseMs)
  }
  for (const holder of holders) holder.running.signal('SIGCONT')
  for (const { running } of holders) {
    const { code } = await running.kill('SIGTERM')
    assert.equal(code, 0, running.output())
  }
  return { faults: counts, checked: check(holders) }
}

async function startHolder(
  lifetime: Lifetime,
  server: FahaoServer,
  folder: string,
  index: number,
  size: CampaignSize,
): Promise<Holder> {
  const names = Object.keys(generators) as Name[]
  const { ttlMs, batch, restMs } = size
  const task: HolderTask = {
    urls: [index % 4 < 2 ? `redis://127.0.0.1:${server.resp}` : server.http],
    generator: names[index % names.length]!,
    log: join(folder, `${index}.log`),
    ttlMs,
    batch,
    restMs,
  }
  const clock = movableClock(lifetime)
  return { task, clock, stopped: false, running: await run(lifetime, task, clock) }
}

function run(lifetime: Lifetime, task: HolderTask, clock: MovableClock): Promise<RunningProcess> {
  return startProcess(lifetime, {
    command: process.execPath,
    args: [join(import.meta.dirname, 'holder.ts'), JSON.stringify(task)],
    env: clock.env,
    readyWhen: { line: /^takes ids$/ },
    readyWithinMs: 60_000,
  })
}

/** The process that a fault hits in a round. At most half of them are stopped at once, and a stop lasts its whole time. */
function chosen(holders: readonly Holder[], fault: Fault, round: number): Holder | undefined {
  if (fault === 'moved') return holders[Math.floor(round / faults.length) % holders.length]
  const running = holders.filter(({ stopped }) => !stopped)
  if (fault === 'stopped' && 2 * running.length <= holders.length) return undefined
  return running[Math.floor(round / faults.length) % running.length]
}

async function strike(
  lifetime: Lifetime,
  holder: Holder,
  fault: Exclude<Fault, 'server killed'>,
  turn: number,
  size: CampaignSize,
): Promise<void> {
  if (fault === 'moved') return holder.clock.set(moves[turn % moves.length]!)
  if (fault === 'killed') {
    await holder.running.kill()
    holder.running = await run(lifetime, holder.task, holder.clock)
  } else {
    holder.stopped = true
    const { running } = holder
    running.signal('SIGSTOP')
    setTimeout(() => {
      running.signal('SIGCONT')
      holder.stopped = false
    }, size.stoppedMs).unref()
  }
}

/** A crash, and at once the next start. */
async function restartServer(server: FahaoServer): Promise<void> {
  await server.kill('SIGKILL')
  await server.start()
}

function idsIn(holders: readonly Holder[]): number {
  let ids = 0n
  for (const { task } of holders) for (const { count } of readRuns(task.log)) ids += count
  return Number(ids)
}

function check(holders: readonly Holder[]): Map<string, Checked> {
  return new Map(
    Object.keys(generators).map((name) => {
      const mine = holders.filter(({ task }) => task.generator === name)
      return [name, checkRuns(mine.map(({ task }, at) => [`${name} ${at}`, readRuns(task.log)]))]
    }),
  )
}
