/** What fault runs have in common: how often, of what, and the verdict over what clients were told. */
import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { RawClient } from '../launch/raw-client.ts'
import type { RawReply } from '../launch/raw-reply.ts'
import type { Journal } from './journal.ts'

/** One line of the report. */
export type Finding = {
  readonly campaign: string
  readonly rounds: number
  readonly ids: number
  readonly repeats: number
  /** Pairs out of order: in real time for strict kinds, on a connection for all. */
  readonly disorder: number
  /** Ids at or above their durable bound; undefined where that was not looked at. */
  readonly aboveBound: number | undefined
  /** How long ids stayed away after a fault had ended, or a server had died, in ms. */
  readonly recoveriesMs: readonly number[]
}

/** What a campaign knows beside its journals. */
export type Campaign = {
  readonly name: string
  readonly rounds: number
  readonly aboveBound?: number
  readonly recoveriesMs?: readonly number[]
  /** Generators that hide their order. */
  readonly unordered?: readonly string[]
}

/** What clients were told, by generator, and how many ids that was. */
export type Judged = { readonly journals: ReadonlyMap<string, Journal>; readonly count: number }

/** How long a campaign lasts that is told in seconds: `short` in CI, `long` where FAULT_ROUNDS is set. */
export function secondsOf(short: number, long: number): number {
  return process.env.FAULT_ROUNDS === undefined ? short : long
}

/**
 * How long a client pauses after each reply, in ms: `long` where FAULT_ROUNDS is set; in CI longer, because other tests
 * run beside the campaign.
 */
export function restOf(long: number): number {
  return process.env.FAULT_ROUNDS === undefined ? 4 : long
}

/**
 * How many rounds to run: `short` in CI, and the share `part` of FAULT_ROUNDS where that is set. The share is
 * for campaigns whose rounds are slow.
 */
export function roundsOf(short: number, part = 1): number {
  const asked = process.env.FAULT_ROUNDS
  return asked === undefined ? short : Math.max(short, Math.round(Number(asked) * part))
}

/** Whether a campaign runs on an engine: on all where FAULT_ROUNDS is set, and in CI on those of `inCi`. */
export function runsOn(engine: string, inCi: readonly string[]): boolean {
  return process.env.FAULT_ROUNDS !== undefined || inCi.includes(engine)
}

/** Creates a generator; fails the test with the server's words when it cannot be. */
export async function create(client: RawClient, name: string, ...options: string[]): Promise<void> {
  assert.equal(await client.command('ID.CREATE', name, 'KIND', ...options), 'OK')
}

/** Asks again and again until `accept` likes the reply; fails with the last one after `withinMs`. */
export async function until(
  ask: () => Promise<RawReply>,
  accept: (reply: RawReply) => boolean,
  withinMs: number,
): Promise<RawReply> {
  const giveUpAt = performance.now() + withinMs
  for (;;) {
    const reply = await ask()
    if (accept(reply)) return reply
    if (performance.now() > giveUpAt) assert.fail(`after ${withinMs} ms still: ${JSON.stringify(reply)}`)
    await pause(20)
  }
}

/**
 * Holds all journals to the promises: no id twice, order on every connection, and in real time for `strict`
 * generators. Reports first, so that a failed campaign is in the report as well.
 */
export function judge(t: TestContext, load: Judged, strict: readonly string[], campaign: Campaign): void {
  let repeats = 0
  let disorder = 0
  const complaints: string[] = []
  for (const [name, journal] of load.journals) {
    const repeated = journal.repeated()
    const disordered = campaign.unordered?.includes(name)
      ? []
      : [...journal.notIncreasing(), ...(strict.includes(name) ? journal.outOfOrder() : [])]
    repeats += repeated.length
    disorder += disordered.length
    complaints.push(...repeated.slice(0, 3).map((id) => `${name} issued ${id} twice`))
    complaints.push(...disordered.slice(0, 3).map((pair) => `${name}: ${pair}`))
  }
  const { name, rounds, aboveBound, recoveriesMs = [] } = campaign
  report(t, { campaign: name, rounds, ids: load.count, repeats, disorder, aboveBound, recoveriesMs })
  assert.deepEqual(complaints, [])
  assert.equal(aboveBound ?? 0, 0, 'ids at or above their durable bound')
}

function report(t: TestContext, finding: Finding): void {
  const { ids, rounds, recoveriesMs } = finding
  const slowest =
    recoveriesMs.length === 0 ? '' : `, back after ${Math.max(...recoveriesMs).toFixed(0)} ms at most`
  t.diagnostic(`${ids} ids over ${rounds} rounds${slowest}`)
  const file = process.env.FAULT_REPORT
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(finding)}\n`)
}
