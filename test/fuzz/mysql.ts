/**
 * Conversations at random through the MySQL proxy's relay, with honest and with hostile clients and servers.
 *
 * What holds for all of them
 *  1. The relay throws nothing, and reports no error of its own.
 *  2. Without tables, each side receives what the other has sent, byte for byte, or the beginning of it.
 *  3. With tables, each packet is one that the other side has sent, in order, or is of the proxy: its questions, INSERT
 *     statements and executions with ids, and errors.
 *  4. What is held stays below its limit.
 *  5. With an honest server, the same bytes go both ways however they are cut, but for the proxy's questions, and no INSERT
 *     arrives without its id.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { commandOf, packetOf } from '../launch/raw-mysql.ts'
import { type Cuts, Scene } from './mysql-scene.ts'
import { packetsIn } from './mysql-server-model.ts'

const [query, prepare, execute, longData, close, reset, fetch] = [0x03, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1c]
const namingStatement = [execute, longData, close, reset, fetch]
/** Statements that lack an id, which the proxy fills in. */
const lacking = [
  "INSERT INTO orders (item) VALUES ('tea')",
  "INSERT INTO orders (item) VALUES ('tea'), ('cup')",
  "INSERT INTO shop.orders (id, item) VALUES (NULL, 'x'), (7, 'y')",
  "REPLACE INTO orders SET item = 'tea'",
  "INSERT INTO orders VALUES (0, 'tea', 1)",
  "INSERT IGNORE INTO orders (item) VALUES ('x') ON DUPLICATE KEY UPDATE item = 'y'",
  `INSERT INTO orders (item) VALUES ('${'x'.repeat(1200)}')`,
]
const texts = [
  ...lacking,
  'INSERT INTO orders (item) SELECT 1',
  'SELECT 1',
  'SELECT a, b FROM orders',
  'SELECT 1; SELECT 2; SET a = 1',
  'SET NAMES latin1',
  'USE shop',
  "INSERT INTO other (item) VALUES ('orders')",
  "UPDATE orders SET item = 'INSERT'",
  `SELECT '${'y'.repeat(2000)}'`,
  `INSERT INTO orders (item) VALUES ('${'z'.repeat(1600)}')`,
  '',
]
const prepared = [
  'INSERT INTO orders (item) VALUES (?)',
  'INSERT INTO orders (id, item) VALUES (?, ?)',
  'SELECT ?',
]
const others = [0x02, 0x04, 0x09, 0x0e, close, reset, fetch, 0x1f, 0x1b]
const [mark, question] = [
  'fahao proxy: ',
  /^(?:SELECT|SET|SHOW) [\s\S]*(?:@@|last_insert_id|FULL COLUMNS FROM `)/i,
]

/** Commands that go out together. */
type Segment = { readonly bytes: Buffer }
/** A change of a stream: a byte that is replaced, inserted or removed. */
type Edit = { readonly at: number; readonly kind: number; readonly byte: number }
/** One conversation. */
type Conversation = {
  readonly isFilled: boolean
  readonly segments: readonly Segment[]
  readonly clientEdits: readonly Edit[]
  /** By the number of the reply. */
  readonly serverEdits: readonly (readonly Edit[])[]
  readonly inserted: readonly Buffer[]
  readonly cuts: Cuts
}

const sizes = fc.array(fc.constantFrom(1, 2, 3, 4, 5, 7, 28, 100, 1000, 100_000), {
  minLength: 1,
  maxLength: 6,
})
const edit = fc.record({ at: fc.nat(2000), kind: fc.nat(2), byte: fc.nat(255) })

function executionOf(statement: number, values: readonly string[]): Buffer {
  const head = Buffer.alloc(9)
  head.writeUInt32LE(statement)
  head[5] = 1
  const types = values.flatMap(() => [253, 0])
  const texts = values.map((value) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]))
  return packetOf(commandOf(execute, Buffer.concat([head, Buffer.from([0, 1, ...types]), ...texts])))
}

const statement = fc.constantFrom(1, 2, 3, 0xffff_ffff)
const plain = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...texts).map((text) => packetOf(commandOf(query, text))) },
  fc
    .tuple(fc.constantFrom(...others), fc.uint8Array({ maxLength: 6 }))
    .map(([command, body]) => packetOf(commandOf(command, body))),
  fc.tuple(statement, fc.integer({ min: 1, max: 2 })).map(([number, count]) => {
    return executionOf(
      number,
      Array.from({ length: count }, () => '0'),
    )
  }),
  fc.tuple(statement, fc.nat(2)).map(([number, parameter]) => {
    const body = Buffer.alloc(8, 'x')
    body.writeUInt32LE(number)
    body.writeUInt16LE(parameter, 4)
    return packetOf(commandOf(longData, body))
  }),
)
/** The number of a statement is known when its segment has been answered. */
const segment = fc
  .tuple(
    fc.array(plain, { maxLength: 4 }),
    fc.option(fc.constantFrom(...prepared, ...lacking), { nil: undefined }),
  )
  .map(([packets, last]) => ({
    bytes: Buffer.concat(last === undefined ? packets : [...packets, packetOf(commandOf(prepare, last))]),
  }))
const common = { isFilled: fc.boolean(), segments: fc.array(segment, { minLength: 1, maxLength: 5 }) }
const none = fc.constant([])

/** Clients and servers that keep to the protocol. */
export const honest: fc.Arbitrary<Conversation & { readonly otherCuts: Cuts }> = fc.record({
  ...common,
  clientEdits: none,
  serverEdits: none,
  inserted: none,
  cuts: sizes,
  otherCuts: sizes,
})

/** Packets that servers send, and others. */
const packet = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => packetOf(bytes, 1)),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  fc
    .constantFrom([0], [0xfb], [0xfe, 0, 0, 2, 0], [0, 0xfe], [1], [0xff, 0xff, 0xff, 1], [0xfc, 255, 255])
    .map((bytes) => packetOf(Buffer.from(bytes), 1)),
)

/** Clients, servers, or both, that do not. */
export const hostile: fc.Arbitrary<Conversation> = fc.record({
  ...common,
  clientEdits: fc.oneof(none, fc.array(edit, { maxLength: 4 })),
  serverEdits: fc.oneof(none, fc.array(fc.array(edit, { maxLength: 2 }), { maxLength: 10 })),
  inserted: fc.oneof(none, fc.array(fc.oneof(fc.constant(Buffer.alloc(0)), packet), { maxLength: 10 })),
  cuts: sizes,
})

function edited(bytes: Buffer, edits: readonly Edit[]): Buffer {
  return edits.reduce((before, { at, kind, byte }) => {
    const index = at % (before.length + 1)
    const given = kind === 2 ? [] : [byte]
    const end = index + (kind === 1 ? 0 : 1)
    return Buffer.concat([before.subarray(0, index), Buffer.from(given), before.subarray(end)])
  }, bytes)
}

async function carryOut(conversation: Conversation, cuts: Cuts): Promise<Scene> {
  const { isFilled, segments, clientEdits, serverEdits, inserted } = conversation
  const reply = (bytes: Buffer, at: number) =>
    Buffer.concat([inserted[at] ?? Buffer.alloc(0), edited(bytes, serverEdits[at] ?? [])])
  const scene = new Scene(isFilled, reply, cuts)
  const isEdited = clientEdits.length > 0
  const sent = isEdited
    ? [edited(Buffer.concat(segments.map(({ bytes }) => bytes)), clientEdits)]
    : segments.map(({ bytes }) => bytes)
  for (const bytes of sent) await scene.client(bytes)
  scene.end()
  return scene
}

/** Carries out a hostile conversation. */
export async function checkHostile(conversation: Conversation): Promise<void> {
  checkSafe(await carryOut(conversation, conversation.cuts), conversation.isFilled)
}

/** Carries out an honest conversation twice. */
export async function checkHonest(conversation: Conversation & { otherCuts: Cuts }): Promise<void> {
  const scenes = [
    await carryOut(conversation, conversation.cuts),
    await carryOut(conversation, conversation.otherCuts),
  ] as const
  for (const scene of scenes) {
    checkSafe(scene, conversation.isFilled)
    if (conversation.isFilled) checkFilled(scene)
    if (!scene.hasEnded) assert.equal(scene.outstanding, 0)
  }
  const [one, other] = scenes
  for (const side of ['toServer', 'toClient'] as const) {
    const [first, second] = [one, other].map((scene) => withoutQuestions(Buffer.concat(scene[side])))
    if (one.hasEnded || other.hasEnded)
      assert.ok(first!.startsWith(second!) || second!.startsWith(first!), side)
    else assert.equal(first, second, side)
  }
}

/** A text too long to be held is followed by a question, unless its first piece shows that it changes nothing. */
function withoutQuestions(bytes: Buffer): string {
  const { packets, rest } = packetsIn(bytes)
  const others = packets.filter(
    (packet) => !(packet[4] === query && question.test(packet.toString('latin1', 5))),
  )
  return Buffer.concat([...others, rest]).toString('latin1')
}

function checkSafe(scene: Scene, isFilled: boolean): void {
  assert.deepEqual(scene.faults, [])
  const [fromClient, toServer] = [Buffer.concat(scene.fromClient), Buffer.concat(scene.toServer)]
  const [fromServer, toClient] = [Buffer.concat(scene.fromServer), Buffer.concat(scene.toClient)]
  if (isFilled) {
    checkPackets(fromClient, toServer, toServerChanges)
    checkPackets(fromServer, toClient, toClientChanges)
  } else {
    assert.ok(fromClient.subarray(0, toServer.length).equals(toServer))
    assert.ok(fromServer.subarray(0, toClient.length).equals(toClient))
  }
}

/** How the proxy changes a stream. */
type Changes = {
  /** A packet of its own. */
  isOwn(packet: Buffer): boolean
  /** What a packet of the sender has become. */
  isFrom(packet: Buffer, sent: Buffer): boolean
}

/** Each packet that was received is of the proxy, or was sent, as it is or with ids; these are in order. */
function checkPackets(sent: Buffer, received: Buffer, { isOwn, isFrom }: Changes): void {
  const from = packetsIn(sent)
  const to = packetsIn(received)
  const all = from.packets.map((packet) => packet.subarray(4))
  let at = 0
  for (const packet of to.packets.map((each) => each.subarray(4))) {
    if (isOwn(packet)) continue
    const found = all.findIndex((each, index) => index >= at && (each.equals(packet) || isFrom(packet, each)))
    assert.ok(found >= 0, `neither side has sent ${packet.toString('hex')} ${packet}`)
    at = found + 1
  }
  // The beginning of a packet that was not completed, or of the next one.
  const beginnings = [...from.packets.slice(at), from.rest]
  const rest = withoutNumbers(to.rest)
  const isBeginning = beginnings.some((each) => withoutNumbers(each.subarray(0, to.rest.length)).equals(rest))
  assert.ok(isBeginning, `neither side has sent ${to.rest.toString('hex')}`)
}

/** A packet, or its beginning, without the numbers of a statement and a parameter, which may be others for the server. */
function withoutNumbers(packet: Buffer): Buffer {
  const command = packet[4]
  if (command === undefined || !namingStatement.includes(command)) return packet
  return Buffer.from(packet).fill(0, 5, Math.min(4 + numberBytesOf(command), packet.length))
}

/** The command of a packet, and the numbers behind it. */
function numberBytesOf(command: number): number {
  return command === longData ? 7 : 5
}

const toServerChanges: Changes = {
  isOwn: (packet) => {
    const [command] = packet
    const text = packet.toString('latin1', 1)
    if (command === query) return question.test(text)
    if (command === prepare) return /^SELECT \* FROM `/.test(text)
    // The end of a question, and what follows an execution that was answered.
    return (command === close || command === reset) && packet.length === 5
  },
  isFrom: (packet, sent) => {
    const [command] = packet
    if (command !== sent[0]) return false
    if (command === query || command === prepare)
      return /orders/.test(packet.toString('latin1')) && packet.includes(sent.subarray(1, 7))
    // Another number of the statement, or of the parameter; ids among the values.
    if (command === execute) return true
    const numberBytes = numberBytesOf(command!)
    return (
      namingStatement.includes(command!) && packet.subarray(numberBytes).equals(sent.subarray(numberBytes))
    )
  },
}

/** Errors; OK packets and prepared statements with other numbers. */
const toClientChanges: Changes = {
  isOwn: (packet) => packet[0] === 0xff && packet.includes(mark),
  isFrom: (packet, sent) => packet[0] === 0 && sent[0] === 0 && Math.abs(sent.length - packet.length) < 9,
}

/** No statement that lacks an id has reached the server. */
function checkFilled({ toServer }: Scene): void {
  for (const packet of packetsIn(Buffer.concat(toServer)).packets) {
    const [command] = packet.subarray(4)
    const isText = command === query || command === prepare
    assert.ok(!isText || !lacking.includes(packet.toString('latin1', 5)), packet.toString('latin1', 5))
  }
}
