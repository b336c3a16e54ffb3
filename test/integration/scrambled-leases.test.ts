/** The key of a scrambled generator leaves the service for users that may have it; others ask for each id. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connect } from '../../client/src/index.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'

const scope = new Scope()
let server: FahaoServer
let root: RawClient

before(async () => {
  server = await startFahao(scope)
  const first = await server.connect()
  assert.equal(await first.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all'), 'OK')
  root = await server.connect()
  assert.equal(await root.command('AUTH', 'admin', 'secret'), 'OK')
  assert.equal(await root.command('ACL', 'SETUSER', 'shop', 'on', '>secret', '~*', '+@issue'), 'OK')
})
after(() => scope.end())

/** What `shop` gets for a lease: the key, and whether it got one. */
async function leased(name: string) {
  const shop = await server.connect()
  assert.equal(await shop.command('AUTH', 'shop', 'secret'), 'OK')
  const reply = (await shop.command('ID.LEASE', name, 'COUNT', '5')) as unknown[]
  const overResp = Object.fromEntries(
    Array.from({ length: reply.length / 2 }, (_, at) => [reply[2 * at], reply[2 * at + 1]]),
  )
  const answer = await fetch(`${server.http}/v1/generators/${name}/leases?count=5`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('shop:secret')}` },
  })
  const overHttp = (await answer.json()) as Record<string, unknown>
  assert.equal(overResp.lease === null, overHttp.lease === null)
  return overHttp
}

test('a lease of scrambled ids, which has their key, takes a permission of its own', async () => {
  for (const [name, ...options] of [
    ['coupon', 'SCRAMBLE', 'on'],
    ['mixed', 'WITHIN', 'shuffled'],
    ['plain'],
  ] as const) {
    assert.equal(await root.command('ID.CREATE', name, 'KIND', 'segment', 'MAX', '99999', ...options), 'OK')
    const { lease, key, ranges } = await leased(name)
    assert.equal(typeof lease, name === 'coupon' ? 'object' : 'string')
    assert.deepEqual([key ?? null, ranges === undefined], [null, name === 'coupon'])
  }
  await root.command('ACL', 'SETUSER', 'shop', '+lease|scrambled')
  assert.match(String((await leased('coupon')).key), /^[0-9a-f]{32}$/)
  await root.command('ACL', 'SETUSER', 'shop', '-lease|scrambled')
})

for (const protocol of ['RESP', 'HTTP'] as const)
  test(`fahao-client gets such ids with and without the permission, and while it comes and goes: ${protocol}`, async (t) => {
    const name = `coupon-${protocol}`
    const create = ['ID.CREATE', name, 'KIND', 'segment', 'SCRAMBLE', 'on', 'FORMAT', 'c{id:5}']
    assert.equal(await root.command(...create), 'OK')
    const url = protocol === 'RESP' ? `redis://127.0.0.1:${server.resp}` : server.http
    const open = async () => {
      const client = await connect(url, { username: 'shop', password: 'secret' })
      t.after(() => client.close())
      return client.generator(name)
    }
    const texts: string[] = []
    const asking = await open()
    texts.push(...(await asking.nextTexts(50)), await asking.nextText())
    await root.command('ACL', 'SETUSER', 'shop', '+lease|scrambled')
    const leasing = await open()
    texts.push(...(await leasing.nextTexts(50)), ...(await asking.nextTexts(50)))
    await root.command('ACL', 'SETUSER', 'shop', '-lease|scrambled')
    // More than it has leased.
    texts.push(...(await leasing.nextTexts(5000)), ...(await asking.nextTexts(50)))
    assert.equal(new Set(texts).size, 5201)
    assert.ok(texts.every((text) => /^c\d{5}$/.test(text)))
  })
