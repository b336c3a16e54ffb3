/** Clients and servers of MySQL that lie: what they send is passed on or refused, and the proxy goes on. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { IdMaker } from '../../../src/proxy/id-supply.ts'
import { loginBytesMax } from '../../../src/proxy/login.ts'
import { type ProxyOptions, startProxy } from '../../../src/proxy/server.ts'
import type { DrawnIds } from '../../../src/proxy/sql/fill-ids.ts'
import { atEnd, type Lifetime } from '../../launch/lifetime.ts'
import { commandOf, packetOf } from '../../launch/raw-mysql.ts'
import { answerHead, eof, greeting, idsAtHand, standing, startUpstream } from './obedient-server.ts'

const runs = 100
const columns = [{ database: 'shop', table: 't', column: 'id', generator: 't' }]
const maker = idsAtHand()
const ok = (sequence: number) => packetOf(Buffer.from([0, 0, 0, 2, 0, 0, 0]), sequence)

function response(attributeBytes = 0): Buffer {
  return packetOf(
    Buffer.concat([answerHead(), Buffer.from('user\0\0plugin\0'), Buffer.alloc(attributeBytes)]),
    1,
  )
}

/** A proxy, and a server of its own that treats each connection as `behave` says. */
async function startBetween(
  lifetime: Lifetime,
  behave: (socket: Socket) => void,
  limits: ProxyOptions['limits'] = {},
  filled?: ProxyOptions['filled'],
) {
  const faults: unknown[] = []
  const lost: string[] = []
  const proxy = await startProxy({
    host: '127.0.0.1',
    port: 0,
    upstream: await startUpstream(lifetime, behave),
    limits: { lingerMs: 100, loginTimeoutMs: 2000, ...limits },
    filled,
    look: standing,
    onLost: (reason) => void lost.push(reason),
    onError: (error) => void faults.push(error),
  })
  atEnd(lifetime, () => proxy.close(0))
  return {
    proxy,
    faults,
    lost,
    /** Opens a connection, and sends `bytes` behind the greeting. */
    async client(...bytes: readonly Buffer[]) {
      const socket = connect(proxy.port, '127.0.0.1').on('error', () => {})
      atEnd(lifetime, () => void socket.destroy())
      await once(socket, 'data')
      for (const each of bytes) socket.write(each)
      return socket
    },
    /** Resolves when no connection is left. */
    async allGone() {
      while (proxy.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** What the socket receives until it ends. */
async function received(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk))
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

/** Greets, and answers the login with OK; then sends `bytes` and ends. */
function lying(bytes: () => Buffer) {
  return (socket: Socket) => {
    socket.write(greeting())
    socket.once('data', () => {
      socket.write(ok(2))
      socket.once('data', () => void socket.end(bytes()))
    })
  }
}

/** Greets, answers the login with OK, and what follows with one reply after another. */
function scripted(...replies: readonly Buffer[]) {
  return (socket: Socket) => {
    const left = [ok(2), ...replies]
    socket.write(greeting())
    socket.on('data', () => void socket.write(left.shift() ?? Buffer.alloc(0)))
  }
}

/** A text with its length in front. */
function sized(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])
}

describe('before the end of a login', () => {
  const waiting = (socket: Socket) => void socket.write(greeting())

  test('a packet that is longer than any of a login is refused by its header', async (t) => {
    const { client } = await startBetween(t, waiting)
    const header = Buffer.from([0xff, 0xff, 0xff, 1])
    assert.match(await received(await client(header)), /before the end of the login/)
  })

  test('commands that wait are refused beyond a limit, in chunks of any size', async (t) => {
    const { client, faults, allGone } = await startBetween(t, waiting)
    const command = packetOf(commandOf(3, 'x'.repeat(1000)))
    const all = Buffer.concat(Array.from({ length: loginBytesMax / 1000 + 1 }, () => command))
    assert.match(await received(await client(response(), all)), /before the end of the login/)
    await allGone()
    assert.deepEqual(faults, [])
  })

  test('the longest attributes of a connection are let through', async (t) => {
    let bytes = 0
    const { client } = await startBetween(t, (socket) => {
      socket.write(greeting())
      socket.on('data', (chunk) => {
        bytes += chunk.length
        if (bytes === response(65_536).length) socket.end(ok(2))
      })
    })
    assert.equal(await received(await client(response(65_536))), ok(2).toString('latin1'))
  })

  test('a server that sends without end is refused, and one whose packets do not end', async (t) => {
    const flood = Buffer.alloc(10_000_000, packetOf(Buffer.alloc(1000, 1), 1))
    for (const bytes of [Buffer.concat([greeting(), flood]), Buffer.from([0xff, 0xff, 0xff, 0, 10])]) {
      const { client, allGone } = await startBetween(t, (socket) => void socket.write(bytes))
      assert.match(await received(await client()), /does not speak its protocol|^$/)
      await allGone()
    }
  })

  test('an authentication without end ends in time', async (t) => {
    const more = packetOf(Buffer.from([1, 3]), 2)
    const endless = (socket: Socket) => {
      socket.write(greeting())
      socket.once('data', () => {
        const next = () => void socket.write(Buffer.concat([more, more]), () => socket.writable && next())
        next()
      })
    }
    const { client, allGone, faults } = await startBetween(t, endless, { loginTimeoutMs: 300 })
    ;(await client(response())).resume()
    await allGone()
    assert.deepEqual(faults, [])
  })
})

describe('replies that fit no command', () => {
  const command = packetOf(commandOf(3, 'SELECT 1'))
  const huge = Buffer.from([0xfe, 255, 255, 255, 255, 255, 255, 255, 127])
  const cases: [name: string, bytes: readonly Buffer[]][] = [
    ['a count of 2^63 columns', [packetOf(huge, 1), packetOf(huge, 2), eof(3)]],
    ['a count of columns that is cut', [packetOf(Buffer.from([0xfc]), 1)]],
    ['a count of no column', [packetOf(Buffer.from([0xfc, 0, 0]), 1), eof(2), eof(3)]],
    [
      'an end that is cut',
      [packetOf(Buffer.from([1]), 1), packetOf(Buffer.from([3]), 2), packetOf(Buffer.from([0xfe]), 3)],
    ],
    ['an OK packet that is cut', [packetOf(Buffer.from([0]), 1)]],
    ['an OK packet whose numbers are longer than it', [packetOf(Buffer.from([0, 0xfe, 1, 0xfe]), 1)]],
    ['an empty packet', [packetOf(Buffer.alloc(0), 1)]],
    ['wrong sequence numbers', [ok(200)]],
    ['more replies than commands', [ok(1), ok(1), ok(1)]],
    ['a request for a file', [packetOf(Buffer.from([0xfb]), 1), ok(3)]],
    ['half a header', [Buffer.from([9, 0])]],
    ['half a packet', [Buffer.from([9, 0, 0, 1, 0, 0])]],
  ]
  for (const [name, bytes] of cases)
    for (const sent of [command, packetOf(commandOf(0x16, 'SELECT 1'))])
      test(`${name}, to command ${sent[4]}: passed on as it came, or the connection ends with an error`, async (t) => {
        const reply = Buffer.concat(bytes)
        const { client, faults, lost, allGone } = await startBetween(
          t,
          lying(() => reply),
        )
        const socket = await client(response())
        await once(socket, 'data')
        socket.write(sent)
        const text = await received(socket)
        if (lost.length === 0) assert.equal(text, reply.toString('latin1'))
        else assert.match(text, /#HY000fahao proxy: [^#]* cannot be understood; connect again$/)
        await allGone()
        assert.deepEqual(faults, [])
      })
})

describe('with filled tables', () => {
  const insert = packetOf(commandOf(3, 'INSERT INTO shop.t (a) VALUES (1)'))
  const definition = packetOf(Buffer.concat([...Array(6).fill(sized('x')), Buffer.alloc(13)]), 2)
  const rowOf = (...values: readonly string[]) => packetOf(Buffer.concat(values.map(sized)), 6)
  const session = (row: Buffer) =>
    Buffer.concat([packetOf(Buffer.from([3]), 1), ...Array(3).fill(definition), eof(5), row, eof(7)])
  const strict = session(rowOf('STRICT_ALL_TABLES', 'utf8mb4', ''))
  const tooMany = Buffer.concat(Array(600).fill(definition))
  const cases: [name: string, sent: Buffer, replies: readonly Buffer[]][] = [
    ['a row that is cut', insert, [session(packetOf(Buffer.from([9, 65]), 6))]],
    ['columns without end', insert, [Buffer.concat([packetOf(Buffer.from([0xfc, 255, 255]), 1), tooMany])]],
    ['a packet of 16 MB', insert, [Buffer.from([255, 255, 255, 1, ...Array(60).fill(3)])]],
    ['a request for a file', insert, [packetOf(Buffer.from([0xfb, 97]), 1)]],
  ]
  for (const [name, sent, replies] of cases)
    test(`${name} as the reply to a question ends the connection with an error`, async (t) => {
      const { client, faults, lost, allGone } = await startBetween(
        t,
        scripted(...replies),
        {},
        { columns, maker },
      )
      const socket = await client(response())
      await once(socket, 'data')
      socket.write(sent)
      const [error] = await once(socket, 'data')
      assert.deepEqual([error[3], error[4], error.readUInt16LE(5)], [1, 0xff, 1429])
      socket.resume()
      await allGone()
      assert.deepEqual([faults, lost.length], [[], 1])
      assert.match(lost[0]!, /cannot be understood/)
    })

  test('a server that ends the connection in front of a reply to a question leaves no statement waiting', async (t) => {
    const { client, allGone } = await startBetween(
      t,
      lying(() => strict.subarray(0, 9)),
      {},
      { columns, maker },
    )
    const socket = await client(response())
    await once(socket, 'data')
    socket.write(insert)
    assert.match(await received(socket), /has ended the connection before its reply/)
    await allGone()
  })

  test('a statement that waits for its id is not idle', async (t) => {
    let give = (_: DrawnIds) => {}
    const late: IdMaker = {
      ...maker,
      tryDraw: () => undefined,
      draw: () => new Promise((resolve) => (give = resolve)),
    }
    const limits = { idleTimeoutMs: 2000 }
    const { client } = await startBetween(t, scripted(strict, ok(1)), limits, {
      columns,
      maker: late,
    })
    const waiting = await client(response())
    await once(waiting, 'data')
    waiting.write(insert)
    const idle = await client(response())
    idle.resume()
    await once(idle, 'close')
    give({ ids: ['7'], isText: false })
    const [reply] = await once(waiting, 'data')
    assert.deepEqual(reply, ok(1))
  })

  test('prepared statements take a bounded memory', async (t) => {
    // 0x00, the number, no column, one parameter, its definition, an EOF packet.
    const prepared = (number: number) =>
      Buffer.concat([packetOf(Buffer.from([0, number, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]), 1), definition, eof(3)])
    const { client } = await startBetween(
      t,
      scripted(strict, prepared(1), prepared(2)),
      { statementsBytesMax: 3000 },
      { columns, maker },
    )
    const socket = await client(response())
    await once(socket, 'data')
    const prepare = async (...first: readonly Buffer[]) => {
      socket.write(Buffer.concat([...first, packetOf(commandOf(0x16, 'INSERT INTO shop.t (a) VALUES (1)'))]))
      const [reply] = await once(socket, 'data')
      return reply[4] === 0 ? 0 : reply.readUInt16LE(5)
    }
    assert.deepEqual([await prepare(), await prepare()], [0, 1461])
    assert.equal(await prepare(packetOf(commandOf(0x19, Buffer.from([1, 0, 0, 0])))), 0)
  })
})

describe('random conversations', () => {
  const packets = fc.oneof(
    fc.constantFrom(
      ok(1),
      eof(1),
      packetOf(Buffer.from([0xff, 1, 4, 35]), 1),
      packetOf(Buffer.from([1]), 1),
      packetOf(Buffer.from([3, 100, 101, 102]), 1),
      packetOf(Buffer.from([0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0]), 1),
      packetOf(Buffer.from([0xfe, 0x61, 0]), 1),
    ),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => packetOf(bytes, 1)),
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  )
  const commands = fc.oneof(
    fc
      .tuple(fc.nat(255), fc.uint8Array({ maxLength: 20 }))
      .map(([command, body]) => packetOf(commandOf(command, body))),
    fc.constantFrom(3, 0x16).map((kind) => packetOf(commandOf(kind, 'INSERT INTO shop.t (a) VALUES (1)'))),
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  )
  const several = (one: fc.Arbitrary<Buffer>) =>
    fc.array(one, { maxLength: 8 }).map((all) => Buffer.concat(all))

  test('before the login reach the other side or end both', async (t) => {
    let reply = Buffer.alloc(0)
    const { client, faults, allGone } = await startBetween(t, (socket) => {
      socket.write(greeting())
      socket.once('data', () => void socket.end(reply))
      socket.once('end', () => void socket.end())
    })
    await fc.assert(
      fc.asyncProperty(fc.nat(2), several(commands), several(packets), async (kind, sent, replied) => {
        reply = replied
        const first = kind === 0 ? [] : [kind === 1 ? response() : response().subarray(0, 20)]
        const socket = await client(...first)
        socket.resume()
        socket.end(sent)
        await allGone()
        assert.deepEqual(faults, [])
      }),
      { numRuns: runs },
    )
  })
})
