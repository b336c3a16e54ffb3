/** One node on SQLite that is restarted with the new version, and with the version before again: what is stored, and under load. */
import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { optionNames } from '../../src/catalogue/generator-options.ts'
import { judge, restOf } from '../fault/campaign.ts'
import { type FollowingAsk, FollowingLoad } from '../fault/cluster-load.ts'
import { eventually } from '../fault/cluster-nodes.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'
import { type Package, versionBefore } from './version-before.ts'

const password = 'a long password'
const credentials = `Basic ${btoa(`admin:${password}`)}`
/** A generator of each kind, and with each option that changes what is stored. */
const generators: readonly (readonly string[])[] = [
  ['order', 'sequence', 'START', '1000', 'FORMAT', 'O{id:8}{check:luhn}'],
  ['odd', 'segment', 'INCREMENT', '10', 'OFFSET', '3', 'MAX', '1000000000'],
  ['shuffled', 'segment', 'WITHIN', 'shuffled'],
  ['scrambled', 'segment', 'SCRAMBLE', 'on', 'MAX', '99999999'],
  ['event', 'snowflake', 'LAYOUT', 'twitter'],
  ['stamp', 'timestamp', 'NODE', '7', 'BORROWMAX', '5s'],
  ['altered', 'sequence'],
  ['dropped', 'sequence'],
]
const drawn = generators.map(([name]) => name!).filter((name) => name !== 'dropped')
/** Renewals and draws change these. */
const counted = /"(?:untilUs|issued|shareOfDay)","[^"]*",?/g
const hidden = ['shuffled', 'scrambled']

let earlier: Package
before(async () => {
  earlier = await versionBefore()
})

async function ask(client: RawClient, ...words: string[]): Promise<RawReply> {
  const reply = await client.command(...words)
  if (reply instanceof ReplyError) assert.fail(`${words.join(' ')}: ${reply.text}`)
  return reply
}

async function admin(server: FahaoServer): Promise<RawClient> {
  const client = await server.connect()
  await ask(client, 'AUTH', 'admin', password)
  return client
}

