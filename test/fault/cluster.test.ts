/**
 * A cluster of three nodes on each engine that can carry one, and what becomes of strict order in it: handed over,
 * killed, stopped, and left without answers.
 */
import { after, before, describe, test } from 'node:test'
import { Scope } from '../launch/lifetime.ts'
import { runsOn } from './campaign.ts'
import { type ClusterEngine, clusterEngines } from './cluster-engines.ts'
import { handOvers } from './cluster-handover.ts'
import { kills } from './cluster-kill.ts'
import { lostReplies } from './cluster-lost-replies.ts'
import { zombies } from './cluster-zombie.ts'

const timeout = 3_600_000

/** The campaigns, by what they show, and the engines that have them in CI. short/cluster.test.ts has the others of etcd. */
const campaigns = [
  {
    title: 'hand shards over without an error, in order, with what is left of their ids',
    run: handOvers,
    inCi: ['etcd', 'PostgreSQL'],
  },
  {
    title: 'have never two leaders, nor none for long, where answers to writes are lost',
    run: lostReplies,
    inCi: ['etcd', 'PostgreSQL'],
  },
  { title: 'lead on where a leader is killed, above all that it has issued', run: kills, inCi: ['MariaDB'] },
  {
    title: 'believe nothing of a leader that was stopped past its lease',
    run: zombies,
    inCi: ['MariaDB'],
  },
] as const

for (const [name, start] of Object.entries(clusterEngines)) {
  describe(`three nodes on ${name}`, { timeout }, () => {
    const scope = new Scope()
    let engine: ClusterEngine
    before(async () => {
      engine = await start(scope)
    })
    after(() => scope.end())

    for (const { title, run, inCi } of campaigns)
      if (runsOn(name, inCi)) test(title, { timeout }, (t) => run(t, name, engine, 1))
  })
}
