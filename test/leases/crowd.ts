/**
 * A crowd: more clients than a layout has room for after a crash, each with a worker lease. A fifth of them is killed and
 * started again, round after round. No id may be in two places of the logs, every client gets its ids in the end, and a
 * client for which no worker id is left is told so.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { startFahao } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { type RunningProcess, startProcess } from '../launch/process.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import type { CrowdTask } from './crowd-holder.ts'
import { type Checked, checkRuns, readRuns } from './run-log.ts'

/** How large a crowd is. */
export type CrowdSize = {
  /** Text of the layout, and how many worker ids of it callers can hold. */
  readonly layout: string
  readonly room: number
  readonly processes: number
  readonly clientsEach: number
  readonly rounds: number
  /** How long leases last, in ms. */
  readonly ttlMs: number
}

/** What a crowd did. */
export type CrowdOutcome = {
  readonly checked: Checked
  /** How long each process waited until all its clients had ids, in ms. */
  readonly waitsMs: readonly number[]
  /** The error of a request for which no worker id was left. */
  readonly exhausted: ReplyError
}

const generator = 'event'
const groupSize = 4

/** Runs a crowd. */
export async function crowdCampaign(lifetime: Lifetime, size: CrowdSize): Promise<CrowdOutcome> {
  const folder = temporaryFolder(lifetime)
  const server = await startFahao(lifetime)
  const admin = await server.connect()
  assert.equal(await admin.command('ID.CREATE', generator, 'KIND', 'snowflake', 'LAYOUT', size.layout), 'OK')
  const waitsMs: number[] = []
  const start = async (index: number): Promise<RunningProcess> => {
    const task: CrowdTask = {
      urls: [`redis://127.0.0.1:${server.resp}`],
      generator,
      log: join(folder, `${index}.log`),
      clients: size.clientsEach,
      ttlMs: size.ttlMs,
    }
    const running = await startProcess(lifetime, {
      command: process.execPath,
      args: [join(import.meta.dirname, 'crowd-holder.ts'), JSON.stringify(task)],
      readyWhen: { line: /^all have ids/ },
      readyWithinMs: 120_000,
    })
    waitsMs.push(Number(/all have ids after (\d+) ms/.exec(running.output())![1]))
    return running
  }
  const running: RunningProcess[] = []
  const startAll = (indexes: readonly number[]) =>
    inGroups(indexes, async (index) => {
      running[index] = await start(index)
    })
  await startAll(Array.from({ length: size.processes }, (_, index) => index))
  for (let round = 0; round < size.rounds; round++) {
    const fifth = running.map((_, index) => index).filter((index) => index % 5 === round % 5)
    await Promise.all(fifth.map((index) => running[index]!.kill('SIGKILL')))
    await startAll(fifth)
  }
  const exhausted = await leaseTheRest(admin, size.room)
  for (const each of running) {
    const { code } = await each.kill('SIGTERM')
    assert.equal(code, 0, each.output())
  }
  const logs = running.map((_, index) => [`${index}`, readRuns(join(folder, `${index}.log`))] as const)
  return { checked: checkRuns(logs), waitsMs, exhausted }
}

/** Starts a few at a time: a start takes most of a core. */
async function inGroups(indexes: readonly number[], start: (index: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < indexes.length; at += groupSize)
    await Promise.all(indexes.slice(at, at + groupSize).map(start))
}

/** Leases worker ids until none is left. */
async function leaseTheRest(admin: RawClient, room: number): Promise<ReplyError> {
  for (let tries = 0; tries <= room; tries++) {
    const reply = await admin.command('ID.LEASE', generator, 'TTL', 60_000)
    if (reply instanceof ReplyError) return reply
  }
  throw new Error(`more than ${room} worker ids were leased`)
}
