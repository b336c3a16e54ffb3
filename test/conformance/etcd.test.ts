import { after } from 'node:test'
import { openEngine } from '../../src/engine/open.ts'
import { startEtcd } from '../launch/etcd.ts'
import { describeEngine } from './describeEngine.ts'

const cluster = await startEtcd({ after }, { members: 3 })
let stores = 0

describeEngine({
  name: 'etcd',
  store() {
    const url = cluster.url(`store${stores++}`)
    return {
      url,
      open: (options) => openEngine(url, options),
      async freeze() {
        for (const member of cluster.members) member.freeze()
        return async () => {
          for (const member of cluster.members) member.thaw()
        }
      },
    }
  },
  durable: true,
  shared: true,
  owned: 'a shared engine has no owner',
  freezes: true,
})
