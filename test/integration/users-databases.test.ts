/** Users of three servers on MariaDB, and on etcd. */
import { startEtcd } from '../launch/etcd.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { describeUsers } from './users-everywhere.ts'

describeUsers('MariaDB', 3, async (lifetime) => {
  const database = await startMariaDb(lifetime)
  return {
    url: await database.newDatabase(),
    interrupt: async () => {
      await database.freeze()
      return () => database.thaw()
    },
  }
})

describeUsers('etcd', 3, async (lifetime) => {
  const etcd = await startEtcd(lifetime)
  return {
    url: etcd.url('users'),
    interrupt: async () => {
      await Promise.all(etcd.members.map((member) => member.kill()))
      return () => etcd.start()
    },
  }
})
