/** A cluster on etcd whose leader is killed, or stopped past its lease. */
import { after, before, describe, test } from 'node:test'
import { startEtcd } from '../../launch/etcd.ts'
import { Scope } from '../../launch/lifetime.ts'
import { secondsOf } from '../campaign.ts'
import { type ClusterEngine, onEtcd } from '../cluster-engines.ts'
import { kills } from '../cluster-kill.ts'
import { defaultLeaseMs } from '../cluster-nodes.ts'
import { zombies } from '../cluster-zombie.ts'

/** A third of the default, to wait less. */
const short = { leaseMs: secondsOf(1000, defaultLeaseMs) }

describe('three nodes on etcd, with a short lease', () => {
  const scope = new Scope()
  let etcd: ClusterEngine
  before(async () => {
    etcd = onEtcd(await startEtcd(scope))
  })
  after(() => scope.end())

  test('issue on where a leader is killed, above all that it has issued', (t) =>
    kills(t, 'etcd', etcd, 1, short))

  test('take no id from a leader that was stopped past its lease', (t) => zombies(t, 'etcd', etcd, 1, short))
})
