/**
 * An engine on the tables of an old service keeps the contract of the engine for everything but the rows of those tables.
 * One server shows it: what differs between servers is the SQL of rows, which the files beside this one run on both.
 */
import { after } from 'node:test'
import { openAnyEngine } from '../../../src/legacy/open.ts'
import { describeEngine } from '../../conformance/describeEngine.ts'
import { startMariaDb } from '../../launch/mariadb.ts'
import { oldDatabase } from '../../legacy/database.ts'
import { createTables } from '../../legacy/tables.ts'

const server = await startMariaDb({ after })

describeEngine({
  name: server.kind,
  async store(lifetime) {
    const plain = await server.newDatabase()
    const { send, dialect } = oldDatabase(lifetime, plain)
    await createTables(send, dialect, 'tinyid')
    const url = `${plain}?schema=tinyid`
    return {
      url,
      open: (options) => openAnyEngine(url, options),
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
