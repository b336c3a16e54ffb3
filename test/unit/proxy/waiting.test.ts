/** Statements that wait for their turn or for their ids, and what others see of it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { ClientCommands } from '../../../src/proxy/client-commands.ts'
import type { IdMaker } from '../../../src/proxy/id-supply.ts'
import { Replies } from '../../../src/proxy/replies.ts'
import { commandOf, packetOf } from '../../launch/raw-mysql.ts'
import { idsAtHand, startScene } from './obedient-server.ts'

const [query, ping] = [3, 14]
const short = "INSERT INTO orders (item) VALUES ('x')"
/** About 1 MB. */
const long = `INSERT INTO orders (item) VALUES ${Array(20_000)
  .fill(`('${'x'.repeat(45)}')`)
  .join(', ')}`

function codeOf(packet: Buffer): number {
  assert.equal(packet[4], 0xff, `no error: ${packet.toString('latin1')}`)
  return packet.readUInt16LE(5)
}

/** Ids that never come: the signals of those that wait for them. */
function noIds(): { maker: IdMaker; waiting: AbortSignal[]; asked: Promise<void> } {
  const waiting: AbortSignal[] = []
  const asked = Promise.withResolvers<void>()
  const draw = (_name: string, _count: number, signal: AbortSignal) => {
    waiting.push(signal)
    asked.resolve()
    return new Promise<never>(() => {})
  }
  const maker: IdMaker = {
    tryDraw: () => undefined,
    draw,
    open: (name, signal) => draw(name, 0, signal),
  }
  return { maker, waiting, asked: asked.promise }
}

test('a long INSERT is sent before what its client sends behind it', async (t) => {
  const { login, statements } = await startScene(t)
  const client = await login()
  for (const sql of [long, short, 'COMMIT']) client.send(query, sql)
  for (let at = 0; at < 3; at++) assert.equal((await client.reply())[4], 0)
  assert.deepEqual(
    statements.map((sql) => sql.length > 1000 || sql),
    [true, "INSERT INTO orders (item, `id`) VALUES ('x', LAST_INSERT_ID(20001))", 'COMMIT'],
  )
})

describe('the server is asked for the session', () => {
  test('for no text in pieces that has nothing to fill in', async (t) => {
    const { login, proxy } = await startScene(t)
    const client = await login()
    client.send(query, `SELECT '${'x'.repeat(200_000)}'`)
    assert.equal((await client.reply())[4], 0)
    assert.equal(proxy.stats.filling?.questions, 0)
  })

  test('again if it may have changed in the text of an INSERT', async (t) => {
    const { login, proxy } = await startScene(t)
    const client = await login()
    for (const [sql, questions] of [
      [short, 1],
      [`${short}; SET sql_mode = ''`, 1],
      [short, 2],
    ] as const) {
      client.send(query, sql)
      assert.equal((await client.reply())[4], 0)
      assert.equal(proxy.stats.filling?.questions, questions)
    }
  })
})

