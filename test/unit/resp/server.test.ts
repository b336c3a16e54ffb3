import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { startRespServer } from '../../../src/resp/server.ts'
import { connect, frame, Peer, serve } from './peer.ts'

describe('serving commands', () => {
  test('answers in order, in either protocol, in either case', async (test) => {
    const { peer } = await connect(test)
    await peer.ask('PING\r\n', '+OK\r\n')
    await peer.ask(frame('pInG') + frame('ECHO', 'a\r\nb'), '+OK\r\n$4\r\na\r\nb\r\n')
    await peer.ask(frame('client', 'LAST'), '$11\r\nclient|last\r\n')
  })

  test('switches the protocol inside a pipeline', async (test) => {
    const { peer } = await connect(test)
    await peer.ask(
      frame('HELLO', '2') + frame('HELLO', '3') + frame('HELLO', '3') + frame('HELLO', '2'),
      '$-1\r\n_\r\n_\r\n$-1\r\n',
    )
  })

  test("refuses what it does not know in Redis's words, and stays", async (test) => {
    const { peer } = await connect(test)
    await peer.ask(
      frame('foo', 'a', 'b'),
      "-ERR unknown command 'foo', with args beginning with: 'a' 'b' \r\n",
    )
    await peer.ask(frame('CLIENT', 'x'), "-ERR unknown subcommand 'x'. Try CLIENT HELP.\r\n")
    await peer.ask(
      frame('CLIENT', 'last', 'x'),
      "-ERR wrong number of arguments for 'client|last' command\r\n",
    )
    await peer.ask(frame('INCR'), "-ERR wrong number of arguments for 'incr' command\r\n")
    await peer.ask('PING\r\n', '+OK\r\n')
  })

  test('sends errors with their code, and bugs as one sentence', async (test) => {
    const { world, peer } = await connect(test)
    const internal = '-ERR internal error\r\n'
    await peer.ask(frame('FAIL'), '-DRY the buffer is empty\r\n')
    await peer.ask(
      frame('BUG') + frame('LATEBUG') + frame('HALFBUG') + frame('PING'),
      `${internal.repeat(3)}+OK\r\n`,
    )
    assert.equal(world.errors.length, 3)
  })

  test('closes after the reply to a broken request', async (test) => {
    const { peer } = await connect(test)
    peer.send('PING\r\n*x\r\nPING\r\n')
    assert.equal(await peer.closed, '+OK\r\n-ERR Protocol error: invalid multibulk length\r\n')
  })

  test('closes on HTTP without a word, and carries nothing of it out', async (test) => {
    const { server, world } = await serve(test)
    const requests = [
      'POST / HTTP/1.1\r\nContent-Length: 8\r\n\r\nINCR a\r\n',
      'GET /INCR HTTP/1.1\r\n\r\nINCR a\r\n',
      `${frame('POST', '/')}INCR a\r\n`,
    ]
    for (const request of requests) {
      const peer = await Peer.to(server)
      peer.send(request)
      assert.equal(await peer.closed, '')
    }
    assert.deepEqual(world.ran, [])
  })

  test('closes after the reply to QUIT, and ignores what follows', async (test) => {
    const { peer } = await connect(test)
    peer.send(frame('QUIT') + frame('PING'))
    assert.equal(await peer.closed, '+OK\r\n')
  })

  test('answers what came before the end of the input', async (test) => {
    const { world, peer } = await connect(test)
    peer.socket.end(frame('PING') + frame('WAIT') + frame('PING'))
    await world.release('done')
    assert.equal(await peer.closed, '+OK\r\n$4\r\ndone\r\n+OK\r\n')
  })

  test('lists its sessions, and closes one from another', async (test) => {
    const { server } = await serve(test)
    const peers = [await Peer.to(server), await Peer.to(server)] as const
    await Promise.all(peers.map((peer) => peer.ask(frame('PING'), '+OK\r\n')))
    const [first, second] = [...server.sessions()]
    assert.ok(first !== undefined && second !== undefined && first.id < second.id)
    const { localPort } = peers[0].socket
    assert.equal(first.address, `127.0.0.1:${localPort}`)
    assert.equal(first.localAddress, server.address)
    first.close()
    assert.equal(await peers[0].closed, '')
    await peers[1].ask(frame('PING'), '+OK\r\n')
    assert.equal(server.stats.connectionsTotal, 2)
    assert.equal(server.stats.commands, 3)
    assert.equal(server.stats.bytesIn, 3 * frame('PING').length)
    assert.equal(server.stats.bytesOut, 3 * '+OK\r\n'.length)
  })

  test('rejects with CONFIG if the address is in use', async (test) => {
    const { server } = await serve(test)
    const again = startRespServer({
      host: '127.0.0.1',
      port: server.port,
      table: undefined as never,
      context: undefined as never,
    })
    await assert.rejects(again, { code: 'CONFIG', message: /EADDRINUSE.*--resp/ })
  })
})

