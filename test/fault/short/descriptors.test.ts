/** A server that may open few files. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startFahao } from '../../launch/fahao.ts'

/** The server itself needs about 40. */
const descriptors = 80

const request = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'

/** A connection that the server has answered; undefined: it has closed the connection. */
function client(t: TestContext, port: number): Promise<Socket | undefined> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {}).write(request)
  return new Promise((resolve) => {
    socket.once('data', () => resolve(socket)).once('close', () => resolve(undefined))
  })
}

test('without descriptors open connections are served, new ones are closed, and later ones are served again', async (t) => {
  const server = await startFahao(t, { wrapper: ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh'] })
  const resp = await server.connect()
  assert.equal(await resp.command('ID.CREATE', 'order', 'KIND', 'sequence'), 'OK')
  const http = Number(new URL(server.http).port)
  const opened = await Promise.all(Array.from({ length: descriptors }, () => client(t, http)))
  const served = opened.filter((each) => each !== undefined)
  assert.ok(served.length > 0 && served.length < descriptors, `${served.length} were served`)
  await assert.rejects(async () => (await server.connect()).command('PING'))
  assert.equal(await resp.command('INCR', 'order'), 1n)
  for (const each of served) {
    each.write(request)
    await once(each, 'data')
    each.destroy()
  }
  let later: Socket | undefined
  while (later === undefined) later = await client(t, http)
  const again = await server.connect()
  assert.equal(await again.command('INCR', 'order'), 2n)
  assert.match(server.output(), /may open 80 files, and its connections may need 20256: raise LimitNOFILE/)
})
