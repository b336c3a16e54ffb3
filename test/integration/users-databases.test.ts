/** Users of three servers on etcd. */
import { startEtcd } from '../launch/etcd.ts'
import { describeUsers } from './users-everywhere.ts'

describeUsers('etcd', 3, async (lifetime) => {
  const etcd = await startEtcd(lifetime)
  return {
    url: etcd.url('users'),
    interrupt: async () => {
      for (const member of etcd.members) member.freeze()
      return async () => {
        for (const member of etcd.members) member.thaw()
      }
    },
  }
})
