/** Commands on prepared statements that come in front of the reply to their PREPARE, or do not fit it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { commandOf, packetOf } from '../../launch/raw-mysql.ts'
import { startScene } from './obedient-server.ts'

const [prepare, execute, longData, reset] = [0x16, 0x17, 0x18, 0x1a]
const insert = 'INSERT INTO shop.orders (id, item) VALUES (?, ?)'
const numbered = (number: number, ...rest: number[]) => {
  const head = Buffer.alloc(4)
  head.writeInt32LE(number)
  return Buffer.concat([head, Buffer.from(rest)])
}
/** Of the statement of this number, without a cursor, once, with these bytes behind. */
const execution = (number: number, ...rest: number[]) =>
  packetOf(commandOf(execute, numbered(number, 0, 1, 0, 0, 0, ...rest)))
/** Both parameters are of type TINY: 0 and 7. */
const zeroAndSeven = [0, 1, 1, 0, 1, 0, 0, 7]

async function start(t: TestContext) {
  const scene = await startScene(t)
  const client = await scene.login()
  return {
    ...scene,
    client,
    send: (...packets: readonly Buffer[]) => void client.socket.write(Buffer.concat(packets)),
    /** Reads the reply to a PREPARE of a statement with so many parameters. */
    async prepared(count: number) {
      for (let packets = count === 0 ? 1 : count + 2; packets > 0; packets--) await client.reply()
    },
  }
}

/** The two values of an execution whose parameters are sent as a BIGINT for the id, and a TINY. */
const valuesOf = (body: Buffer) => [Number(body.readBigUInt64LE(body.length - 9)), body.at(-1)]

test('an execution by a number that the client has guessed waits for the number, and gets its id', async (t) => {
  const { client, send, prepared, named, faults } = await start(t)
  for (const number of [1, 2]) {
    send(packetOf(commandOf(prepare, insert)), execution(number, ...zeroAndSeven))
    await prepared(2)
    assert.equal((await client.reply())[4], 0)
    assert.deepEqual(valuesOf(named.at(-1)!), [number, 7])
  }
  assert.deepEqual(faults, [])
})

test('long data for a guessed number reaches the parameter that it is for, and not the id', async (t) => {
  const { client, send, prepared, named } = await start(t)
  const sql = 'INSERT INTO shop.orders (id, item) VALUES (NULL, ?)'
  send(
    packetOf(commandOf(prepare, sql)),
    packetOf(commandOf(longData, numbered(1, 0, 0, 65))),
    packetOf(commandOf(reset, numbered(1))),
    packetOf(commandOf(longData, numbered(1, 0, 0, 66))),
    execution(1, 0, 1, 252, 0),
  )
  await prepared(1)
  assert.equal((await client.reply())[4], 0)
  assert.equal((await client.reply())[4], 0)
  assert.deepEqual(
    named.map((body) => [body[0], ...body.subarray(5, 7)]),
    [[longData, 1, 0], [reset], [longData, 1, 0], [execute, 0, 1]],
  )
})

test('a statement that is not filled in is executed by its number while another one is prepared', async (t) => {
  const { client, send, prepared, named } = await start(t)
  send(packetOf(commandOf(prepare, 'SELECT 1')))
  await prepared(0)
  send(packetOf(commandOf(prepare, insert)), execution(1), execution(2, ...zeroAndSeven))
  await prepared(2)
  assert.deepEqual([(await client.reply())[4], (await client.reply())[4]], [0, 0])
  assert.equal(named[0]!.readUInt32LE(1), 1)
  assert.deepEqual(valuesOf(named[1]!), [1, 7])
})

test('an execution behind a PREPARE that the server refuses is answered by the server', async (t) => {
  const { client, send, named, faults } = await start(t)
  for (const number of [-1, 1]) {
    send(
      packetOf(commandOf(prepare, 'INSERT INTO shop.orders (nope) VALUES (?)')),
      execution(number, 0, 1, 1, 0, 7),
    )
    assert.equal((await client.reply()).readUInt16LE(5), 1054)
    assert.equal((await client.reply())[4], 0)
    assert.deepEqual([...named.at(-1)!.subarray(10)], [0, 1, 1, 0, 7])
  }
  assert.deepEqual(faults, [])
})
