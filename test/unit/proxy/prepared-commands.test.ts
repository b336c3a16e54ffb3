/** Commands on prepared statements that the proxy answers by itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { commandOf, packetOf } from '../../launch/raw-mysql.ts'
import { idsAtHand, startScene } from './obedient-server.ts'

const [prepare, execute, longData, reset] = [0x16, 0x17, 0x18, 0x1a]
const insert = 'INSERT INTO shop.orders (id, item) VALUES (NULL, ?)'
const numbered = (number: number, ...rest: number[]) => {
  const head = Buffer.alloc(4)
  head.writeInt32LE(number)
  return Buffer.concat([head, Buffer.from(rest)])
}
const codeOf = (packet: Buffer) => (packet[4] === 0xff ? packet.readUInt16LE(5) : 0)

test('an execution by −1 behind a PREPARE that the proxy has refused names no statement', async (t) => {
  const { login, named } = await startScene(t, idsAtHand(), { statementsMax: 0 })
  const client = await login()
  client.send(prepare, insert)
  assert.equal(codeOf(await client.reply()), 1461)
  client.socket.write(packetOf(commandOf(execute, numbered(-1, 0, 1, 0, 0, 0))))
  assert.equal(codeOf(await client.reply()), 1243)
  assert.deepEqual(named, [])
  // A statement that is not filled in is the newest one then.
  client.send(prepare, 'SELECT 1')
  assert.equal(codeOf(await client.reply()), 0)
  client.socket.write(packetOf(commandOf(execute, numbered(-1, 0, 1, 0, 0, 0))))
  assert.equal(codeOf(await client.reply()), 0)
  assert.deepEqual([named.length, named[0]?.[0]], [1, execute])
})

test('the server forgets the long data of an execution that is not sent', async (t) => {
  const maker = {
    ...idsAtHand(),
    tryDraw: () => undefined,
    draw: () => Promise.reject(new FahaoError('UNAVAILABLE', 'no ids')),
  }
  const { login, named } = await startScene(t, maker)
  const client = await login()
  client.send(prepare, insert)
  for (let packets = 3; packets > 0; packets--) await client.reply()
  client.socket.write(packetOf(commandOf(longData, numbered(1, 0, 0, 65))))
  client.socket.write(packetOf(commandOf(execute, numbered(1, 0, 1, 0, 0, 0, 0, 1, 252, 0))))
  assert.equal(codeOf(await client.reply()), 1205)
  client.send(14)
  assert.equal(codeOf(await client.reply()), 0)
  assert.deepEqual(
    named.map(([command]) => command),
    [longData, reset],
  )
})

test('a command that is not understood ends its connection: nothing of it passes unread', async (t) => {
  const { login, named, statements } = await startScene(t)
  const client = await login()
  client.send(200)
  assert.equal(codeOf(await client.reply()), 1429)
  assert.deepEqual([named, statements], [[], []])
})

test('the execution of a filled statement that is too long is refused, and the connection goes on', async (t) => {
  const { login, named } = await startScene(t, idsAtHand(), { statementMaxBytes: 1000 })
  const client = await login()
  client.send(prepare, insert)
  for (let packets = 3; packets > 0; packets--) await client.reply()
  const value = Buffer.concat([Buffer.from([0xfc, 0xd0, 0x07]), Buffer.alloc(2000, 'a')])
  const execution = Buffer.concat([numbered(1, 0, 1, 0, 0, 0, 0, 1, 253, 0), value])
  client.socket.write(packetOf(commandOf(longData, numbered(1, 0, 0, 65))))
  client.socket.write(packetOf(commandOf(execute, execution)))
  const reply = await client.reply()
  assert.deepEqual([codeOf(reply), reply[3]], [1235, 1])
  client.send(14)
  assert.equal(codeOf(await client.reply()), 0)
  assert.deepEqual(
    named.map(([command]) => command),
    [longData, reset],
  )
})

test('a text to prepare that is too long is the newest statement then', async (t) => {
  const { login, named } = await startScene(t, idsAtHand(), { statementMaxBytes: 1000 })
  const client = await login()
  client.send(prepare, insert)
  for (let packets = 3; packets > 0; packets--) await client.reply()
  client.send(prepare, `${insert}, (NULL, '${'a'.repeat(2000)}')`)
  for (let packets = 3; packets > 0; packets--) await client.reply()
  const execution = numbered(-1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 7)
  client.socket.write(packetOf(commandOf(execute, execution)))
  assert.equal(codeOf(await client.reply()), 0)
  assert.deepEqual(
    named.map((each) => each.length),
    [1 + execution.length],
  )
})
