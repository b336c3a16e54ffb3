/** A proxy whose MySQL server accepts every user and every statement, and whose ids the test makes. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { Guard, GuardsOfServer } from '../../../src/proxy/guard-rules.ts'
import type { IdMaker } from '../../../src/proxy/id-supply.ts'
import type { ReadGuards } from '../../../src/proxy/known-guards.ts'
import { type ProxyOptions, type ProxyServer, startProxy } from '../../../src/proxy/server.ts'
import { type FilledColumn, parseFilledColumn } from '../../../src/proxy/sql/configured-columns.ts'
import { atEnd, type Lifetime } from '../../launch/lifetime.ts'
import { commandOf, packetOf } from '../../launch/raw-mysql.ts'

/** What the proxy and its server do. */
export type Scene = {
  readonly proxy: ProxyServer
  /** Texts of the client's statements, as the server received them. */
  readonly statements: string[]
  /** Bodies of the client's commands on prepared statements, and of those that are not known, as the server received them, with the command in front. */
  readonly named: Buffer[]
  /** Packets of the server's connections that have ended. */
  readonly ended: Promise<void>
  /** Errors that the proxy has reported. */
  readonly faults: unknown[]
  /** A client that is logged in. */
  login(): Promise<FakeClient>
}

/** One client. */
export type FakeClient = {
  readonly socket: Socket
  send(command: number, body?: string): void
  /** The next reply of one packet. */
  reply(): Promise<Buffer>
}

const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)])
/** The end of columns or rows. */
export const eof = (sequence: number) => packetOf(Buffer.from([0xfe, 0, 0, 2, 0]), sequence)
const ok = (sequence: number) => packetOf(Buffer.from([0, 1, 0, 2, 0, 0, 0]), sequence)

/** Ids from 1 on that are at hand. */
export function idsAtHand(): IdMaker {
  let last = 0
  const tryDraw = (_name: string, count: number) => ({
    ids: Array.from({ length: count }, () => String(++last)),
    isText: false,
  })
  return {
    tryDraw,
    draw: async (name, count) => tryDraw(name, count),
    open: async () => {},
  }
}

/** A guard stands for each table, whose id is a BIGINT. */
export async function standing(columns: readonly FilledColumn[]): Promise<GuardsOfServer> {
  const guard: Guard = {
    missing: [],
    ddl: [],
    by: 'CHECK',
    canSwitchChecks: false,
    type: { holds: 'integers', max: 2n ** 63n - 1n },
    columns: ['id', 'item', 'n'],
  }
  return { guards: new Map(columns.map((column) => [column, guard])), ignoreCase: false }
}

/** Starts both; shop.orders.id is filled in. */
export async function startScene(
  lifetime: Lifetime,
  maker: IdMaker = idsAtHand(),
  limits: ProxyOptions['limits'] = {},
  clock: Clock = systemClock,
  look: ReadGuards = standing,
): Promise<Scene> {
  const statements: string[] = []
  const named: Buffer[] = []
  const faults: unknown[] = []
  const ended = Promise.withResolvers<void>()
  const proxy = await startProxy({
    host: '127.0.0.1',
    port: 0,
    upstream: await startUpstream(
      lifetime,
      (socket) => void serve(socket, { statements, named }, ended.resolve),
    ),
    filled: { columns: [parseFilledColumn('shop.orders.id=order')], maker },
    look,
    limits,
    clock,
    onError: (error) => void faults.push(error),
  })
  atEnd(lifetime, () => proxy.close(0))
  return { proxy, statements, named, ended: ended.promise, faults, login: () => login(proxy.port, lifetime) }
}

async function login(port: number, lifetime: Lifetime): Promise<FakeClient> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  atEnd(lifetime, () => void socket.destroy())
  const packets = packetsOf(socket)
  await packets.next()
  socket.write(packetOf(Buffer.concat([answerHead(), Buffer.from('user\0\0plugin\0')]), 1))
  await packets.next()
  return {
    socket,
    send: (command, body = '') => void socket.write(packetOf(commandOf(command, body))),
    async reply() {
      const { value } = await packets.next()
      if (value === undefined) throw new Error('the connection has ended')
      return value
    },
  }
}

