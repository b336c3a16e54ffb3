/** Clients that pipeline requests over HTTP and do not read the answers, or read them slowly. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import type { Config } from '../../../src/config/config-schema.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { noTraffic } from '../../../src/http/traffic.ts'
import { fakeNode } from './fake-node.ts'

const batch = 100_000
const batches = 20

async function serve(t: TestContext, settings: Partial<Config> = {}) {
  const traffic = noTraffic()
  const fake = fakeNode(settings)
  const node = { ...fake, server: { ...fake.server, countMax: batch } }
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0, traffic })
  t.after(() => server.close(0))
  const open = (): Socket => {
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    return socket
  }
  const next = async (): Promise<string> => {
    const url = `http://127.0.0.1:${server.port}/v1/generators/order/next`
    const { ids } = (await (await fetch(url, { method: 'POST' })).json()) as { ids: [string] }
    return ids[0]
  }
  return { order, open, next, traffic }
}

function post(count: number, name = 'order'): string {
  return `POST /v1/generators/${name}/next?count=${count} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`
}

/**
 * Resolves when `value` has not changed in many turns of the event loop. The kernel may be slow to say that it takes more: what a
 * test says afterwards must also hold if the value changes again.
 */
async function calm(value: () => number): Promise<void> {
  let before = value()
  for (let turns = 0; turns < 200; turns++) {
    await turn()
    if (value() === before) continue
    before = value()
    turns = -1
  }
}

