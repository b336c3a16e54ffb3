/**
 * A disk that is slow, that fails to sync, that is full: ids in hand go on and nobody feels it; then clear errors
 * that can be retried, and a readiness probe that says why; and ids again by themselves once the disk is well.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { atEnd } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import { create, judge, roundsOf, until } from './campaign.ts'
import { Load, nowUs } from './load.ts'
import { isCovered } from './stored.ts'
import { breakSyncs, type Fault } from './trace.ts'

const strict = ['sequence', 'timestamp']
const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
const asks = kinds.map((generator) => ({ generator, command: ['ID.NEXT', generator] }))

/** A few seconds of ids in hand, and callers who do not wait long. */
async function startWithLittleInHand(t: TestContext, engine?: string): Promise<FahaoServer> {
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
  assert.deepEqual([...load.errorTexts.values()], [], 'ids in hand go on')
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

async function campaign(
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

/** A file system of 512 KiB. */
function tinyDisk(t: TestContext): string {
  const folder = temporaryFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    throw new Error('a small disk could not be mounted: run this test as root', { cause: error })
  }
  atEnd(t, () => execFileSync('umount', [folder], { stdio: 'pipe' }))
  return folder
}

/** Takes every byte that is free, and every byte that becomes free. */
function fill(t: TestContext, folder: string): Fault {
  const filler = join(folder, 'filler')
  const more = () => {
    for (const chunk of [Buffer.alloc(16_384), Buffer.alloc(1)]) {
      try {
        for (;;) appendFileSync(filler, chunk)
      } catch {
        // Full.
      }
    }
  }
  more()
  const timer = setInterval(more, 5)
  const end = async () => {
    clearInterval(timer)
    rmSync(filler, { force: true })
  }
  atEnd(t, end)
  return { end }
}

describe('a server on a bad disk', () => {
  it('lets nobody feel that syncs take a second, while ids are in hand', async (t) => {
    const server = await startFahao(t, { args: ['--log-level', 'warn'] })
    const client = await server.connect()
    for (const kind of kinds) await create(client, kind, kind)
    const load = new Load()
    load.start([server.resp], asks)
    await pause(1500)
    const fault = await breakSyncs(t, server.pid, 'delay_enter=1000000')
    const fromUs = nowUs()
    // Those who need the store do wait, beside all the others.
    for (let fresh = 0; fresh < 2; fresh++) {
      const sinceUs = nowUs()
      await create(client, `fresh:${fresh}`, 'sequence')
      assert.ok(nowUs() - sinceUs > 900_000, 'the syncs are not slow')
    }
    const toUs = nowUs()
    await fault.end()
    await load.stop()
    assert.deepEqual([...load.errorTexts.values()], [])
    for (const kind of kinds) {
      const latenciesMs = load.journal(kind).latenciesMs(fromUs, toUs)
      const [p50, p999, longest] = [0.5, 0.999, 1].map(
        (share) => latenciesMs[Math.floor(share * (latenciesMs.length - 1))]!,
      )
      t.diagnostic(
        `${kind}: ${latenciesMs.length} requests, p50 ${p50!.toFixed(2)} ms, p99.9 ${p999!.toFixed(2)} ms, longest ${longest!.toFixed(0)} ms`,
      )
      assert.ok(longest! < 800, `a request for ${kind} took ${longest} ms: it waited for a sync`)
    }
    judge(t, load, strict, { name: 'syncs of a second', rounds: 1 })
  })

  it('goes on, then says why not, then comes back, when syncs fail', { timeout: 1_200_000 }, async (t) => {
    const server = await startWithLittleInHand(t)
    const begin = () => breakSyncs(t, server.pid, 'error=EIO')
    await campaign(t, 'syncs fail (EIO)', server, begin, /met an I\/O error: look at the disk/)
  })

  it('goes on, then says why not, then comes back, when the disk is full', {
    timeout: 1_200_000,
  }, async (t) => {
    const folder = tinyDisk(t)
    const server = await startWithLittleInHand(t, `sqlite:${join(folder, 'fahao.db')}`)
    await campaign(t, 'the disk is full', server, async () => fill(t, folder), /is on a full disk: free some/)
  })
})
