/**
 * An engine on the tables of an old service keeps the contract of the engine for everything but the rows of those tables.
 * One server shows it: what differs between servers is the SQL of rows, which the files beside this one run on both.
 */
import { after } from 'node:test'
import { openAnyEngine } from '../../../src/legacy/open.ts'
import { describeEngine } from '../../conformance/describeEngine.ts'
import { databaseStores } from '../../conformance/store-under-test.ts'
import { startMariaDb } from '../../launch/mariadb.ts'
import { oldDatabase } from '../../legacy/database.ts'
import { createTables } from '../../legacy/tables.ts'

const server = await startMariaDb({ after })

describeEngine(
  databaseStores(server, openAnyEngine, async (lifetime, url) => {
    const { send, dialect } = oldDatabase(lifetime, url)
    await createTables(send, dialect, 'tinyid')
    return `${url}?schema=tinyid`
  }),
)
