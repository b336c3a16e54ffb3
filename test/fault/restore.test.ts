/**
 * Older copies in the place of the store: noticed where they can be, nothing is issued from what they have
 * forgotten, and `advance` or `restore --skip` makes them safe.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { temporaryFolder } from '../launch/places.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { create, judge, roundsOf, until } from './campaign.ts'
import { Load, nowUs } from './load.ts'
import { integrity, isCovered } from './stored.ts'

const entry = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'fahao.js')
const strict = ['sequence', 'timestamp']
const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
const asks = kinds.flatMap((generator) => [
  { generator, command: ['ID.NEXT', generator] },
  { generator, command: ['ID.NEXT', generator, 'COUNT', 5] },
])
/** More than the clients here can pull while a test lasts. */
const plenty = '10000000'

/** Rejects with what it printed when it fails. */
async function fahao(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [entry, ...args])
  return stdout
}

/** Little in hand, so that reserves are many and ids end soon. */
async function startWithKinds(t: TestContext): Promise<FahaoServer> {
  const server = await startFahao(t, { args: ['--lead', '1s', '--log-level', 'warn'] })
  const client = await server.connect()
  for (const kind of kinds) {
    const step = kind === 'sequence' || kind === 'segment' ? ['STEP', '50'] : []
    const horizon = kind === 'snowflake' ? [] : ['HORIZON', '200ms']
    await create(client, kind, kind, 'ISSUETIMEOUT', '300ms', ...step, ...horizon)
  }
  await client.close()
  return server
}

/** Accepts the store as it is; resolves to how long it took until every kind came again, in ms. */
async function advance(server: FahaoServer): Promise<number> {
  const fromUs = nowUs()
  await fahao('advance', '--by', plenty, '--url', server.http)
  const client = await server.connect()
  for (const kind of kinds) {
    const ask = () => client.command('ID.NEXT', kind)
    await until(ask, (reply) => typeof reply === 'string', 3000)
  }
  await client.close()
  return (nowUs() - fromUs) / 1000
}

async function pull(load: Load, server: FahaoServer, forMs: number): Promise<void> {
  load.start([server.resp], asks)
  await pause(forMs)
  await load.stop()
}

/** Every kind refuses, in the same words as the readiness probe, until it is told otherwise. */
async function assertRegressed(server: FahaoServer, reason: RegExp): Promise<void> {
  const client = await server.connect()
  for (const kind of kinds) {
    const reply = await client.command('ID.NEXT', kind)
    assert.ok(reply instanceof ReplyError && reply.code === 'REGRESSED', `${kind}: ${JSON.stringify(reply)}`)
    assert.match(reply.text, reason)
  }
  const ready = await fetch(`${server.http}/readyz`)
  assert.equal(ready.status, 503)
  assert.match(((await ready.json()) as { reason: string }).reason, reason)
  await client.close()
}

function countAboveBound(load: Load, file: string): number {
  return kinds.filter((kind) => !isCovered(file, kind, kind, load.journal(kind).highest)).length
}

describe('a store that has forgotten', () => {
  it('is noticed at the start, and mended by advance', { timeout: 600_000 }, async (t) => {
    const rounds = roundsOf(1, 0.1)
    const server = await startWithKinds(t)
    const load = new Load()
    const recoveriesMs: number[] = []
    let aboveBound = 0
    for (let round = 0; round < rounds; round++) {
      await pull(load, server, 200)
      await server.kill('SIGTERM')
      const copy = join(temporaryFolder(t), 'copy.db')
      copyFileSync(server.file, copy)
      await server.start()
      await pull(load, server, 300)
      await server.kill('SIGTERM')
      assert.equal(existsSync(`${server.file}-wal`), false, 'a clean stop leaves no log behind')
      copyFileSync(copy, server.file)
      await server.start()
      await assertRegressed(server, /an older copy was put in place: \d+ acknowledged transactions/)
      recoveriesMs.push(await advance(server))
      await pull(load, server, 300)
      assert.equal((await fetch(`${server.http}/readyz`)).status, 200)
      aboveBound += countAboveBound(load, server.file)
    }
    assert.deepEqual([...load.errorTexts.values()], [])
    judge(t, load, strict, { name: 'older copy, while stopped', rounds, aboveBound, recoveriesMs })
  })

  it('is noticed when it takes the place of the open one, and mended by advance', async (t) => {
    const server = await startWithKinds(t)
    const load = new Load()
    await pull(load, server, 200)
    const copy = `${server.file}-copy`
    await fahao('backup', copy, '--engine', server.engine)
    load.start([server.resp], asks)
    await pause(500)
    renameSync(copy, server.file)
    const client = await server.connect()
    for (const kind of kinds) {
      await until(
        () => client.command('ID.NEXT', kind),
        (reply) => reply instanceof ReplyError && reply.code === 'REGRESSED',
        10_000,
      )
    }
    await load.stop()
    await assertRegressed(server, /an older copy was put in place/)
    const recoveryMs = await advance(server)
    load.errorTexts.clear()
    await pull(load, server, 300)
    assert.deepEqual([...load.errorTexts.values()], [])
    // The log of the file that was there must not have met the one that is.
    assert.equal(integrity(server.file), 'ok')
    await server.restart()
    await pull(load, server, 200)
    assert.deepEqual([...load.errorTexts.values()], [])
    const aboveBound = countAboveBound(load, server.file)
    judge(t, load, strict, {
      name: 'older copy, while running',
      rounds: 1,
      aboveBound,
      recoveriesMs: [recoveryMs],
    })
  })

  it('is safe after restore --skip, from a backup made under load', { timeout: 600_000 }, async (t) => {
    const rounds = roundsOf(2, 0.1)
    const server = await startWithKinds(t)
    const load = new Load()
    let aboveBound = 0
    for (let round = 0; round < rounds; round++) {
      const copy = join(temporaryFolder(t), 'copy.db')
      load.start([server.resp], asks)
      await pause(300)
      await fahao('backup', copy, '--engine', server.engine)
      await pause(200)
      await assert.rejects(fahao('restore', copy, '--skip', plenty, '--engine', server.engine), /is in use/)
      await server.kill(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM')
      await load.stop()
      await fahao('restore', copy, '--skip', plenty, '--engine', server.engine)
      await server.start()
      await pull(load, server, 300)
      aboveBound += countAboveBound(load, server.file)
    }
    assert.deepEqual([...load.errorTexts.values()], [])
    judge(t, load, strict, { name: 'restore --skip', rounds, aboveBound })
  })
})