/** The ids of the answers, in order, until there are `wanted`. */
async function readIds(socket: Socket, wanted: number): Promise<string[]> {
  const ids: string[] = []
  let text = ''
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    // Large answers come in chunks, whose sizes stand between the ids.
    text = `${text}${(piece as Buffer).toString('latin1')}`.replaceAll(/\r\n[\da-f]+\r\n/g, '')
    let end = 0
    for (const match of text.matchAll(/"(\d+)"/g)) {
      ids.push(match[1]!)
      end = match.index + match[0].length
    }
    text = text.slice(end)
    if (ids.length >= wanted) break
  }
  return ids
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('clients that do not read', () => {
  test('have one request each carried out beyond what the kernel holds, and others are answered', async (t) => {
    const { order, open, next } = await serve(t)
    const clients = Array.from({ length: 4 }, open)
    for (const client of clients) client.pause().write(post(batch).repeat(batches))
    await calm(() => order.issued)
    const before = order.issued
    assert.ok(Number(await next()) > before)
    assert.ok(order.issued < (clients.length * batches * batch) / 2, `${order.issued} ids were issued`)
  })

  test('are dropped after the timeout', async (t) => {
    const { order, open, next, traffic } = await serve(t, { httpUnreadTimeoutMs: 100 })
    const client = open()
    client.pause().write(post(batch).repeat(batches))
    while (order.issued === 0) await turn()
    while (traffic.connections > 0) await turn()
    assert.ok(order.issued < (batches * batch) / 2)
    assert.equal(await next(), String(order.issued))
  })

  test('are dropped when all of them together hold too much: first the one that has waited longest', async (t) => {
    const { order, open, next, traffic } = await serve(t, { httpUnreadTotalMaxBytes: 300_000 })
    const first = open()
    first.pause().write(post(batch).repeat(batches))
    while (order.issued === 0) await turn()
    await calm(() => order.issued)
    assert.equal(traffic.connections, 1)
    const second = open()
    second.pause().write(post(batch).repeat(batches))
    while (traffic.connections < 2) await turn()
    while (traffic.connections > 1) await turn()
    const issued = order.issued
    const [firstIds, secondIds] = [readIds(first, batches * batch), readIds(second, batches * batch)]
    assert.equal((await secondIds).length, batches * batch)
    assert.ok((await firstIds.catch(() => [])).length < (batches * batch) / 2)
    assert.ok(order.issued > issued)
    assert.equal(await next(), String(order.issued))
  })

  test('are dropped when the bodies of their requests that wait are too much', async (t) => {
    const { order, open, traffic } = await serve(t, { httpUnreadTotalMaxBytes: 300_000 })
    order.dry = true
    const body = ' '.repeat(60_000)
    const head = `PUT /v1/generators/x HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
    const client = open()
    client.write(post(1))
    while (order.stats().waiting === 0) await turn()
    client.write(`${head}content-length: ${body.length}\r\n\r\n${body}`.repeat(6))
    while (traffic.connections > 0) await turn()
  })

  test('are dropped when the requests that came with those that may wait are too much', async (t) => {
    const { order, open } = await serve(t, { httpUnreadTotalMaxBytes: 1_100_000 })
    order.dry = true
    const client = open()
    client.write(post(1).repeat(800))
    await new Promise((resolve) => client.once('close', resolve))
    assert.equal(order.issued, 0)
  })

  test('cannot make the server keep more requests than it has read at once', async (t) => {
    const { order, open } = await serve(t)
    order.dry = true
    const client = open()
    let sent = 0
    const write = () => {
      while (client.write(post(1).repeat(500))) sent += 500
    }
    client.on('drain', write)
    write()
    await calm(() => client.bytesWritten - client.writableLength)
    // The kernel holds some megabytes; the rest stays with the client.
    assert.ok(client.writableLength > 0, `${sent} requests were taken`)
    assert.equal(order.stats().waiting, 1)
  })
})

describe('a client that pipelines', () => {
  test('and reads slowly gets every answer, in order', async (t) => {
    const { order, open } = await serve(t)
    const client = open().pause()
    const count = 20_000
    const requests = 40
    client.write(post(count).repeat(requests))
    while (order.issued === 0) await turn()
    await calm(() => order.issued)
    assert.ok(order.issued < count * requests)
    const ids = await readIds(client, count * requests)
    assert.equal(
      ids.findIndex((id, index) => id !== String(index + 1)),
      -1,
    )
  })

  test('more requests than may wait is refused after the answers to these, and told what to do', async (t) => {
    const { order, open } = await serve(t)
    const client = open().setEncoding('latin1')
    client.write(post(1).repeat(5000))
    const answers = ((await client.toArray()) as string[]).join('').split(/(?=HTTP\/1\.1 )/)
    assert.match(answers.at(-1)!, /^HTTP\/1\.1 400 .*read the answers first, or use more connections/s)
    assert.ok(answers.slice(0, -1).every((answer) => answer.startsWith('HTTP/1.1 200 ')))
    assert.equal(order.issued, answers.length - 1)
    assert.ok(order.issued > 128 && order.issued < 5000, `${order.issued} answers`)
  })

  test('bodies that are too much together is refused, and not one whose bodies are few', async (t) => {
    const { order, open } = await serve(t)
    const body = `{${' '.repeat(60_000)}}`
    const head = 'PUT /v1/generators/x HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'
    const statuses = async (bodies: number, last: string) => {
      order.dry = true
      const client = open().setEncoding('latin1')
      const requests = `${head}content-length: ${body.length}\r\n\r\n${body}`.repeat(bodies)
      client.write(post(1) + requests + last)
      while (order.stats().waiting === 0) await turn()
      await calm(() => client.bytesWritten - client.writableLength)
      order.wet()
      return ((await client.toArray()) as string[])
        .join('')
        .match(/(?<=HTTP\/1\.1 )\d+/g)!
        .map(Number)
    }
    const few = await statuses(10, post(1).replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'))
    assert.deepEqual(few, [200, ...Array(10).fill(400), 200])
    const many = await statuses(30, post(1))
    assert.ok(many.length < 30, `${many.length} answers`)
    assert.ok(order.issued === 3)
  })

  test('as many requests as may wait gets every answer', async (t) => {
    const { open } = await serve(t)
    const client = open()
    client.write(post(1).repeat(129))
    assert.equal((await readIds(client, 129)).at(-1), '129')
  })

  test('and closes its connection has no more of its requests carried out', async (t) => {
    const { order, open, next } = await serve(t)
    order.dry = true
    const client = open()
    client.write(post(1).repeat(10))
    while (order.stats().waiting === 0) await turn()
    client.destroy()
    while (order.aborted === 0) await turn()
    order.wet()
    assert.equal(await next(), '1')
  })

  test('gets 408 if the rest of a request that was cut in two does not arrive', async (t) => {
    const { order, open } = await serve(t, { httpRequestTimeoutMs: 200 })
    order.dry = true
    const client = open().setEncoding('latin1')
    let text = ''
    client.on('data', (piece) => {
      text += piece
    })
    client.write(post(1).repeat(2) + post(1).slice(0, 40))
    await new Promise((resolve) => setTimeout(resolve, 700))
    order.wet()
    await once(client, 'close')
    assert.deepEqual(text.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 408'])
  })

  test('has as much time again for a request that its server did not read', async (t) => {
    const { order, open } = await serve(t, { httpRequestTimeoutMs: 200 })
    order.dry = true
    const client = open().setEncoding('latin1')
    let text = ''
    client.on('data', (piece) => {
      text += piece
    })
    client.write(post(1).repeat(2) + post(1).slice(0, 40))
    await new Promise((resolve) => setTimeout(resolve, 700))
    client.write(post(1).slice(40))
    order.wet()
    while ((text.match(/HTTP\/1.1 \d+/g) ?? []).length < 3) await turn()
    assert.deepEqual(text.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200'])
  })
})
