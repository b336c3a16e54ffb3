/** A cluster on etcd. */
import { startEtcd } from '../launch/etcd.ts'
import { describeCluster } from './cluster-scenario.ts'

describeCluster('etcd', async (lifetime) => (await startEtcd(lifetime)).url('cluster'))
