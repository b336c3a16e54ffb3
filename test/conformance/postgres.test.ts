import { after } from 'node:test'
import { openEngine } from '../../src/engine/open.ts'
import { startPostgres } from '../launch/postgres.ts'
import { describeEngine } from './describeEngine.ts'

const server = await startPostgres({ after })

describeEngine({
  name: 'postgres',
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
