/** Databases that lose acknowledged writes, and lost replies: a node notices, leaves a gap, and repeats no id. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startTcpProxy } from '../launch/tcp-proxy.ts'
import { judge, roundsOf, runsOn, secondsOf, until } from './campaign.ts'
import { databaseOf, databases, through } from './databases.ts'
import {
  asks,
  assertNoticed,
  gap,
  restoredDump,
  restoreUnseen,
  startBehindProxy,
  startNodes,
  untilAllIssue,
} from './forgetting-database.ts'
import { Load } from './load.ts'

for (const [name, start] of Object.entries(databases)) {
  describe(`two nodes on a ${name} that forgets`, () => {
    if (runsOn(name, ['MariaDB']))
      test('leave a gap, and repeat nothing, where the reply of a commit is lost', {
        timeout: 900_000,
      }, async (t) => {
        const rounds = roundsOf(6)
        const { proxy, nodes } = await startBehindProxy(t, start)
        const load = new Load()
        const ports = nodes.map(({ resp }) => resp)
        load.start(ports, asks)
        for (let round = 0; round < rounds; round++) {
          const dropped = proxy.dropReplyOf((request) =>
            /UPDATE fahao_(counters|records)/.test(request.toString('latin1')),
          )
          await dropped.all
          await pause(50)
        }
        await load.stop()
        for (const code of load.errors.keys())
          assert.ok(['DRY', 'UNKNOWN', 'UNAVAILABLE'].includes(code), load.errorTexts.get(code))
        await untilAllIssue(nodes)
        judge(t, load, ['sequence'], { name: `lost replies of ${name}`, rounds })
      })

    // short/forgetting.test.ts has it on PostgreSQL.
    if (runsOn(name, ['MariaDB']))
      test(
        'notice an older dump that is restored under them, and skip what it may have forgotten',
        { timeout: 900_000 },
        (t) => restoredDump(t, name, start, roundsOf(1, 0.05)),
      )

    test('notice a replica that was promoted without the last writes, and skip those', {
      timeout: 900_000,
    }, async (t) => {
      const primary = await start(t)
      const engine = await primary.newDatabase()
      const replica = await start(t, { replicaOf: primary })
      const proxy = await startTcpProxy(t, primary.port)
      const nodes = await startNodes(t, through(engine, proxy.port), '--failover-gap', `${gap}`)
      const load = new Load()
      load.start(
        nodes.map(({ resp }) => resp),
        asks,
      )
      await untilAllIssue(nodes)
      await pause(secondsOf(700, 1500))
      await replica.catchUp()
      await replica.stopReplicating()
      await pause(secondsOf(700, 1500))
      await primary.kill()
      await replica.promote()
      proxy.retarget(replica.port)
      await untilAllIssue(nodes)
      await pause(secondsOf(700, 1500))
      await load.stop()
      assertNoticed(nodes)
      judge(t, load, ['sequence'], { name: `a replica of ${name} promoted`, rounds: 1 })
    })

    if (runsOn(name, ['PostgreSQL']))
      test('reserve nothing without a gap to skip, until an operator advances the store', {
        timeout: 900_000,
      }, async (t) => {
        const { database, engine, proxy, nodes } = await startBehindProxy(t, start)
        const load = new Load()
        const ports = nodes.map(({ resp }) => resp)
        load.start(ports, asks)
        await untilAllIssue(nodes)
        await pause(secondsOf(700, 1500))
        const dump = await database.dump(databaseOf(engine))
        await pause(secondsOf(1500, 2500))
        await restoreUnseen(proxy, () => database.restore(databaseOf(engine), dump))
        const client = await nodes[1]!.connect()
        await until(
          () => client.command('ID.NEXT', 'sequence'),
          (reply) => (reply as { code?: string }).code === 'REGRESSED',
          15_000,
        )
        const answer = await fetch(`${nodes[0]!.http}/v1/engine/advance`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ by: `${gap}` }),
        })
        assert.equal(answer.status, 200, await answer.text())
        await untilAllIssue(nodes)
        await load.stop()
        judge(t, load, ['sequence'], { name: `a dump restored under ${name}, advanced by hand`, rounds: 1 })
      })
  })
}
