/** A node of each version in one cluster with users: each forwards requests to the other, and believes whose they are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settled, until } from '../launch/cluster.ts'
import { startEtcd } from '../launch/etcd.ts'
import { startFahao } from '../launch/fahao.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { versionBefore } from './version-before.ts'

const password = 'a long password'
const headers = { authorization: `Basic ${btoa(`alice:${password}`)}` }
const names = Array.from({ length: 12 }, (_, at) => `order:${at}`)

test('nodes of two versions forward requests of users to each other, over RESP and HTTP', async (t) => {
  const earlier = await versionBefore()
  const engine = (await startEtcd(t)).url('ids')
  const args = ['--cluster', 'ids', '--shards', '4', '--forward', '--rounding-guard', 'known']
  const common = { engine, args, env: { FAHAO_ADMIN_PASSWORD: password }, readyWithinMs: 60_000 }
  const nodes = [await startFahao(t, { ...common, checkout: earlier.folder }), await startFahao(t, common)]
  const admin = { authorization: `Basic ${btoa(`admin:${password}`)}` }
  await settled(nodes, admin)

  const clients = await Promise.all(nodes.map((node) => node.connect()))
  const ask = async (at: number, ...words: string[]) => {
    const reply = await clients[at]!.command(...words)
    if (reply instanceof ReplyError) assert.fail(`${words.join(' ')}: ${reply.text}`)
    return reply
  }
  await ask(0, 'AUTH', 'admin', password)
  await ask(0, 'ACL', 'SETUSER', 'alice', 'on', `>${password}`, '~order:*', '+@issue')
  for (const name of names) await ask(0, 'ID.CREATE', name, 'KIND', 'sequence')
  // The other node hears of the user within a second.
  for (const at of [0, 1])
    while ((await clients[at]!.command('AUTH', 'alice', password)) instanceof ReplyError);
  for (const name of names) {
    const ids: bigint[] = []
    for (const at of [0, 1, 0, 1]) {
      ids.push((await ask(at, 'INCR', name)) as bigint)
      const answer = await fetch(`${nodes[at]!.http}/v1/generators/${name}/next`, { method: 'POST', headers })
      const body = (await answer.json()) as { ids: string[] }
      assert.equal(answer.status, 200, JSON.stringify(body))
      ids.push(...body.ids.map(BigInt))
    }
    assert.deepEqual(ids, [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n], name)
  }
  await until(nodes, (view) => view.nodes.every(({ leads }) => leads > 0), admin)
  await Promise.all(clients.map((client) => client.close()))
})
