/**
 * A cluster of three nodes on each engine that can carry one, and what becomes of strict order in it: handed over,
 * killed, stopped, and left without answers.
 */
import { after, before, describe, test } from 'node:test'
import { Scope } from '../launch/lifetime.ts'
import { type ClusterEngine, clusterEngines } from './cluster-engines.ts'
import { handOvers } from './cluster-handover.ts'
import { kills } from './cluster-kill.ts'
import { lostReplies } from './cluster-lost-replies.ts'
import { zombies } from './cluster-zombie.ts'

const timeout = 3_600_000

for (const [name, start] of Object.entries(clusterEngines)) {
  describe(`three nodes on ${name}`, { timeout }, () => {
    const scope = new Scope()
    let engine: ClusterEngine
    // etcd has most rounds; the others show that the engine makes no difference. `npm run test:fault` has the long form.
    const rounds = (onEtcd: number, elsewhere: number) => (name === 'etcd' ? onEtcd : elsewhere)
    before(async () => {
      engine = await start(scope)
    })
    after(() => scope.end())

    test('hand shards over without an error, in order, with what is left of their ids', { timeout }, (t) =>
      handOvers(t, name, engine, rounds(3, 1)),
    )

    test('lead on where a leader is killed, above all that it has issued', { timeout }, (t) =>
      kills(t, name, engine, rounds(2, 1)),
    )

    test('believe nothing of a leader that was stopped past its lease', { timeout }, (t) =>
      zombies(t, name, engine, rounds(2, 1)),
    )

    test('have never two leaders, nor none for long, where answers to writes are lost', { timeout }, (t) =>
      lostReplies(t, name, engine, 1),
    )
  })
}
