/** Redis Cluster's clients as they come from the registry, and clients that know no clusters, on three nodes. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, type TestContext, test } from 'node:test'
import { promisify, stripVTControlCharacters } from 'node:util'
import { Cluster } from 'ioredis'
import { createCluster, type RespVersions } from 'redis'
import { settled, startCluster, until, viewOf } from '../launch/cluster.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { runProgram } from '../launch/program.ts'
import { encodeCommand } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { assertGapless, assertIncreasing } from './examples.ts'

const scope = new Scope()
const compat = ['--compat', 'leaf', '--compat', 'idbuilder']
/** Some for every node: 40 names over 16 shards. */
const names = Array.from({ length: 40 }, (_, at) => `order:${at}`)
let nodes: readonly FahaoServer[]
/** The node that forwards; the others send clients away. */
let forwarding: FahaoServer

before(async () => {
  nodes = await startCluster(scope, [compat, compat, [...compat, '--forward']])
  forwarding = nodes[2]!
  const client = await forwarding.connect()
  for (const name of [...names, 'drawn', 'moved', 'lone']) {
    assert.equal(await client.command('ID.CREATE', name, 'KIND', 'sequence'), 'OK')
  }
  assert.equal(await client.command('ID.CREATE', 'event', 'KIND', 'snowflake'), 'OK')
  await client.close()
})
after(() => scope.end())

function ioredis(t: TestContext, options: ConstructorParameters<typeof Cluster>[1] = {}): Cluster {
  const client = new Cluster([{ host: '127.0.0.1', port: nodes[0]!.resp }], options)
  client.on('error', () => {})
  t.after(() => client.disconnect())
  return client
}

describe('ioredis Cluster', () => {
  for (const protocol of [2, 3] as const) {
    test(`finds the leaders of all generators over RESP${protocol}, and counts`, async (t) => {
      const client = ioredis(t, { redisOptions: { protocol } })
      for (const name of names) {
        const first = await client.incr(name)
        assertGapless([first, await client.incr(name), await client.incr(name)], BigInt(first))
        assert.equal(await client.get(name), String(first + 2))
      }
      assert.equal(client.nodes('master').length, 3)
    })
  }

  test('reads no older ids from others than the leader, whatever it is told of replicas', async (t) => {
    const client = ioredis(t, { scaleReads: 'all' })
    for (const name of names.slice(0, 10)) {
      const id = await client.incr(name)
      assert.equal(await client.get(name), String(id))
    }
  })

  test('draws in transactions, which go to the leader', async (t) => {
    const client = ioredis(t)
    for (const name of names.slice(0, 10)) {
      const replies = await client.multi().incr(name).incr(name).get(name).exec()
      const [first, second, newest] = replies!.map(([error, reply]) => error ?? reply)
      assert.deepEqual([second, newest], [(first as number) + 1, String(second)])
    }
  })

  test('draws in pipelines, and without pause while a leader is demoted, without an error', async (t) => {
    const client = ioredis(t)
    const { leader } = await shardOf('drawn')
    const demoted = nodes[await indexOf(leader)]!
    let stop = false
    const ids: number[] = []
    const drawing = (async () => {
      while (!stop) ids.push(await client.incr('drawn'))
    })()
    const admin = await demoted.connect()
    assert.equal(await admin.command('CLUSTER', 'FAILOVER'), 'OK')
    await until(nodes, (view) => view.nodes.some(({ leads }) => leads === 0))
    assert.equal(await admin.command('CLUSTER', 'FAILOVER', 'TAKEOVER'), 'OK')
    await settled(nodes)
    stop = true
    await drawing
    assert.ok(ids.length > 10)
    assertIncreasing(ids)
  })
})

describe('node-redis createCluster', () => {
  for (const RESP of [2, 3] as const) {
    test(`finds the leaders of all generators over RESP${RESP}`, async (t) => {
      const client = createCluster({
        RESP: RESP as RespVersions,
        rootNodes: [{ url: `redis://127.0.0.1:${nodes[1]!.resp}` }],
      })
      client.on('error', () => {})
      await client.connect()
      t.after(() => client.destroy())
      for (const name of names)
        assertIncreasing([await client.incr(name), await client.incr(name)] as number[])
    })
  }
})

describe('redis-cli', () => {
  const cli = (node: FahaoServer, ...args: string[]) =>
    runProgram(['redis-cli', '-p', `${node.resp}`, ...args])

  test('-c follows to the leader', async () => {
    for (const name of names.slice(0, 6)) {
      const ids = []
      for (const node of nodes) ids.push((await cli(node, '-c', 'INCR', name)).trim())
      assertIncreasing(ids)
    }
  })

  test('--cluster check finds all slots covered, and the nodes of one mind', async () => {
    for (const node of nodes) {
      const report = stripVTControlCharacters(
        await runProgram(['redis-cli', '--cluster', 'check', `127.0.0.1:${node.resp}`]),
      )
      assert.match(report, /\[OK\] All nodes agree about slots configuration/)
      assert.match(report, /\[OK\] All 16384 slots covered/)
      assert.doesNotMatch(report, /ERR|WARN/)
    }
  })

  test('needs no -c on a node that forwards', async () => {
    for (const name of names.slice(0, 6)) {
      const id = BigInt((await cli(forwarding, 'INCR', name)).trim())
      assert.equal((await cli(forwarding, 'ID.NEXT', name)).trim(), String(id + 1n))
      assert.equal((await cli(forwarding, '-3', 'GET', name)).trim(), String(id + 1n))
    }
  })
})

