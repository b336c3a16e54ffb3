/** Connections of RESP, at nodes that accept them and answer as a test says. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Unsent } from '../../../client/src/link.ts'
import { settingsOf } from '../../../client/src/options.ts'
import { runsRequest } from '../../../client/src/requests.ts'
import { RespLink } from '../../../client/src/resp-link.ts'
import { systemClock } from '../../../src/base/clock.ts'

/** A node that accepts connections, and a link to it. */
async function linked(t: TestContext, onData: (socket: Socket, data: string) => void) {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const accepted: Socket[] = []
  server.on('connection', (socket) => {
    accepted.push(socket)
    socket.on('data', (data) => onData(socket, data.toString()))
    socket.on('error', () => {})
  })
  const { port } = server.address() as { port: number }
  const url = new URL(`redis://alice:secret@127.0.0.1:${port}`)
  const link = new RespLink(url, settingsOf([url], {}), systemClock)
  t.after(() => link.close())
  return { link, accepted }
}

const request = runsRequest('order', 1)
const ended = (socket: Socket) => (socket.closed ? undefined : once(socket, 'close'))

test('a connection whose login is not answered is ended with its request, and closing leaves none', async (t) => {
  const { link, accepted } = await linked(t, () => {})
  for (const count of [1, 2]) {
    const failure = await link.send(request, 100).catch((error: unknown) => error)
    assert.ok(failure instanceof Unsent && failure.code === 'UNAVAILABLE')
    assert.match(failure.message, /within 100 ms/)
    while (accepted.length < count) await new Promise(setImmediate)
    await ended(accepted.at(-1)!)
  }
  const pending = assert.rejects(link.send(request, 60_000), { code: 'UNAVAILABLE' })
  while (accepted.length < 3) await new Promise(setImmediate)
  link.close()
  await pending
  await Promise.all(accepted.map(ended))
})

test('a login that is refused is the error of the node, and the next request logs in anew', async (t) => {
  const { link, accepted } = await linked(t, (socket, data) => {
    if (data.includes('AUTH')) socket.write('-WRONGPASS invalid username-password pair\r\n')
  })
  for (const count of [1, 2]) {
    await assert.rejects(link.send(request, 60_000), { code: 'WRONGPASS' })
    assert.equal(accepted.length, count)
  }
  await Promise.all(accepted.map(ended))
})

test('a request that is refused leaves the connection to the others', async (t) => {
  const { link, accepted } = await linked(t, (socket, data) => {
    if (data.includes('AUTH')) socket.write('+OK\r\n')
    for (const _ of data.matchAll(/CLIENT/g)) socket.write('+OK\r\n')
    if (data.includes('ID.RUNS')) socket.write('-NOPERM no permission\r\n')
  })
  for (let each = 0; each < 3; each++)
    await assert.rejects(link.send(request, 60_000), { code: 'NOPERM', message: 'no permission' })
  assert.equal(accepted.length, 1)
})

test('a request that was sent and not answered may have been carried out', async (t) => {
  const { link } = await linked(t, (socket, data) => {
    if (data.includes('ID.RUNS')) socket.destroy()
    else for (const _ of data.matchAll(/^\*/gm)) socket.write('+OK\r\n')
  })
  const failure = await link.send(request, 60_000).catch((error: unknown) => error)
  assert.ok(!(failure instanceof Unsent))
  assert.equal((failure as { code: string }).code, 'UNAVAILABLE')
})
