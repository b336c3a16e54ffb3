/** Users of a cluster: a request that a node forwards is checked where it arrives, and is of its user at the leader. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startCluster } from '../launch/cluster.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'

const scope = new Scope()
const names = Array.from({ length: 24 }, (_, index) => `order:${index}`)
/** The first forwards RESP, the second does not; both forward HTTP. */
let nodes: readonly FahaoServer[]

async function as(node: FahaoServer, user: string): Promise<RawClient> {
  const client = await RawClient.connect(node.resp, scope)
  assert.equal(await client.command('AUTH', user, 'secret'), 'OK')
  return client
}

const textOf = (reply: RawReply) => (reply instanceof ReplyError ? reply.text : String(reply))
const basic = (user: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:secret`).toString('base64')}`,
})

describe('users of a cluster', () => {
  before(async () => {
    nodes = await startCluster(scope, [
      ['--forward', '--auto-create', 'order:*=sequence'],
      ['--auto-create', 'order:*=sequence'],
    ])
    const client = await RawClient.connect(nodes[0]!.resp, scope)
    assert.equal(await client.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all'), 'OK')
    const admin = await as(nodes[0]!, 'admin')
    assert.equal(await admin.command('ACL', 'SETUSER', 'alice', 'on', '>secret', '~order:*', '+@issue'), 'OK')
    assert.equal(await admin.command('ACL', 'SETUSER', 'bob', 'on', '>secret', '~other', '+@issue'), 'OK')
    // The other node has them within a second.
    while (
      textOf(await (await RawClient.connect(nodes[1]!.resp, scope)).command('AUTH', 'bob', 'secret')) !== 'OK'
    );
  })
  after(() => scope.end())

  test('draw over RESP from every leader through a node that forwards', async () => {
    const alice = await as(nodes[0]!, 'alice')
    for (const id of ['1', '2']) {
      for (const name of names) assert.equal(textOf(await alice.command('INCR', name)), id)
    }
  })

  test('are sent to the leader by a node that does not forward', async () => {
    const alice = await as(nodes[1]!, 'alice')
    const replies: string[] = []
    for (const name of names) replies.push(textOf(await alice.command('INCR', name)))
    assert.ok(replies.some((reply) => reply.startsWith('MOVED ')))
    assert.ok(
      replies.every((reply) => reply === '3' || reply.startsWith('MOVED ')),
      replies.join(),
    )
  })

  test('draw over HTTP from every leader through any node', async () => {
    for (const node of nodes) {
      for (const name of names) {
        const url = `${node.http}/v1/generators/${name}/next`
        assert.equal((await fetch(url, { method: 'POST', headers: basic('alice') })).status, 200)
      }
    }
  })

  test('are refused where the request arrives, and use up no id', async () => {
    const bob = await as(nodes[0]!, 'bob')
    const admin = await as(nodes[0]!, 'admin')
    const before = await issued(admin)
    for (const name of names) {
      assert.equal(textOf(await bob.command('INCR', name)), 'NOPERM No permissions to access a key')
      // A connection without a login is closed after a few seconds.
      const unknown = await RawClient.connect(nodes[0]!.resp, scope)
      assert.equal(textOf(await unknown.command('INCR', name)), 'NOAUTH Authentication required.')
      for (const [headers, status] of [
        [basic('bob'), 403],
        [{}, 401],
      ] as const) {
        // A header that claims that another node has checked the request.
        const init = { method: 'POST', headers: { ...headers, 'fahao-forwarded': '1' } }
        assert.equal((await fetch(`${nodes[0]!.http}/v1/generators/${name}/next`, init)).status, status)
      }
    }
    assert.deepEqual(await issued(admin), before)
  })

  test('are counted by a namespace that is set while their requests are forwarded', async () => {
    const [here, there] = [await as(nodes[0]!, 'alice'), await as(nodes[1]!, 'alice')]
    const led: string[] = []
    for (const name of names) if (!textOf(await there.command('INCR', name)).startsWith('M')) led.push(name)
    const outcome = async () => textOf(await here.command('INCR', led[0]!)).split(' ', 1)[0]!
    for (let each = 0; each < 3; each++) assert.match(await outcome(), /^\d+$/)
    const admin = await as(nodes[0]!, 'admin')
    await admin.command('ID.NAMESPACE', 'SET', 'few', 'MATCH', led[0]!, 'DAILY', '2')
    const leader = await as(nodes[1]!, 'admin')
    while ((await leader.command('ID.NAMESPACE', 'GET', 'few')) === null);
    const outcomes = [await outcome(), await outcome(), await outcome(), await outcome()]
    assert.match(outcomes.join(), /^\d+,\d+,QUOTA,QUOTA$/)
    await admin.command('ID.NAMESPACE', 'DROP', 'few')
  })

  test('are gone from connections between nodes when they are removed', async () => {
    const alice = await as(nodes[0]!, 'alice')
    for (const name of names) assert.match(textOf(await alice.command('INCR', name)), /^\d+$/)
    const admin = await as(nodes[0]!, 'admin')
    assert.equal(textOf(await admin.command('ACL', 'DELUSER', 'alice')), '1')
    await alice.closed
  })
})

/** The newest id of each generator, as this node knows it. */
async function issued(client: RawClient): Promise<string[]> {
  const found: string[] = []
  for (const name of names) {
    const fields = ((await client.command('ID.INFO', name)) as readonly RawReply[]).map(String)
    found.push(`${name} ${fields[fields.indexOf('lastIssued') + 1]}`)
  }
  return found
}
