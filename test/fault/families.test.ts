/**
 * Names of families while their nodes are killed, and while their sections move between nodes: each name keeps strict order, and
 * no id is issued twice, although nothing is stored of a name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { encodeCommand, RawClient } from '../launch/raw-client.ts'
import { judge, restOf, roundsOf, runsOn } from './campaign.ts'
import { clusterEngines } from './cluster-engines.ts'
import { FollowingLoad } from './cluster-load.ts'
import { connectTo, startCluster } from './cluster-nodes.ts'
import { databases } from './databases.ts'
import { Journal } from './journal.ts'
import { nowUs } from './load.ts'
import { tracedFromStart } from './trace.ts'

/** Many sections with one name, and one section with many. */
const names = Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? `room:${at}` : `room:{a}${at}`))
const common = ['--log-level', 'warn']
/** Where the server is killed: at any moment, or while every answer of the disk comes late. */
const wrappers = [() => [], () => tracedFromStart('fsync,fdatasync:delay_exit=15000:when=8+')]

test('a server with a family that is killed repeats nothing, and each name goes on above its ids', async (t) => {
  const server = await startFahao(t, { args: common })
  const creator = await server.connect()
  assert.equal(await creator.command('ID.CREATE', 'room:*', 'FAMILY'), 'OK')
  await creator.close()
  const journals = new Map(names.map((name) => [name, new Journal()]))
  let connections = 0
  let count = 0

  /** Asks for names in pipelines until the server is gone. */
  async function pull(): Promise<void> {
    const connection = ++connections
    const client = await RawClient.connect(server.resp)
    try {
      for (let from = connection * 31; ; from += 37) {
        const wanted = Array.from({ length: 64 }, (_, at) => names[(from + at * at) % names.length]!)
        const sentUs = nowUs()
        client.send(Buffer.concat(wanted.map((name) => encodeCommand(['INCR', name]))))
        for (const name of wanted) {
          const reply = await client.read()
          assert.equal(typeof reply, 'bigint', String(reply))
          journals.get(name)!.add({ ids: [reply as bigint], sentUs, receivedUs: nowUs(), connection })
          count++
        }
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
    } finally {
      await client.close()
    }
  }

  const rounds = roundsOf(6)
  for (let round = 0; round < rounds; round++) {
    const before = count
    await server.restart({ wrapper: wrappers[round % wrappers.length]!(), args: common })
    const pulling = Array.from({ length: 3 }, pull)
    while (count === before && server.process.exit() === undefined) await pause(2)
    await pause(Math.random() * 300)
    await server.kill('SIGKILL')
    await Promise.all(pulling)
    assert.ok(count > before, 'ids were issued before the kill')
  }
  judge(t, { journals, count }, names, { name: 'kill -9 with a family', rounds })
})

for (const [name, start] of Object.entries(clusterEngines)) {
  if (!runsOn(name, ['PostgreSQL', 'etcd'])) continue
  test(`a cluster on ${name} keeps each name of a family in order while sections move and a leader is killed`, {
    timeout: 600_000,
  }, async (t) => {
    const cluster = await startCluster(t, await start(t), { leaseMs: 1500 })
    await cluster.untilSettled()
    const client = await connectTo(cluster.nodes[0]!)
    assert.equal(await client.command('ID.CREATE', 'room:*', 'FAMILY'), 'OK')
    await client.close()
    const asked = names.slice(0, 40)
    const load = new FollowingLoad(t, cluster.ports)
    load.start(
      [...asked, ...asked.slice(0, 10)].map((generator, at) => ({
        generator,
        command: at % 5 === 4 ? ['ID.NEXT', generator, 'COUNT', 3] : ['INCR', generator],
        restMs: restOf(1),
        patienceMs: 1000,
      })),
    )
    const rounds = roundsOf(8, 0.5)
    for (let round = 0; round < rounds; round++) {
      const name = asked[(round * 7) % asked.length]!
      const leader = await cluster.untilLed(name)
      const next = cluster.nodes[(cluster.nodes.indexOf(leader) + 1) % cluster.nodes.length]!
      if (round % 4 === 3) {
        await leader.server.kill('SIGKILL')
        await pause(200)
        await leader.server.start()
        await cluster.untilComplete()
      } else await cluster.move(name, next)
      const before = load.count
      while (load.count < before + 500) await pause(10)
    }
    await load.stop()
    judge(t, load, asked, { name: `a family on ${name}`, rounds })
  })
}

for (const [name, start] of Object.entries(databases)) {
  if (!runsOn(name, ['PostgreSQL'])) continue
  test(`a fleet without leaders on ${name} keeps each name of a family in order across its nodes`, async (t) => {
    const engine = await (await start(t)).newDatabase()
    const nodes = await Promise.all([1, 2, 3].map(() => startFahao(t, { engine, args: common })))
    const client = await nodes[0]!.connect()
    assert.equal(await client.command('ID.CREATE', 'room:*', 'FAMILY'), 'OK')
    await client.close()
    const asked = names.slice(0, 20)
    const load = new FollowingLoad(
      t,
      nodes.map(({ resp }) => resp),
    )
    // Each name is asked of all three nodes, some of them with other names of its section.
    load.start(
      [...asked, ...asked.slice(1), ...asked.slice(2)].map((generator, at) => ({
        generator,
        command: at % 5 === 4 ? ['INCRBY', generator, 3] : ['INCR', generator],
        restMs: restOf(1),
      })),
    )
    const rounds = roundsOf(2, 0.5)
    for (let round = 0; round < rounds; round++) {
      const before = load.count
      while (load.count < before + 1000) await pause(10)
      await nodes[1]!.kill('SIGKILL')
      await nodes[1]!.start()
    }
    await load.stop()
    judge(t, load, asked, { name: `a fleet with a family on ${name}`, rounds })
  })
}