describe('a client that knows no clusters', () => {
  test('is told who leads, and that one answers', async () => {
    for (const name of names) {
      const [here, there] = await Promise.all([nodes[0]!, nodes[1]!].map((node) => node.connect()))
      const replies = [await here!.command('INCR', name), await there!.command('INCR', name)]
      const moved = replies.filter((reply) => reply instanceof ReplyError)
      assert.ok(moved.length >= 1, 'two nodes do not lead the same')
      const slot = await here!.command('CLUSTER', 'KEYSLOT', name)
      for (const { text } of moved) {
        const [, given, port] = /^MOVED (\d+) 127\.0\.0\.1:(\d+)$/.exec(text)!
        assert.equal(BigInt(given!), slot)
        const leader = await nodes.find(({ resp }) => resp === Number(port))!.connect()
        assert.equal(typeof (await leader.command('INCR', name)), 'bigint')
        await leader.close()
      }
      await Promise.all([here!.close(), there!.close()])
    }
  })

  test('gets the replies of a pipeline in its order from a node that forwards', async () => {
    const client = await forwarding.connect()
    const first = new Map<string, bigint>()
    for (const name of names) first.set(name, (await client.command('INCR', name)) as bigint)
    const order = Array.from({ length: 2000 }, (_, at) => names[(at * 7) % names.length]!)
    client.send(Buffer.concat(order.map((name) => encodeCommand(['INCR', name]))))
    const replies = await client.readMany(order.length)
    order.forEach((name, at) => {
      const expected = first.get(name)! + 1n
      assert.equal(replies[at], expected, `${name} at ${at}`)
      first.set(name, expected)
    })
    await client.close()
  })

  test('gets the replies of a transaction over all leaders from a node that forwards, and MOVED from others', async () => {
    const client = await forwarding.connect()
    const newest = new Map<string, bigint>()
    for (const name of names) newest.set(name, (await client.command('INCR', name)) as bigint)
    assert.equal(await client.command('MULTI'), 'OK')
    for (const name of names) assert.equal(await client.command('INCR', name), 'QUEUED')
    const expected = names.map((name) => newest.get(name)! + 1n)
    assert.deepEqual(await client.command('EXEC'), expected)

    const other = await nodes[0]!.connect()
    await other.command('MULTI')
    const replies = []
    for (const name of names) replies.push(await other.command('INCR', name))
    assert.ok(replies.some((reply) => reply instanceof ReplyError && reply.code === 'MOVED'))
    assert.equal(((await other.command('EXEC')) as ReplyError).code, 'EXECABORT')
    const after = []
    for (const name of names) after.push(await client.command('GET', name))
    assert.deepEqual(after, expected.map(String))
    await Promise.all([client.close(), other.close()])
  })

  test('gets snowflakes from any node, and several slots in one command from none', async () => {
    for (const node of nodes) {
      const client = await node.connect()
      assert.equal(typeof (await client.command('INCR', 'event')), 'bigint')
      const refused = (await client.command('MGET', names[0]!, names[1]!)) as ReplyError
      assert.equal(refused.text, "CROSSSLOT Keys in request don't hash to the same slot")
      await client.close()
    }
  })
})

describe('HTTP', () => {
  test('on any node gives ids in one strict order, from the native API and from Leaf’s', async () => {
    for (const name of names.slice(0, 6)) {
      const ids: string[] = []
      for (const { http } of [...nodes, ...nodes]) {
        const path = `/v1/generators/${name}`
        const next = await fetch(`${http}${path}/next`, { method: 'POST' })
        ids.push(...((await next.json()) as { ids: string[] }).ids)
        ids.push(await (await fetch(`${http}/api/segment/get/${name}`)).text())
        ids.push(await (await fetch(`${http}/id-builder/increase-seq-id?code=${name}`)).text())
      }
      assertIncreasing(ids)
    }
  })
})

