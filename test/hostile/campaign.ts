/** Attacks on a real server, one after another: its memory, and how long other clients wait before and during each. */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { attack, type Outcome } from './attackers.ts'
import { type Attack, attacks, basic, password } from './attacks.ts'
import { Others, type Seen, type Sort } from './others.ts'

/** How clients that mean no harm reach the server. */
export type Doors = {
  connect(): Promise<RawClient>
  readonly http: number
  readonly headers: Readonly<Record<string, string>>
}

/** How long each part takes, in s, the share of the clients that take part, and a factor of what others may wait. */
export type Effort = {
  readonly warmUpS: number
  readonly aloneS: number
  readonly attackS: number
  readonly clients: number
  readonly patience: number
}

/** One line of the report. */
export type Finding = {
  readonly name: string
  readonly attack: Attack
  readonly outcome: Outcome
  readonly before: Seen
  /** While the same attack is on another server of this machine: what the attackers take from the processors. */
  readonly elsewhere: Seen
  readonly during: Seen
  readonly memoryMiB: { readonly before: number; readonly peak: number; readonly after: number }
  /** Connections closed by the server to keep a limit, by protocol and reason. */
  readonly rejected: number
  /** What did not hold; empty: the attack has failed. */
  readonly broken: readonly string[]
}

const recoverMs = 1500
const generators = ['target', 'others-resp', 'others-http', 'others-connect']

/** Carries out the attack of this name on a server of its own. */
export async function endure(lifetime: Lifetime, name: string, effort: Effort): Promise<Finding> {
  const server = await startVictim(lifetime)
  const doors = doorsOf(server)
  const warming = new Others(doors)
  await pause(effort.warmUpS * 1000)
  await warming.stop()
  try {
    return await measure(lifetime, server, name, effort)
  } finally {
    await server.kill()
  }
}

async function startVictim(lifetime: Lifetime): Promise<FahaoServer> {
  const server = await startFahao(lifetime)
  const client = await server.connect()
  for (const name of generators) await client.command('ID.CREATE', name, 'KIND', 'sequence')
  await addUser(client, 'admin')
  await client.close()
  // The first user ends the connections of clients that have not logged in.
  const admin = await doorsOf(server).connect()
  await addUser(admin, 'attacker')
  await admin.close()
  return server
}

async function addUser(client: RawClient, name: string): Promise<void> {
  const reply = await client.command('ACL', 'SETUSER', name, 'on', `>${password}`, '~*', '+@all')
  if (reply !== 'OK') throw new Error(`ACL SETUSER ${name}: ${String(reply)}`)
}

function doorsOf(server: FahaoServer): Doors {
  const [name, value] = basic('admin').split(': ')
  return {
    async connect() {
      const client = await server.connect()
      await client.command('AUTH', 'admin', password)
      return client
    },
    http: Number(new URL(server.http).port),
    headers: { [name!]: value! },
  }
}

async function measure(
  lifetime: Lifetime,
  server: FahaoServer,
  name: string,
  effort: Effort,
): Promise<Finding> {
  const doors = doorsOf(server)
  const before = await seen(doors, pause(effort.aloneS * 1000))
  const other = await startVictim(lifetime)
  const elsewhere = await seen(doors, attackOn(other, name, effort))
  await other.kill()
  const startMiB = memoryMiB(server, 'VmRSS')
  resetPeak(server)
  const rejectedBefore = await rejected(server, doors)
  const attacking = attackOn(server, name, effort)
  const during = await seen(doors, attacking)
  const peak = memoryMiB(server, 'VmHWM')
  await pause(recoverMs)
  const memory = { before: startMiB, peak, after: memoryMiB(server, 'VmRSS') }
  const outcome = await attacking
  const finding = {
    name,
    attack: attacks[name]!,
    outcome,
    before,
    elsewhere,
    during,
    memoryMiB: memory,
  }
  return {
    ...finding,
    rejected: (await rejected(server, doors)) - rejectedBefore,
    broken: brokenOf(server, finding, effort),
  }
}

/** What clients that mean no harm see until `end`. */
async function seen(doors: Doors, end: Promise<unknown>): Promise<Seen> {
  const others = new Others(doors)
  await end
  return others.stop()
}

function attackOn(server: FahaoServer, name: string, effort: Effort): Promise<Outcome> {
  const { transport, login, clients } = attacks[name]!
  return attack({
    name,
    port: transport === 'resp' ? server.resp : doorsOf(server).http,
    clients: Math.ceil(clients * effort.clients),
    seconds: effort.attackS,
    login: login && transport === 'resp' ? `AUTH attacker "${password}"\r\n` : '',
  })
}

function brokenOf(
  server: FahaoServer,
  { attack: { bounds }, before, elsewhere, during, memoryMiB }: Omit<Finding, 'rejected' | 'broken'>,
  { patience }: Effort,
): string[] {
  const slow = (['resp', 'http'] satisfies Sort[]).flatMap((sort) => {
    const [alone, beside] = [elsewhere.waits[sort].p99, during.waits[sort].p99]
    const isBounded = beside <= patience * Math.max(alone * bounds.ratio, bounds.p99Ms)
    return isBounded ? [] : [`${sort}: p99 ${beside.toFixed(1)} ms`]
  })
  return [
    ...(server.process.exit() === undefined ? [] : [`the server has ended:\n${server.output()}`]),
    ...(memoryMiB.peak <= bounds.peakMiB ? [] : [`memory: ${memoryMiB.peak.toFixed(0)} MiB`]),
    ...slow,
    ...before.errors.slice(0, 3),
    ...elsewhere.errors.slice(0, 3),
    ...during.errors.slice(0, 3),
  ]
}

function memoryMiB({ pid }: FahaoServer, figure: 'VmRSS' | 'VmHWM'): number {
  const [, kib] = new RegExp(`${figure}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
  return Number(kib) / 1024
}

/** Sets the peak to the memory held now (proc(5), clear_refs). */
function resetPeak({ pid }: FahaoServer): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

async function rejected(server: FahaoServer, { headers }: Doors): Promise<number> {
  const text = await (await fetch(`${server.http}/metrics`, { headers })).text()
  const counts = [...text.matchAll(/^fahao_connections_rejected_total\{.*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}
