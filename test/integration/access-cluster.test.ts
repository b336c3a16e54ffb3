/**
 * Quotas and tokens of a cluster: ids of strict kinds are charged at the leader, wherever the request arrives, and what a
 * token may do less than its user holds for forwarded requests too.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startCluster } from '../launch/cluster.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort } from '../launch/places.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'

const scope = new Scope()
/** The first forwards RESP, the second does not; both forward HTTP. */
let nodes: readonly FahaoServer[]
/** On each node IdBuilder's and tinyid's API have an address of their own, and the user 'bound'. */
const builders: string[] = []
const tinyids: string[] = []
const admins: RawClient[] = []

const credentials = (user: string) => `Basic ${btoa(`${user}:secret`)}`
const textOf = (reply: RawReply) => (reply instanceof ReplyError ? reply.text : String(reply))

async function as(node: FahaoServer, user: string): Promise<RawClient> {
  const client = await node.connect()
  assert.equal(await client.command('AUTH', user, 'secret'), 'OK')
  return client
}

/** One HTTP request. */
async function http(url: string, authorization?: string, method = 'POST', body?: object) {
  const headers = {
    ...(authorization !== undefined && { authorization }),
    ...(body && { 'content-type': 'application/json' }),
  }
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

const next = (node: FahaoServer, name: string, authorization: string, count = 1) =>
  http(`${node.http}/v1/generators/${name}/next?count=${count}`, authorization)

/** Waits until a request has this outcome on every node: a change is in force within a second. */
async function everywhere(isSo: (node: FahaoServer, index: number) => Promise<boolean>): Promise<void> {
  for (const [index, node] of nodes.entries()) while (!(await isSo(node, index))) await pause(10)
}

/** Sets a namespace, or drops it without limits, and waits until all nodes know. */
async function namespace(name: string, ...limits: string[]): Promise<void> {
  const words = limits.length === 0 ? ['DROP', name] : ['SET', name, ...limits]
  const reply = textOf(await admins[0]!.command('ID.NAMESPACE', ...words))
  assert.equal(reply, limits.length === 0 ? '1' : 'OK')
  await everywhere(async (_, index) => {
    const known = await admins[index]!.command('ID.NAMESPACE', 'GET', name)
    return (known === null) === (limits.length === 0)
  })
}

/** What a node has counted for a namespace. */
async function counted(index: number, name: string): Promise<{ issued: number; refused: number }> {
  const { text } = await http(`${nodes[index]!.http}/v1/namespaces/${name}`, credentials('admin'), 'GET')
  const { issued, refused } = JSON.parse(text).here
  return { issued, refused }
}

/** Creates generators until each node leads one that begins with `prefix`; the names in the order of the nodes. */
async function ledByEach(prefix: string): Promise<[string, string]> {
  const led: string[] = []
  for (let index = 0; led.filter(Boolean).length < 2; index++) {
    const name = `${prefix}:${index}`
    const created = textOf(await admins[0]!.command('ID.CREATE', name, 'KIND', 'sequence'))
    assert.equal(created, 'OK')
    const reply = textOf(await admins[1]!.command('INCR', name))
    led[reply.startsWith('MOVED ') ? 0 : 1] ??= name
  }
  // Each has issued its first id: the test begins with the second.
  assert.equal(textOf(await admins[0]!.command('INCR', led[0]!)), '1')
  return led as [string, string]
}

before(async () => {
  const own: string[][] = []
  for (let index = 0; index < 2; index++) {
    const [idBuilder, tinyid] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
    builders.push(`http://${idBuilder}/id-builder/increase-seq-id`)
    tinyids.push(`http://${tinyid}/tinyid/id/nextIdSimple`)
    own.push([
      ...['--compat', 'leaf', '--compat-http', `idbuilder=${idBuilder}`, '--compat-http', `tinyid=${tinyid}`],
      ...['--compat-user', 'idbuilder=bound', '--compat-user', 'tinyid=bound'],
    ])
  }
  nodes = await startCluster(scope, [['--forward', ...own[0]!], own[1]!])
  const first = await nodes[0]!.connect()
  assert.equal(await first.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all'), 'OK')
  admins.push(await as(nodes[0]!, 'admin'))
  for (const user of ['alice', 'bob'])
    await admins[0]!.command('ACL', 'SETUSER', user, 'on', '>secret', '~*', '+@issue', '+id.info')
  await admins[0]!.command('ACL', 'SETUSER', 'bound', 'on', '>secret', '~bound:*', '+id.next')
  await everywhere(async ({ http: base }) => {
    return (await http(`${base}/v1/generators`, credentials('bound'), 'GET')).status === 403
  })
  admins.push(await as(nodes[1]!, 'admin'))
})
after(() => scope.end())

describe('a quota on generators of a strict kind', () => {
  test('is counted at each leader, whichever node is asked, over RESP and HTTP together', async () => {
    const led = await ledByEach('team')
    await namespace('team', 'MATCH', 'team:*', 'OWNER', 'team-a', 'DAILY', '5')
    const refusal =
      /^QUOTA namespace 'team' of team-a may issue 5 ids a day on this node, and 0 are left until midnight UTC; retry in \d+(h|m|s)/
    const [forwarding, other] = [await as(nodes[0]!, 'alice'), await as(nodes[1]!, 'alice')]
    // Five ids of what the second node leads: two through the first over RESP, two over HTTP, one from the second.
    assert.equal(textOf(await forwarding.command('INCR', led[1])), '2')
    assert.equal(textOf(await forwarding.command('ID.NEXT', led[1])), '3')
    assert.equal((await next(nodes[0]!, led[1], credentials('alice'), 2)).text, '{"ids":["4","5"]}\n')
    assert.equal(textOf(await other.command('INCR', led[1])), '6')
    assert.deepEqual(await counted(1, 'team'), { issued: 5, refused: 0 })
    assert.deepEqual(await counted(0, 'team'), { issued: 0, refused: 0 })

    // The refusal reaches the client through both nodes, with the time to wait.
    for (const client of [forwarding, other]) {
      for (const words of [
        ['INCR', led[1]],
        ['ID.NEXT', led[1], 'COUNT', '2'],
        ['INCRBY', led[1], '3'],
      ])
        assert.match(textOf(await client.command(...words)), refusal)
    }
    for (const node of nodes) {
      const refused = await next(node, led[1], credentials('bob'))
      assert.equal(refused.status, 429)
      const { code, detail, retryAfterMs } = JSON.parse(refused.text)
      assert.equal(code, 'QUOTA')
      assert.match(`QUOTA ${detail}`, refusal)
      const seconds = Number(refused.headers.get('retry-after'))
      assert.ok(seconds > 0 && seconds <= 86_400, `retry after ${seconds} s`)
      assert.ok(retryAfterMs === undefined || retryAfterMs <= seconds * 1000)
    }
    assert.deepEqual(await counted(1, 'team'), { issued: 5, refused: 8 })

    // The leader of the others has its own five.
    assert.deepEqual(await counted(0, 'team'), { issued: 0, refused: 0 })
    assert.match(textOf(await other.command('INCR', led[0])), /^MOVED /)
    assert.equal((await next(nodes[1]!, led[0], credentials('bob'), 5)).status, 200)
    assert.match(textOf(await forwarding.command('INCR', led[0])), refusal)
    assert.deepEqual(await counted(0, 'team'), { issued: 5, refused: 1 })
    // A node without any left sends clients to the leader, rather than refuse what it does not issue.
    assert.match(textOf(await other.command('INCR', led[0])), /^MOVED /)

    await namespace('team')
    assert.equal(
      textOf(await forwarding.command('INCR', led[1])),
      '7',
      'no refused request has used up an id',
    )
    assert.equal(textOf(await forwarding.command('INCR', led[0])), '7')
  })

  test('of a user counts what other nodes forward of that user, and of no other', async () => {
    const [, name] = await ledByEach('personal')
    await namespace('alice', 'MATCH', '*', 'USER', 'alice', 'DAILY', '3')
    const [alice, bob] = [await as(nodes[0]!, 'alice'), await as(nodes[0]!, 'bob')]
    for (const id of ['2', '3']) assert.equal(textOf(await alice.command('INCR', name)), id)
    assert.equal((await next(nodes[0]!, name, credentials('alice'))).status, 200)
    assert.match(textOf(await alice.command('INCR', name)), /^QUOTA namespace 'alice' may issue 3 ids a day/)
    assert.equal((await next(nodes[0]!, name, credentials('alice'))).status, 429)
    assert.match(textOf(await (await as(nodes[1]!, 'alice')).command('INCR', name)), /^QUOTA /)
    assert.equal(textOf(await bob.command('INCR', name)), '5')
    assert.equal((await next(nodes[0]!, name, credentials('bob'))).text, '{"ids":["6"]}\n')
    await namespace('alice')
  })

  test('of one generator leaves the others of its leader alone, and its time to wait is true', async () => {
    const [, name] = await ledByEach('busy')
    const [, neighbour] = await ledByEach('quiet')
    const client = await as(nodes[0]!, 'alice')
    // The connection between the nodes has issued from it before.
    for (const id of ['2', '3']) assert.equal(textOf(await client.command('INCR', name)), id)
    await namespace('busy', 'MATCH', name, 'RATE', '2')
    for (const id of ['4', '5']) assert.equal(textOf(await client.command('INCR', name)), id)
    const refused = textOf(await client.command('INCR', name))
    const waitMs = Number(/; retry in (\d+) ms$/.exec(refused)?.[1])
    assert.ok(waitMs > 0 && waitMs <= 500, refused)
    assert.equal(textOf(await client.command('INCR', neighbour)), '2')
    await pause(waitMs)
    assert.equal(textOf(await client.command('INCR', name)), '6')
    assert.match(textOf(await client.command('ID.NEXT', name, 'COUNT', '3')), /^LIMIT namespace 'busy'/)
    await namespace('busy')
    for (const id of ['7', '8', '9']) assert.equal(textOf(await client.command('INCR', name)), id)
  })
})

describe('a token in a cluster', () => {
  /** Creates a token of alice. */
  async function token(rules: readonly string[], expires = '1h'): Promise<{ token: string; id: string }> {
    const body = { user: 'alice', rules, expires }
    const created = await http(`${nodes[0]!.http}/v1/tokens`, credentials('admin'), 'POST', body)
    assert.equal(created.status, 201, created.text)
    return JSON.parse(created.text)
  }

  test('opens on every node what its rules permit, from every leader, and nothing else', async () => {
    const [own, foreign] = [await ledByEach('own'), await ledByEach('foreign')]
    const { token: text } = await token(['~own:*', '+id.next'])
    const bearer = `Bearer ${text}`
    await everywhere(async (node) => (await next(node, own[0], bearer)).status === 200)
    for (const node of nodes) {
      for (const [index, name] of own.entries()) {
        assert.equal((await next(node, name, bearer)).status, 200)
        const leaf = `${node.http}/api/segment/get`
        assert.match((await http(`${leaf}/${name}?access_token=${text}`, undefined, 'GET')).text, /^\d+$/)
        const tinyid = `${tinyids[nodes.indexOf(node)]}?token=${text}&bizType=`
        assert.match((await http(tinyid + name, undefined, 'GET')).text, /^\d+$/)

        const before = textOf(await admins[0]!.command('INCR', foreign[index]!))
        for (const refused of [
          await next(node, foreign[index]!, bearer),
          await http(`${node.http}/v1/generators/${name}/range?count=2`, bearer),
          await http(`${node.http}/v1/generators/${name}`, bearer, 'DELETE'),
          await http(`${node.http}/v1/generators/${name}`, bearer, 'GET'),
          await http(`${leaf}/${foreign[index]}?access_token=${text}`, undefined, 'GET'),
        ])
          assert.equal(refused.status, 403, refused.text)
        assert.equal((await http(tinyid + foreign[index], undefined, 'GET')).text, '')
        assert.equal(textOf(await admins[0]!.command('INCR', foreign[index]!)), String(Number(before) + 1))
      }
    }
  })

  test('keeps its rules as the password of a RESP connection whose requests are forwarded', async () => {
    const [own, foreign] = [await ledByEach('kept'), await ledByEach('alien')]
    const { token: text } = await token(['~kept:*', '+incr'])
    const client = await nodes[0]!.connect()
    while (textOf(await client.command('AUTH', 'alice', text)) !== 'OK') await pause(10)
    // The connection to the leader is one of alice, that requests with her password use too.
    const alice = await as(nodes[0]!, 'alice')
    for (const [index, name] of own.entries()) {
      assert.match(textOf(await client.command('INCR', name)), /^\d+$/)
      assert.match(textOf(await alice.command('INCR', foreign[index]!)), /^\d+$/)
      assert.equal(
        textOf(await client.command('INCR', foreign[index]!)),
        'NOPERM No permissions to access a key',
      )
      assert.match(textOf(await client.command('ID.NEXT', name)), /^NOPERM User alice has no permissions/)
    }
  })

  test('is refused on all nodes once it has expired, or was revoked on one', async () => {
    const led = await ledByEach('over')
    const [short, revoked] = [await token([], '2s'), await token([])]
    await everywhere(async (node) => (await next(node, led[0], `Bearer ${revoked.token}`)).status === 200)
    const resp = await nodes[0]!.connect()
    assert.equal(await resp.command('AUTH', 'alice', revoked.token), 'OK')
    assert.match(textOf(await resp.command('INCR', led[1])), /^\d+$/)
    const deleted = await http(`${nodes[1]!.http}/v1/tokens/${revoked.id}`, credentials('admin'), 'DELETE')
    assert.equal(deleted.status, 204)
    await resp.closed
    for (const { token: text } of [revoked, short]) {
      await everywhere(async (node) => (await next(node, led[0], `Bearer ${text}`)).status === 401)
      const before: RawReply[] = []
      for (const name of led) before.push(await admins[0]!.command('INCR', name))
      for (const node of nodes) {
        for (const name of led) {
          assert.equal((await next(node, name, `Bearer ${text}`)).status, 401)
          const leaf = `${node.http}/api/segment/get/${name}?access_token=${text}`
          assert.equal((await http(leaf, undefined, 'GET')).status, 401)
          const tinyid = `${tinyids[nodes.indexOf(node)]}?token=${text}&bizType=${name}`
          assert.equal((await http(tinyid, undefined, 'GET')).text, '')
        }
      }
      for (const [index, name] of led.entries())
        assert.equal(await admins[0]!.command('INCR', name), (before[index] as bigint) + 1n)
    }
  })
})

describe('an API with an address and a user of its own', () => {
  test('issues from every leader what that user may name, and no more at the leader', async () => {
    const [own, foreign] = [await ledByEach('bound'), await ledByEach('unbound')]
    for (const [index, node] of nodes.entries()) {
      for (const name of own) {
        for (const url of [`${builders[index]}?code=${name}`, `${tinyids[index]}?bizType=${name}`]) {
          const answer = await http(url, undefined, 'GET')
          assert.match(answer.text, /^\d+$/, `${answer.status} ${answer.text}`)
        }
      }
      for (const name of foreign) {
        const refused = await http(`${builders[index]}?code=${name}`, undefined, 'GET')
        assert.equal(refused.status, 403, refused.text)
        assert.equal((await http(`${tinyids[index]}?bizType=${name}`, undefined, 'GET')).text, '')
        // Not by claiming that another node has checked the request.
        const headers = { 'fahao-forwarded': '1' }
        assert.equal((await fetch(`${builders[index]}?code=${name}`, { headers })).status, 403)
      }
      // The address that nodes forward to has these paths for nodes only.
      for (const [path, status] of [
        [`id-builder/increase-seq-id?code=${own[0]}`, 401],
        [`tinyid/id/nextId?bizType=${own[0]}`, 404],
      ] as const) {
        const headers = { 'fahao-forwarded': '1' }
        const known = { ...headers, authorization: credentials('admin') }
        assert.equal((await fetch(`${node.http}/${path}`, { headers: known })).status, 404)
        assert.equal((await fetch(`${node.http}/${path}`, { headers })).status, status)
      }
    }
    for (const name of own) assert.equal(textOf(await admins[0]!.command('INCR', name)), '6')
    for (const name of foreign) assert.equal(textOf(await admins[0]!.command('INCR', name)), '2')
  })
})