describe('commands that wait', () => {
  test('hold back what follows on their connection, and nothing on others', async (test) => {
    const { server, world } = await serve(test)
    const waiting = await Peer.to(server)
    const other = await Peer.to(server)
    waiting.send(frame('WAIT') + frame('PING') + frame('WAIT') + frame('ECHO', 'x'))
    await other.ask(frame('PING'), '+OK\r\n')
    assert.equal(world.ran.length, 0)
    await world.release('one')
    await waiting.expect('$3\r\none\r\n+OK\r\n')
    await world.release('two')
    await waiting.expect('$3\r\ntwo\r\n$1\r\nx\r\n')
  })

  test('keep their order in a long pipeline with others that answer at once', async (test) => {
    const { peer } = await connect(test)
    let requests = ''
    let replies = ''
    for (let index = 0; index < 2000; index++) {
      requests += frame('LATER', `${index}`) + frame('INCR', 'a') + frame('PING')
      replies += `$${`${index}`.length}\r\n${index}\r\n:${index + 1}\r\n+OK\r\n`
    }
    await peer.ask(requests, replies)
  })

  test('keep their arguments unchanged while more bytes arrive', async (test) => {
    const { peer } = await connect(test)
    const texts = Array.from({ length: 200 }, (_, index) => `text-${index}`)
    for (const text of texts) peer.send(frame('LATER', text))
    await peer.expect(texts.map((text) => `$${text.length}\r\n${text}\r\n`).join(''))
  })

  test('have their signal aborted when the connection ends', async (test) => {
    const { server, world, peer } = await connect(test)
    peer.send(frame('WAIT'))
    while (world.waits.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const [session] = [...server.sessions()]
    peer.socket.resetAndDestroy()
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(world.aborted, 1)
    assert.ok(session?.signal.aborted)
    await world.release('unread')
  })
})

describe('a graceful stop', () => {
  test('answers what was received, closes, and accepts no one more', { timeout: 10_000 }, async (test) => {
    const { server, world } = await serve(test)
    const idle = await Peer.to(server)
    const busy = await Peer.to(server)
    await idle.ask(frame('PING'), '+OK\r\n')
    busy.send(frame('WAIT') + frame('PING'))
    while (world.waits.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const stopped = server.close(60_000)
    assert.equal(await idle.closed, '')
    await assert.rejects(Peer.to(server))
    await world.release('last')
    assert.equal(await busy.closed, '$4\r\nlast\r\n+OK\r\n')
    await stopped
    assert.equal(server.stats.connections, 0)
  })

  test('carries out nothing that comes after it', async (test) => {
    const { server, world, peer } = await connect(test)
    peer.socket.allowHalfOpen = true
    await peer.ask(frame('PING'), '+OK\r\n')
    const stopped = server.close(5000)
    await once(peer.socket, 'end')
    peer.socket.end(frame('INCR', 'a'))
    await stopped
    assert.deepEqual(world.ran, [])
  })

  test('drops at its deadline what still waits', async (test) => {
    const { server, peer } = await connect(test)
    await peer.ask(frame('PING'), '+OK\r\n')
    peer.send(frame('WAIT'))
    await server.close(50)
    assert.equal(await peer.closed, '')
  })
})