describe('an INSERT whose ids do not come', () => {
  test('gets an error that a retry can help against, in time, and its connection goes on', async (t) => {
    const { maker, waiting } = noIds()
    const { login, statements, faults, proxy } = await startScene(t, maker, { idTimeoutMs: 20 })
    const client = await login()
    client.send(query, short)
    client.send(query, 'COMMIT')
    const refusal = await client.reply()
    assert.equal(codeOf(refusal), 1205)
    assert.match(
      refusal.toString(),
      /no id of 'order' came within 20ms, so the statement was not sent; retry it/,
    )
    assert.equal((await client.reply())[4], 0)
    assert.deepEqual(statements, ['COMMIT'])
    assert.deepEqual(
      waiting.map(({ aborted }) => aborted),
      [true],
    )
    assert.equal(proxy.stats.filling?.failed, 1)
    assert.deepEqual(faults, [])
  })

  for (const how of ['end', 'resetAndDestroy'] as const)
    test(`draws none once its client is gone by ${how}, and the connection to the server ends`, async (t) => {
      const { maker, waiting, asked } = noIds()
      const { login, statements, ended, faults, proxy } = await startScene(t, maker, { idTimeoutMs: 600_000 })
      const client = await login()
      client.send(query, short)
      client.send(query, 'COMMIT')
      await asked
      client.socket[how]()
      await ended
      while (proxy.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
      assert.deepEqual(
        waiting.map(({ aborted }) => aborted),
        [true],
      )
      assert.deepEqual(statements, [])
      assert.equal(proxy.stats.filling?.ids, 0)
      assert.equal(proxy.stats.filling?.failed, 0)
      assert.deepEqual(faults, [])
    })

  test('of which some are late keeps them from the row', async (t) => {
    const late = Promise.withResolvers<{ ids: string[]; isText: boolean }>()
    const { maker } = noIds()
    const { login, statements } = await startScene(
      t,
      { ...maker, draw: () => late.promise },
      { idTimeoutMs: 20 },
    )
    const client = await login()
    client.send(query, short)
    assert.equal(codeOf(await client.reply()), 1205)
    late.resolve({ ids: ['7'], isText: false })
    client.send(query, 'COMMIT')
    assert.equal((await client.reply())[4], 0)
    assert.deepEqual(statements, ['COMMIT'])
  })
})

test('ids that are at hand are written at once', async (t) => {
  const { login, statements } = await startScene(t, idsAtHand())
  const client = await login()
  for (let at = 0; at < 2; at++) {
    client.send(query, short)
    assert.equal((await client.reply())[4], 0)
  }
  assert.deepEqual(
    statements.map((sql) => /LAST_INSERT_ID\((\d)\)/.exec(sql)?.[1]),
    ['1', '2'],
  )
})

/** As `idsAtHand`, but by promises, which are fulfilled in the same turn of the event loop. */
function idsByPromises(): IdMaker {
  return { ...idsAtHand(), tryDraw: () => undefined }
}

describe('pipelined statements', () => {
  for (const [ids, maker] of [
    ['at hand', idsAtHand()],
    ['by promises', idsByPromises()],
  ] as const)
    test(`of one client are filled in over many turns of the event loop, with ids ${ids}`, async (t) => {
      const { login, statements } = await startScene(t, maker)
      const [writer, other] = [await login(), await login()]
      const count = 5000
      let answered = 0
      const all = (async () => {
        for (; answered < count; answered++) assert.equal((await writer.reply())[4], 0)
      })()
      writer.socket.write(
        Buffer.concat(Array.from({ length: count }, () => packetOf(commandOf(query, short)))),
      )
      let answers = 0
      for (; answered < count; answers++) {
        other.send(ping)
        await other.reply()
      }
      await all
      assert.ok(answers > 20, `${answers} answers`)
      assert.deepEqual(
        [statements.length, statements.at(-1)],
        [count, `INSERT INTO orders (item, \`id\`) VALUES ('x', LAST_INSERT_ID(${count}))`],
      )
    })

  test('that pass are taken in parts, a turn after the other', async () => {
    const out: Uint8Array[] = []
    const ignored = () => {}
    const host = { toServer: (bytes: Uint8Array) => void out.push(bytes), holding: () => true }
    let parts = 1
    const others = { resumed: () => void parts++, fail: ignored, counted: ignored, lost: ignored }
    const replies = new Replies(true, 2, { toClient: ignored, clientSends: ignored, lost: ignored })
    const commands = new ClientCommands({ ...host, ...others }, replies, undefined)
    const all = Buffer.concat(Array.from({ length: 20_000 }, () => packetOf(commandOf(ping))))
    commands.walk(all)
    while (commands.isYielding) await new Promise((resolve) => setImmediate(resolve))
    assert.ok(parts > 2, `${parts} parts`)
    assert.ok(Buffer.concat(out).equals(all))
  })

  test('of a client that has ended its side are all carried out', async (t) => {
    const { login, statements } = await startScene(t)
    const client = await login()
    client.send(query, short)
    await client.reply()
    client.socket.end(Buffer.concat(Array.from({ length: 300 }, () => packetOf(commandOf(query, short)))))
    for (let at = 0; at < 300; at++) assert.equal((await client.reply())[4], 0)
    assert.equal(statements.length, 301)
  })

  test('that are refused are not read on while the client does not read the errors', async (t) => {
    const tryDraw = () => {
      throw new FahaoError('EXHAUSTED', 'x'.repeat(400))
    }
    const { login, proxy } = await startScene(t, { ...idsAtHand(), tryDraw })
    const [hostile, other] = [await login(), await login()]
    hostile.socket.pause()
    const bytes = 2 ** 21
    hostile.socket.write(Buffer.alloc(bytes, packetOf(commandOf(query, short))))
    // Until nothing more is read.
    for (let last = -1, turns = 0; turns < 50; turns++) {
      const { bytesIn } = proxy.stats
      // A ping has five bytes.
      if (bytesIn - last > 5) turns = 0
      last = bytesIn
      other.send(ping)
      await other.reply()
    }
    assert.ok(proxy.stats.bytesIn < bytes / 2, `${proxy.stats.bytesIn} bytes were read`)
  })
})