async function http(server: FahaoServer, path: string, authorization = credentials, body?: object) {
  const headers = { authorization, ...(body && { 'content-type': 'application/json' }) }
  const answer = await fetch(`${server.http}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  assert.ok(answer.ok, `${path}: ${answer.status}`)
  return await answer.json()
}

/** Writes a record of each form. Resolves to a token, and to the lease of a plain worker id. */
async function fill(server: FahaoServer): Promise<{ token: string; lease: string }> {
  const client = await admin(server)
  for (const [name, kind, ...options] of generators)
    await ask(client, 'ID.CREATE', name!, 'KIND', kind!, ...options)
  await ask(client, 'INCR', 'altered')
  await ask(client, 'ID.ALTER', 'altered', 'INCREMENT', '5')
  await ask(client, 'INCR', 'dropped')
  await ask(client, 'ID.DROP', 'dropped')
  await ask(client, 'ACL', 'SETUSER', 'alice', 'on', '>another long one', '~order*', '+@issue')
  await ask(client, 'ID.NAMESPACE', 'SET', 'orders', 'MATCH', 'order*', 'OWNER', 'shop', 'DAILY', '1000000')
  const claimed = fieldsOf(await ask(client, 'ID.WORKER', 'CLAIM', 'pool', 'OWNER', 'one', 'TTL', '3600000'))
  await ask(client, 'ID.LEASE', 'event', 'HOLDER', 'two', 'TTL', '900000')
  const { token } = (await http(server, '/v1/tokens', credentials, {
    user: 'alice',
    label: 'build',
    rules: [],
  })) as { token: string }
  await client.close()
  return { token, lease: String(claimed.get('lease')) }
}

/** What the store has, as a node tells it; without what a node counts. */
async function contents(server: FahaoServer): Promise<Record<string, unknown>> {
  const client = await admin(server)
  const told: Record<string, unknown> = {}
  for (const name of drawn) {
    const info = fieldsOf(await ask(client, 'ID.INFO', name))
    told[name] = ['incarnation', ...optionNames].map((option) => `${option} ${info.get(option)}`)
  }
  for (const words of [['ID.LIST'], ['ACL', 'LIST'], ['ID.NAMESPACE', 'LIST'], ['ID.WORKER', 'LIST', 'pool']])
    told[words.join(' ')] = textOf(await ask(client, ...words)).replace(counted, '')
  const leases = (await ask(client, 'ID.LEASES')) as RawReply[]
  told.leases = leases.map(fieldsOf).filter((lease) => lease.get('by') === 'caller')
  const { tokens } = (await http(server, '/v1/tokens')) as { tokens: { id: string; label: string }[] }
  told.tokens = tokens.map(({ id, label }) => `${id} ${label}`)
  await client.close()
  return told
}

function fieldsOf(reply: RawReply): Map<string, string> {
  const flat = reply as RawReply[]
  const pairs = flat.flatMap((name, at) => (at % 2 === 0 ? [[String(name), textOf(flat[at + 1]!)]] : []))
  return new Map(pairs as [string, string][])
}

function textOf(reply: RawReply): string {
  if (typeof reply === 'string') return reply
  return JSON.stringify(reply, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

test('what one version has stored is there in the other, and ids go on above', async (t) => {
  const server = await startFahao(t, {
    checkout: earlier.folder,
    env: { FAHAO_ADMIN_PASSWORD: password },
    args: ['--rounding-guard', 'known'],
  })
  const { token, lease } = await fill(server)
  const stored = await contents(server)
  const newest = new Map<string, bigint>()
  const ids = new Map(hidden.map((name) => [name, new Set<bigint>()]))
  const draw = async () => {
    const client = await admin(server)
    for (const name of drawn) {
      const id = BigInt((await ask(client, 'INCR', name)) as bigint)
      if (hidden.includes(name)) {
        assert.ok(!ids.get(name)!.has(id), `${name}: ${id} twice`)
        ids.get(name)!.add(id)
      } else assert.ok(id > (newest.get(name) ?? -1n), `${name}: ${id} after ${newest.get(name)}`)
      newest.set(name, id)
    }
    await client.close()
  }
  await draw()
  for (const checkout of [undefined, earlier.folder, undefined]) {
    await server.restart({ checkout })
    assert.deepEqual(await contents(server), stored)
    await draw()
    await http(server, '/v1/generators/order/next', `Bearer ${token}`, {})
    const client = await admin(server)
    assert.ok(fieldsOf(await ask(client, 'ID.WORKER', 'RENEW', 'pool', lease)).has('ttlMs'))
    await client.close()
  }
  const client = await admin(server)
  await ask(client, 'ID.CREATE', 'dropped', 'KIND', 'sequence')
  assert.ok(BigInt((await ask(client, 'INCR', 'dropped')) as bigint) > 1n, 'a dropped name goes on above')
  await client.close()
})

test('the version before issues by the rate alone from a generator with an adaptive step', async (t) => {
  const server = await startFahao(t, { args: ['--auto-create', 'room:*=sequence'] })
  let newest = 0n
  const draw = async () => {
    const client = await server.connect()
    for (let each = 0; each < 20; each++) {
      const id = BigInt((await ask(client, 'INCR', 'room:1')) as bigint)
      assert.ok(id > newest, `${id} after ${newest}`)
      newest = id
    }
    const step = fieldsOf(await ask(client, 'ID.INFO', 'room:1')).get('step')
    await client.close()
    return step
  }
  assert.equal(await draw(), 'adaptive')
  await server.restart({ checkout: earlier.folder })
  assert.equal(await draw(), '0')
  const client = await server.connect()
  const refused = await client.command('ID.ALTER', 'room:1', 'HORIZON', '5m')
  assert.match(String(refused instanceof ReplyError && refused.text), /step/)
  await ask(client, 'ID.ALTER', 'room:1', 'HORIZON', '5m', 'STEP', '1')
  await client.close()
  await server.restart({})
  assert.equal(await draw(), '1')
})

test('a node under load is restarted with the other version: no id twice, none out of order', async (t) => {
  await restartedUnderLoad(t)
})

async function restartedUnderLoad(t: TestContext): Promise<void> {
  const server = await startFahao(t, { checkout: earlier.folder, args: ['--rounding-guard', 'known'] })
  const kinds = { order: 'sequence', stamp: 'timestamp', user: 'segment', event: 'snowflake' }
  const client = await server.connect()
  for (const [name, kind] of Object.entries(kinds)) await ask(client, 'ID.CREATE', name, 'KIND', kind)
  await client.close()
  const load = new FollowingLoad(t, [server.resp])
  load.start(
    Object.keys(kinds).flatMap((generator) =>
      Array<FollowingAsk>(2).fill({ generator, command: ['ID.NEXT', generator], restMs: restOf(1) }),
    ),
  )
  const progress = () => {
    const counts = Object.keys(kinds).map((name) => [name, load.journal(name).count] as const)
    return eventually('a client gets no ids', async () => {
      return counts.every(([name, count]) => load.journal(name).count > count + 50) || undefined
    })
  }
  await progress()
  for (const checkout of [undefined, earlier.folder]) {
    await server.restart({ checkout })
    await progress()
  }
  await load.stop()
  const longestMs = Math.max(...load.waits.map(({ wantedUs, receivedUs }) => (receivedUs - wantedUs) / 1000))
  t.diagnostic(`longest wait ${longestMs.toFixed(0)} ms`)
  judge(t, load, ['order', 'stamp'], { name: 'a node of another version', rounds: 2 })
  assert.deepEqual([...load.errorTexts.values()], [], 'errors that clients saw')
}
