/** The program when it stops, and the commands for the store of a server that has stopped. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { temporaryFolder } from '../launch/places.ts'
import { asking, assertSentence, ended, logged } from './cli-program.ts'

describe('a stop', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`by ${signal} ends with 0, gives unused ids back, and lets go of port and store`, async (t) => {
      const server = await startFahao(t)
      const client = await server.connect()
      await client.command('ID.CREATE', 'order', 'KIND', 'sequence')
      assert.equal(await client.command('INCR', 'order'), 1n)
      assert.deepEqual(await server.kill(signal), { code: 0, signal: null })
      assert.ok(logged(server, /^stopped$/))
      await server.restart()
      const again = await server.connect()
      assert.equal(await again.command('INCR', 'order'), 2n)
    })
  }

  test('answers what was sent before it, with the engine still open', async (t) => {
    const server = await startFahao(t, { args: ['--shutdown-timeout', '60s'] })
    const client = await server.connect()
    // Each waits for the engine, so that most are still to be done when the signal comes.
    const all = 300
    for (let sent = 0; sent < all; sent++) client.sendCommand('ID.CREATE', `g${sent}`, 'KIND', 'sequence')
    assert.equal(await client.read(), 'OK')
    server.signal('SIGTERM')
    for (let read = 1; read < all; read++) assert.equal(await client.read(), 'OK')
    assert.deepEqual(await server.exited, { code: 0, signal: null })
  })

  test('told twice at once, as npm does, is told once; told again later, ends at once', async (t) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const server = await startFahao(t)
      // A request that never ends holds the stop up.
      const socket = connect(Number(new URL(server.http).port), '127.0.0.1')
      socket.on('error', () => {})
      t.after(() => socket.destroy())
      await new Promise<void>((resolve) =>
        socket.write('POST /v1/x HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\nx', () => resolve()),
      )
      await (await fetch(`${server.http}/v1/generators`)).text()
      const since = performance.now()
      while (server.process.exit() === undefined) {
        server.signal(signal)
        await pause(50)
      }
      assert.deepEqual(await server.exited, { code: null, signal })
      assert.ok(performance.now() - since >= 500)
    }
  })

  test('comes to an end even if clients do not', async (t) => {
    const server = await startFahao(t, { args: ['--shutdown-timeout', '300ms'] })
    const socket = connect(Number(new URL(server.http).port), '127.0.0.1')
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    await new Promise<void>((resolve) => socket.write('GET / HTTP/1.1\r\nhost: x', () => resolve()))
    const stuck = await server.connect()
    stuck.send('*2\r\n$4\r\nINCR\r\n$5\r\nor')
    assert.deepEqual(await server.kill('SIGTERM'), { code: 0, signal: null })
  })
})

test('a backup is taken from a running server, and restored above everything it may have issued', async (t) => {
  const server = await startFahao(t)
  const run = asking(t, server)
  await run('create', 'order', '--kind', 'sequence')
  await run('create', 'invoice', '--kind', 'sequence')
  assert.deepEqual(ended(await run('next', 'order')), [0, '1'])
  const copy = join(temporaryFolder(t), 'copy.db')
  const engine = ['--engine', server.engine]
  const taken = await run('backup', copy, ...engine, '--json')
  assert.equal(taken.code, 0, taken.stderr)
  assert.equal(JSON.parse(taken.stdout).counters, 1)
  assertSentence((await run('backup', copy, ...engine)).stderr, /exists/)
  const unasked = await run('restore', copy, '--skip', '1000000', ...engine)
  assert.equal(unasked.code, 2)
  assertSentence(unasked.stderr, /the store .* is replaced by .*repeat it with --yes/)
  const inUse = await run('restore', copy, '--skip', '1000000', '--yes', ...engine)
  assert.equal(inUse.code, 1)
  await run('next', 'order', '--count', '50000')
  assert.deepEqual(ended(await run('next', 'invoice')), [0, '1'])
  await server.kill()
  assert.equal((await run('restore', copy, ...engine)).code, 2)
  const restored = await run('restore', copy, '--skip', '1000000', '--yes', ...engine)
  assert.equal(restored.code, 0, restored.stderr)
  await server.restart()
  const next = BigInt((await run('next', 'order')).stdout)
  assert.ok(next > 1_000_000n, String(next))
  const first = BigInt((await run('next', 'invoice')).stdout)
  assert.ok(first > 1_000_000n, String(first))
  const { stdout: audit } = await run('audit', '--event', 'restore')
  assert.match(audit, /restore +store .* skip 1000000/)
  assert.equal((await run('backup', `${copy}2`, '--engine', 'memory:')).code, 2)
})

test('a bound that is too high is lowered once no server runs, and only by force', async (t) => {
  const server = await startFahao(t)
  const run = asking(t, server)
  const engine = ['--engine', server.engine]
  await run('create', 'order', '--kind', 'sequence')
  assertSentence(
    (await run('alter', 'order', '--floor', '9223372036854775806')).stderr,
    /repeat it with FORCE/,
  )
  assert.equal((await run('alter', 'order', '--floor', '9223372036854775806', '--force')).code, 0)
  assert.deepEqual(ended(await run('next', 'order')), [0, '9223372036854775806'])
  assertSentence((await run('lower', 'order', '--to', '50', ...engine)).stderr, /stop all its servers first/)
  await server.kill()
  const asked = await run('lower', 'order', '--to', '50', ...engine)
  assert.equal(asked.code, 1)
  assertSentence(
    asked.stderr,
    /ids from 50 to 92233720368547758\d\d may have been issued.*nothing was changed/,
  )
  assert.equal((await run('lower', 'order', '--to', '50', '--force', ...engine)).code, 0)
  assert.equal((await run('lower', 'order', '--to', '1', '--engine', 'sqlite:none.db')).code, 2)
  const rows = ['--engine', 'mysql://id@127.0.0.1:1/ids?schema=leaf']
  assertSentence((await run('lower', 'order', '--to', '1', ...rows)).stderr, /lower the row there/)
  await server.restart()
  assert.deepEqual(ended(await run('next', 'order')), [0, '50'])
})
