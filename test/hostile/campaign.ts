/** Attacks on a real server, one after another: its memory, and how long other clients wait before and during each. */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Lifetime } from '../launch/lifetime.ts'
import { type Attack, password } from './attack.ts'
import { attack, type Outcome } from './attackers.ts'
import { attacks } from './attacks.ts'
import { mysqlLogin } from './mysql-attacks.ts'
import { Others, type Seen, type Sort } from './others.ts'
import { postgresLogin } from './postgres-messages.ts'
import { type Doors, startBackend, startVictim, type Victim } from './victims.ts'

/** How long each part takes, in s, the share of the clients that take part, and a factor of what others may wait. */
export type Effort = {
  readonly warmUpS: number
  readonly aloneS: number
  readonly attackS: number
  /** From the end of the attack until memory is read again. */
  readonly recoverS: number
  /** Whether the attack is carried out on another server first, to compare with. Otherwise no attack is compared with. */
  readonly compares: boolean
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

/** Carries out the attack of this name on a server of its own. */
export async function endure(lifetime: Lifetime, name: string, effort: Effort): Promise<Finding> {
  const { transport } = attacks[name]!
  const backend = await startBackend(lifetime, transport)
  const victim = await startVictim(lifetime, transport, backend)
  const warming = new Others(victim.doors)
  await pause(effort.warmUpS * 1000)
  await warming.stop()
  try {
    return await measure(victim, () => startVictim(lifetime, transport, backend), name, effort)
  } finally {
    await victim.server.kill()
    await backend?.kill()
  }
}

async function measure(
  victim: Victim,
  startOther: () => Promise<Victim>,
  name: string,
  effort: Effort,
): Promise<Finding> {
  const { doors } = victim
  const before = await seen(doors, pause(effort.aloneS * 1000))
  const seenElsewhere = async () => {
    const other = await startOther()
    const waits = await seen(doors, attackOn(other, name, effort))
    await other.server.kill()
    return waits
  }
  const elsewhere = effort.compares ? await seenElsewhere() : before
  const startMiB = memoryMiB(victim, 'VmRSS')
  resetPeak(victim)
  const rejectedBefore = await rejected(victim)
  const attacking = attackOn(victim, name, effort)
  const during = await seen(doors, attacking)
  const peak = memoryMiB(victim, 'VmHWM')
  await pause(effort.recoverS * 1000)
  const memory = { before: startMiB, peak, after: memoryMiB(victim, 'VmRSS') }
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
    rejected: (await rejected(victim)) - rejectedBefore,
    broken: brokenOf(victim, finding, effort),
  }
}

/** What clients that mean no harm see until `end`. */
async function seen(doors: Doors, end: Promise<unknown>): Promise<Seen> {
  const others = new Others(doors)
  await end
  return others.stop()
}

/** What the user `attacker` sends first. HTTP has its requests log in. */
const logins: Readonly<Record<Attack['transport'], string>> = {
  resp: `AUTH attacker "${password}"\r\n`,
  http: '',
  postgres: postgresLogin('attacker', password),
  mysql: mysqlLogin('attacker'),
}

function attackOn({ port }: Victim, name: string, effort: Effort): Promise<Outcome> {
  const { transport, login, clients } = attacks[name]!
  return attack({
    name,
    port,
    clients: Math.ceil(clients * effort.clients),
    seconds: effort.attackS,
    login: login ? logins[transport] : '',
  })
}

function brokenOf(
  { server }: Victim,
  { attack: { bounds }, before, elsewhere, during, memoryMiB }: Omit<Finding, 'rejected' | 'broken'>,
  { patience }: Effort,
): string[] {
  const slow = (['resp', 'http', 'door'] satisfies Sort[]).flatMap((sort) => {
    const [alone, beside] = [elsewhere.waits[sort].p99, during.waits[sort].p99]
    if (during.waits[sort].count === 0 && sort === 'door') return []
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

function memoryMiB({ server: { pid } }: Victim, figure: 'VmRSS' | 'VmHWM'): number {
  const [, kib] = new RegExp(`${figure}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
  return Number(kib) / 1024
}

/** Sets the peak to the memory held now (proc(5), clear_refs). */
function resetPeak({ server: { pid } }: Victim): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

async function rejected({ server, doors: { headers } }: Victim): Promise<number> {
  const text = await (await fetch(`${server.http}/metrics`, { headers })).text()
  const counts = [...text.matchAll(/^fahao_connections_rejected_total\{.*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}