type Received = Pick<Scene, 'statements' | 'named'>

async function serve(socket: Socket, { statements, named }: Received, onEnd: () => void): Promise<void> {
  let prepared = 0
  socket.write(greeting())
  const packets = packetsOf(socket)
  await packets.next()
  socket.write(ok(2))
  for await (const packet of packets) {
    const sql = packet.toString('latin1', 5)
    if (packet[4] === 3 && sql.includes('@@SESSION.sql_mode')) socket.write(sessionFacts())
    else if (packet[4] === 0x16) socket.write(preparedReply(sql, ++prepared))
    else if (packet[4] === 0x18) named.push(packet.subarray(4))
    else {
      if (packet[4]! > 0x16) named.push(packet.subarray(4))
      if (packet[4] === 3) statements.push(sql)
      socket.write(ok(1))
    }
  }
  onEnd()
  socket.end()
}

/** The reply to COM_STMT_PREPARE: an error if the text says `nope`. */
function preparedReply(sql: string, number: number): Buffer {
  if (sql.includes('nope')) return packetOf(Buffer.from('\xff\x1e\x04#42S22nope', 'latin1'), 1)
  const count = sql.split('?').length - 1
  const definitions = Array.from({ length: count }, (_, at) => packetOf(text('def'), 2 + at))
  const first = packetOf(Buffer.from([0, number, 0, 0, 0, 0, 0, count, 0, 0, 0, 0]), 1)
  return Buffer.concat(count === 0 ? [first] : [first, ...definitions, eof(2 + count)])
}

/** 10, a version, a thread, a challenge, what is offered. */
export function greeting({ offersTls = false } = {}): Buffer {
  const tail = Buffer.alloc(44)
  tail.writeUInt16LE(offersTls ? 0xfffe : 0xf7fe, 13)
  tail.writeUInt16LE(0x01ff, 18)
  return packetOf(Buffer.concat([Buffer.from('\n10.11.6-MariaDB\0'), tail, Buffer.from('plugin\0')]))
}

/** The head of a client's answer to the greeting. */
export function answerHead(flags = 0): Buffer {
  const bytes = Buffer.alloc(32)
  bytes.writeUInt32LE(0x0008_a200 | flags)
  return bytes
}

/** A server that treats each connection as `behave` says, and its address. */
export async function startUpstream(lifetime: Lifetime, behave: (socket: Socket) => void) {
  const upstream = createServer((socket) => behave(socket.on('error', () => {})))
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  atEnd(lifetime, () => void upstream.close())
  const { port } = upstream.address() as { port: number }
  return { address: { host: '127.0.0.1', port }, isTls: false, ca: undefined }
}

/** The reply to the proxy's question about the session. */
function sessionFacts(): Buffer {
  const database = Buffer.from('shop').toString('hex').toUpperCase()
  return rowOf(['STRICT_ALL_TABLES', 'utf8mb4', database])
}

/** A result of one row. */
function rowOf(values: readonly string[]): Buffer {
  const behind = 2 + values.length
  return Buffer.concat([
    packetOf(Buffer.from([values.length]), 1),
    ...values.map((_, at) => packetOf(text('def'), 2 + at)),
    eof(behind),
    packetOf(Buffer.concat(values.map(text)), behind + 1),
    eof(behind + 2),
  ])
}

/** The packets that a socket receives, with their headers. */
async function* packetsOf(socket: Socket): AsyncGenerator<Buffer, undefined, undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  let wanted = 4
  let wake = () => {}
  let isOver = false
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    wake()
  })
  for (const event of ['end', 'close'])
    socket.once(event, () => {
      isOver = true
      wake()
    })
  for (;;) {
    while (bytes < wanted) {
      if (isOver) return
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    const all = Buffer.concat(chunks.splice(0))
    const end = 4 + all.readUIntLE(0, 3)
    chunks.push(all.length < end ? all : all.subarray(end))
    wanted = all.length < end ? end : 4
    if (all.length < end) continue
    bytes -= end
    yield all.subarray(0, end)
  }
}

/** Resolves when the socket has ended. */
export async function closed(socket: Socket): Promise<void> {
  if (!socket.destroyed) await once(socket, 'close')
}
