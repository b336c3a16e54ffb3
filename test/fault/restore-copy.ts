/** A SQLite store in whose place an older copy is put: what to start, and what to expect of the server then. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { temporaryFolder } from '../launch/places.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { create, judge, until } from './campaign.ts'
import { Load, nowUs } from './load.ts'
import { isCovered } from './stored.ts'

const entry = join(import.meta.dirname, '..', '..', 'dist', 'fahao.js')
/** Generators whose order in real time is judged. */
export const strict = ['sequence', 'timestamp']
/** A generator of each kind, named for it. */
export const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
/** Two clients for each of them. */
export const asks = kinds.flatMap((generator) => [
  { generator, command: ['ID.NEXT', generator] },
  { generator, command: ['ID.NEXT', generator, 'COUNT', 5] },
])
/** More ids than the clients can draw while a test lasts. */
export const plenty = '10000000'

/** Runs the command line; rejects with what it printed when it fails. */
export async function fahao(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [entry, ...args])
  return stdout
}

/** A server with small buffers, so that it reserves often and runs out of ids soon. */
export async function startWithKinds(t: TestContext): Promise<FahaoServer> {
  const server = await startFahao(t, { args: ['--lead', '1s', '--log-level', 'warn'] })
  const client = await server.connect()
  for (const kind of kinds) {
    const step = kind === 'sequence' || kind === 'segment' ? ['STEP', '50'] : []
    const horizon = kind === 'snowflake' ? [] : ['HORIZON', '200ms']
    await create(client, kind, kind, 'ISSUETIMEOUT', '2s', ...step, ...horizon)
  }
  await client.close()
  return server
}

/** Accepts the store as it is; resolves to how long it took until every kind was issued again, in ms. */
export async function advance(server: FahaoServer): Promise<number> {
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

/** Draws ids of every kind for a time. */
export async function pull(load: Load, server: FahaoServer, forMs: number): Promise<void> {
  load.start([server.resp], asks)
  await pause(forMs)
  await load.stop()
}

/** Fails unless every kind is refused, for the same reason as the readiness probe gives. */
export async function assertRegressed(server: FahaoServer, reason: RegExp): Promise<void> {
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

/** How many kinds have issued an id above their durable bound. */
export function countAboveBound(load: Load, file: string): number {
  return kinds.filter((kind) => !isCovered(file, kind, kind, load.journal(kind).highest)).length
}

/** The campaign: each round puts an older copy in place while the server does not run. */
export async function olderCopyAtStart(t: TestContext, rounds: number): Promise<void> {
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
    await assertRegressed(server, /it lacks acknowledged writes: it stands at commits \d+, after \d+/)
    recoveriesMs.push(await advance(server))
    await pull(load, server, 300)
    const r = await fetch(`${server.http}/readyz`)
    assert.equal(r.status, 200, await r.text())
    aboveBound += countAboveBound(load, server.file)
  }
  assert.deepEqual([...load.errorTexts.values()], [])
  judge(t, load, strict, { name: 'older copy, while stopped', rounds, aboveBound, recoveriesMs })
}
