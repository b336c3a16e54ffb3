/**
 * A server on whose machine wall time runs ahead of monotonic time, as after a resumed snapshot or in a process that was
 * restored from its image.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, layouts } from '../../src/ids.ts'
import { startFahao } from '../launch/fahao.ts'
import { movableClock } from '../launch/faketime.ts'

test('a server drops what it holds when wall time has run ahead, before it issues another id', async (t) => {
  const clock = movableClock(t)
  const server = await startFahao(t, { args: ['--log-level', 'info'], env: clock.env })
  const client = await server.connect()
  const next = async (name: string) => BigInt((await client.command('ID.NEXT', name)) as string)
  await client.command('ID.CREATE', 'seg', 'KIND', 'segment', 'STEP', '1000')
  await client.command('ID.CREATE', 'seq', 'KIND', 'sequence', 'STEP', '1000')
  await client.command('ID.CREATE', 'flake', 'KIND', 'snowflake')
  const workerId = async () => decode(layouts.twitter, await next('flake')).node
  const names = ['seg', 'seq']
  const before = new Map<string, bigint>()
  for (const name of names) before.set(name, await next(name))
  const worker = await workerId()

  clock.set('-1h')
  for (const name of names) assert.equal(await next(name), before.get(name)! + 1n)
  assert.equal(await workerId(), worker)
  assert.doesNotMatch(server.output(), /may exist twice/)

  clock.set('+2m')
  for (const name of names) assert.ok((await next(name)) > before.get(name)! + 500n, name)
  assert.notEqual(await workerId(), worker)
  assert.match(server.output(), /memory of this node may exist twice[^\n]*wall time ran ahead/)
  await client.close()
})
