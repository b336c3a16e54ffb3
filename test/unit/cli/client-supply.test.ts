/** The supply of the MySQL proxy from a service. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { clientSupply } from '../../../src/cli/client-supply.ts'

test('a supply starts before its service, has its errors, and does not ask for advice in calls of fahao-client', async (t) => {
  const accepted: unknown[] = []
  const server = createServer((request, response) => {
    accepted.push(request.headers.accept)
    response.writeHead(404, { 'content-type': 'application/problem+json' })
    response.end('{"code":"NOGENERATOR","detail":"create it with ID.CREATE"}')
  })
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const supply = await clientSupply({ urls: [`http://127.0.0.1:${port}`], timeoutMs: 5000 })
  t.after(() => supply.close())
  assert.deepEqual(accepted, [])
  await assert.rejects(supply.draw('order', 1, new AbortController().signal, false), {
    code: 'NOGENERATOR',
    message: 'create it with ID.CREATE',
  })
  assert.deepEqual(accepted, ['application/json'])
})