describe('fahao cluster', () => {
  const fahao = async (node: FahaoServer, ...args: string[]) => {
    const entry = new URL('../../dist/fahao.js', import.meta.url).pathname
    const run = promisify(execFile)(process.execPath, [entry, 'cluster', ...args, '--url', node.http])
    return (await run).stdout
  }

  test('status shows the nodes and that all shards are led', async () => {
    const text = await fahao(nodes[1]!, 'status')
    assert.match(text, /^test: 3 nodes, 16 of 16 shards led$/m)
    for (const { resp } of nodes) assert.match(text, new RegExp(`127\\.0\\.0\\.1:${resp} .* [56]/16: `))
    const json = JSON.parse(await fahao(nodes[1]!, 'status', '--json')) as { shards: unknown[] }
    assert.equal(json.shards.length, 16)
  })

  test('move pins a shard to a node, until auto unpins it', async () => {
    const { shard, leader } = await shardOf('moved')
    const to = nodes[((await indexOf(leader)) + 1) % 3]!
    const { self } = await viewOf(to)
    const there = `127.0.0.1:${to.resp}`
    await assert.rejects(
      fahao(nodes[0]!, 'move', 'not there', there),
      /a generator’s name cannot contain white space/,
    )
    const owner = await nodes[await indexOf(leader)]!.connect()
    await owner.command('INCR', 'moved')
    await owner.close()
    assert.equal(await fahao(nodes[0]!, 'move', 'moved', there), `shard ${shard} moves to ${self}\n`)
    await until(nodes, (view) => view.shards[shard]!.leader === self)
    assert.match(await fahao(nodes[0]!, 'status'), new RegExp(`shard ${shard}: pinned to`))
    const client = await to.connect()
    assert.equal(typeof (await client.command('INCR', 'moved')), 'bigint')
    await client.close()
    await fahao(nodes[0]!, 'move', String(shard), 'auto')
    await until(nodes, (view) => view.shards[shard]!.leader === leader)
  })

  test('drain makes a node lead nothing, until it ends', async () => {
    const { self } = await viewOf(nodes[0]!)
    await fahao(nodes[0]!, 'drain')
    await until(nodes, (view) => view.nodes.find(({ id }) => id === self)?.leads === 0)
    assert.match(await fahao(nodes[1]!, 'status'), /draining/)
    await fahao(nodes[0]!, 'drain', '--end')
    await settled(nodes)
  })
})

test('a caller of a node that forwards sees no error when a leader is killed', async (t) => {
  const led = await Promise.all(
    names.map(async (name) => ({ name, at: await indexOf((await shardOf(name)).leader) })),
  )
  const { name } = led.find(({ at }) => at === 0)!
  const client = await forwarding.connect()
  const texts = await forwarding.connect()
  const callers: (() => Promise<unknown>)[] = [
    () => client.command('INCR', name),
    () => texts.command('ID.NEXT', name),
    async () => (await fetch(`${forwarding.http}/v1/generators/${name}/next`, { method: 'POST' })).status,
  ]
  const answers = callers.map((): unknown[] => [])
  let over = false
  const loops = callers.map(async (call, at) => {
    while (!over) answers[at]!.push(await call())
  })
  const answered = async (count: (at: number) => number) => {
    while (answers.some((got, at) => got.length < count(at))) await new Promise(setImmediate)
  }
  await answered(() => 20)
  t.after(async () => {
    over = true
    await nodes[0]!.restart()
    await settled(nodes)
  })
  await nodes[0]!.kill()
  const atKill = answers.map(({ length }) => length)
  // The request under way may have been answered before the kill; the one after it was not.
  await answered((at) => atKill[at]! + 2)
  over = true
  await Promise.all(loops)
  const [integers, ids, statuses] = answers as [unknown[], unknown[], unknown[]]
  assert.deepEqual(
    integers.filter((id) => typeof id !== 'bigint'),
    [],
  )
  assert.deepEqual(
    ids.filter((id) => typeof id !== 'string'),
    [],
  )
  assert.deepEqual(new Set(statuses), new Set([200]))
})

test('what a killed node led is led again, and ids go on above', async (t) => {
  const client = ioredis(t)
  const before = await client.incr('lone')
  const { leader } = await shardOf('lone')
  const killed = nodes[await indexOf(leader)]!
  await killed.kill()
  let id: number | undefined
  while (id === undefined) id = await client.incr('lone').catch(() => undefined)
  assertIncreasing([before, id])
  const rest = nodes.filter((node) => node !== killed)
  await settled(rest)
  for (const node of rest) {
    const reply = await fetch(`${node.http}/v1/generators/lone/next`, { method: 'POST' })
    assert.equal(reply.status, 200)
  }
  await killed.restart()
  await settled(nodes)
})

/** The shard of a name. */
async function shardOf(name: string) {
  const client = await nodes[0]!.connect()
  const slot = Number(await client.command('CLUSTER', 'KEYSLOT', name))
  await client.close()
  const { shards } = await viewOf(nodes[0]!)
  const found = shards.find(({ firstSlot, lastSlot }) => firstSlot <= slot && slot <= lastSlot)!
  return { ...found, leader: found.leader! }
}

/** Which of `nodes` has this id. */
async function indexOf(id: string): Promise<number> {
  const views = await Promise.all(nodes.map((node) => viewOf(node)))
  return views.findIndex(({ self }) => self === id)
}
