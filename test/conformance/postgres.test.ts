import { after } from 'node:test'
import { openEngine } from '../../src/engine/open.ts'
import { startPostgres } from '../launch/postgres.ts'
import { describeEngine } from './describeEngine.ts'
import { databaseStores } from './store-under-test.ts'

describeEngine(databaseStores(await startPostgres({ after }), openEngine))
