import { after } from 'node:test'
import { openEngine } from '../../src/engine/open.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { describeEngine } from './describeEngine.ts'

const server = await startMariaDb({ after })

describeEngine({
  name: 'mysql',
  async store() {
    const url = await server.newDatabase()
    return {
      url,
      open: (options) => openEngine(url, options),
      async freeze() {
        await server.freeze()
        return async () => server.thaw()
      },
    }
  },
  durable: true,
  shared: true,
  owned: 'a shared engine has no owner',
  freezes: true,
})
