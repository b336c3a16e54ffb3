/** An engine on the tables of an old service keeps the contract of the engine for everything but the rows of those tables. */
import { after } from 'node:test'
import { openAnyEngine } from '../../../src/legacy/open.ts'
import { describeEngine } from '../../conformance/describeEngine.ts'
import { startMariaDb } from '../../launch/mariadb.ts'
import { startPostgres } from '../../launch/postgres.ts'
import { oldDatabase } from '../../legacy/database.ts'
import { createTables } from '../../legacy/tables.ts'

for (const server of [await startMariaDb({ after }), await startPostgres({ after })]) {
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
}
