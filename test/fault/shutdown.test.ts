/**
 * SIGTERM: requests that were sent before it are answered, buffered ids are released, and the next process goes on at the
 * same id. A second signal ends the process in the middle of that, and costs a gap at most.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { accepts } from '../launch/process.ts'
import { create, judge, roundsOf } from './campaign.ts'
import { type Ask, Load, nowUs } from './load.ts'
import { breakSyncs } from './trace.ts'

const quiet = ['--log-level', 'warn']
/** The same counter, over RESP alone: each client has one request under way, so none can lose a reply. */
const crowd = (generator: string): Ask[] =>
  Array.from({ length: 8 }, () => ({ generator, command: ['INCR', generator] }))

describe('a server that is told to stop', () => {
  test('exits with 0 under load, and the next life goes on without a gap', {
    timeout: 1_200_000,
  }, async (t) => {
    const rounds = roundsOf(4, 0.25)
    const server = await startFahao(t, { args: [...quiet, '--auto-create', '*=sequence'] })
    const load = new Load()
    const recoveriesMs: number[] = []
    for (let round = 0; round < rounds; round++) {
      load.start([server.resp], crowd('order'))
      await pause(200)
      const stopUs = nowUs()
      assert.deepEqual(await server.kill('SIGTERM'), { code: 0, signal: null }, server.output())
      await load.stop()
      await server.start()
      recoveriesMs.push((nowUs() - stopUs) / 1000)
    }
    assert.deepEqual([...load.errorTexts.values()], [])
    assert.equal(load.journal('order').gaps(), 0n)
    judge(t, load, ['order'], { name: 'SIGTERM under load', rounds, recoveriesMs })
  })

  test('answers everything that it had received, also what waits for the store', async (t) => {
    const server = await startFahao(t, { args: [...quiet, '--auto-create', '*=sequence'] })
    const clients = await Promise.all(Array.from({ length: 20 }, () => server.connect()))
    // The store answers in half a second: these requests all wait when the signal comes.
    const fault = await breakSyncs(t, server.pid, 'delay_enter=500000')
    clients.forEach((client, index) => {
      client.sendCommand('INCR', `new:${index}`)
    })
    assert.equal(await (await server.connect()).command('PING'), 'PONG')
    server.signal('SIGTERM')
    const replies = await Promise.all(clients.map((client) => client.read()))
    assert.deepEqual(replies, Array(20).fill(1n))
    await fault.end()
    assert.deepEqual(await server.exited, { code: 0, signal: null })
  })

  test('ends at once at a second signal, in the middle of giving back, and repeats nothing', async (t) => {
    const rounds = roundsOf(1, 0.05)
    const server = await startFahao(t, { args: quiet })
    const client = await server.connect()
    for (const kind of ['sequence', 'segment', 'timestamp', 'snowflake']) await create(client, kind, kind)
    await client.close()
    const asks = ['sequence', 'segment', 'timestamp', 'snowflake'].map((generator) => ({
      generator,
      command: ['ID.NEXT', generator],
    }))
    const load = new Load()
    for (let round = 0; round < rounds; round++) {
      load.start([server.resp], asks)
      await pause(300)
      const fault = await breakSyncs(t, server.pid, 'delay_enter=3000000')
      server.signal('SIGTERM')
      while (await accepts(server.resp)) await pause(10)
      // Signals that come together count as one: Ctrl-C reaches a whole group.
      await pause(600)
      assert.equal(server.process.exit(), undefined, 'it still waits for its disk')
      const againUs = nowUs()
      assert.deepEqual(await server.kill('SIGTERM'), { code: null, signal: 'SIGTERM' })
      // The sync under way is the kernel's to end, or here strace's; those of closing the store are not waited for.
      const endedMs = (nowUs() - againUs) / 1000
      assert.ok(endedMs < 4000, `it took ${endedMs} ms`)
      t.diagnostic(`ended after ${endedMs.toFixed(0)} ms`)
      await fault.end()
      await load.stop()
      await server.start()
    }
    load.start([server.resp], asks)
    await pause(200)
    await load.stop()
    judge(t, load, ['sequence', 'timestamp'], { name: 'second signal during the release', rounds })
  })
})
