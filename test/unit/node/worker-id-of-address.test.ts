/** A node whose worker id is made of its machine's IPv6 address. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { loadConfig } from '../../../src/config/load-config.ts'
import { startNode } from '../../../src/node/start.ts'

async function start(t: TestContext, workerId: string, address: string) {
  const { config } = loadConfig({ flags: { engine: 'memory:', 'worker-id': workerId } })
  const messages: string[] = []
  const node = await startNode(config, {
    machine: { env: {}, hostname: 'localhost', addresses: ['10.0.0.9', address] },
    onEvent: ({ level, message }) => messages.push(`${level} ${message}`),
  })
  t.after(() => node.close())
  return { node, messages }
}

test('claims the low bits, and warns where other machines can have them', async (t) => {
  const { node, messages } = await start(t, 'ipv6-low-bits', '2001:db8::a00:27ff:fe4e:441b')
  await (await node.catalogue.create('event', { kind: 'snowflake' })).draw(1)
  assert.match(messages[0] ?? '', /^warn --worker-id ipv6-low-bits .*another machine can have too/)
  assert.equal(messages[1], `info claimed worker id ${0x01b}`)
})

test('starts without a warning where the address has no other bits', async (t) => {
  const { messages } = await start(t, 'ipv6-low-bits', 'fd00::1b')
  assert.deepEqual(messages, [])
})

test('is refused by a layout with fewer node bits, and fits with as many bits as that has', async (t) => {
  const refused = await start(t, 'ipv6-low-bits', 'fd00::1bb')
  const narrow = await refused.node.catalogue.create('event', { kind: 'snowflake', layout: 'js53' })
  await assert.rejects(narrow.draw(1), { code: 'WORKERID', message: /443 does not fit the 5 node bits/ })
  const fitting = await start(t, 'ipv6-low-bits:5', 'fd00::1bb')
  await (await fitting.node.catalogue.create('event', { kind: 'snowflake', layout: 'js53' })).draw(1)
  assert.ok(fitting.messages.includes(`info claimed worker id ${0x1b}`))
})
