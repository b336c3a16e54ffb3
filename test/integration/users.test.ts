/** Users of two processes on one file. */
import { join } from 'node:path'
import { temporaryFolder } from '../launch/places.ts'
import { describeUsers } from './users-everywhere.ts'

describeUsers('SQLite', 2, async (lifetime) => ({
  url: `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`,
}))
