/**
 * A disk that stops taking writes: buffered ids are issued on, then requests get clear errors that can be retried, the
 * readiness probe gives the reason, and the server issues again by itself once the disk works.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { create, judge, roundsOf, until } from './campaign.ts'
import { Load, nowUs } from './load.ts'
import { isCovered } from './stored.ts'
import type { Fault } from './trace.ts'

/** Generators whose order in real time is judged. */
export const strict = ['sequence', 'timestamp']
/** A generator of each kind, named for it. */
export const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
/** A client for each of them. */
export const asks = kinds.map((generator) => ({ generator, command: ['ID.NEXT', generator] }))

/** A server that buffers ids for a few seconds, and generators whose callers do not wait long. */
export async function startWithSmallBuffers(t: TestContext, engine?: string): Promise<FahaoServer> {
  const args = ['--lead', '4s', '--log-level', 'info']
  const server = await startFahao(t, { args, ...(engine && { engine }) })
  const client = await server.connect()
  for (const kind of kinds) {
    const horizon = kind === 'snowflake' ? [] : ['HORIZON', kind === 'timestamp' ? '4s' : '5s']
    const step = kind === 'sequence' || kind === 'segment' ? ['STEP', '50'] : []
    await create(client, kind, kind, 'ISSUETIMEOUT', '300ms', ...horizon, ...step)
  }
  await client.close()
  return server
}

type Readiness = {
  readonly status: number
  readonly state: string
  readonly reason: string | null
}

async function readiness(server: FahaoServer): Promise<Readiness> {
  const response = await fetch(`${server.http}/readyz`)
  return { ...((await response.json()) as Omit<Readiness, 'status'>), status: response.status }
}

async function untilState(server: FahaoServer, state: string, withinMs: number): Promise<Readiness> {
  const giveUpUs = nowUs() + withinMs * 1000
  for (;;) {
    const now = await readiness(server)
    if (now.state === state) return now
    assert.ok(nowUs() < giveUpUs, `not ${state} after ${withinMs} ms: ${JSON.stringify(now)}`)
    await pause(10)
  }
}

/** One fault from its start to the return of all kinds; resolves to how long that return took, in ms. */
async function suffer(server: FahaoServer, load: Load, begin: () => Promise<Fault>, reason: RegExp) {
  const client = await server.connect()
  load.start([server.resp], asks)
  await pause(1200)
  const fault = await begin()
  const degraded = await untilState(server, 'degraded', 5000)
  assert.equal(degraded.status, 200, 'requests are still welcome')
  assert.match(degraded.reason!, reason)
  assert.deepEqual([...load.errorTexts.values()], [], 'buffered ids go on')
  const down = await untilState(server, 'down', 15_000)
  assert.equal(down.status, 503)
  assert.match(down.reason!, reason)
  for (const { generator } of asks) {
    await until(
      () => client.command('ID.NEXT', generator),
      (reply) => typeof reply === 'object',
      15_000,
    )
  }
  await fault.end()
  const endedUs = nowUs()
  for (const { generator } of asks) {
    await until(
      () => client.command('ID.NEXT', generator),
      (reply) => typeof reply === 'string',
      5000,
    )
  }
  const recoveryMs = (nowUs() - endedUs) / 1000
  await untilState(server, 'ok', 5000)
  await pause(300)
  await load.stop()
  await client.close()
  for (const word of load.errors.keys()) assert.ok(['DRY', 'UNAVAILABLE', 'UNKNOWN'].includes(word), word)
  assert.match(load.errorTexts.get('DRY')!, reason)
  assert.equal(server.process.exit(), undefined, 'without a restart')
  return recoveryMs
}

function countAboveBound(load: Load, file: string): number {
  return kinds.filter((kind) => !isCovered(file, kind, kind, load.journal(kind).highest)).length
}

/** The campaign: in each round the fault begins, lasts until no kind issues, and ends. `reason` is what clients are told. */
export async function diskFault(
  t: TestContext,
  name: string,
  server: FahaoServer,
  begin: () => Promise<Fault>,
  reason: RegExp,
): Promise<void> {
  const rounds = roundsOf(1, 0.05)
  const load = new Load()
  const recoveriesMs: number[] = []
  let aboveBound = 0
  for (let round = 0; round < rounds; round++) {
    load.errors.clear()
    load.errorTexts.clear()
    recoveriesMs.push(await suffer(server, load, begin, reason))
    aboveBound += countAboveBound(load, server.file)
  }
  judge(t, load, strict, { name, rounds, aboveBound, recoveriesMs })
}
