import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openSqlite } from '../../src/engine/sqlite/engine.ts'
import { temporaryFolder } from '../launch/places.ts'
import { describeEngine } from './describeEngine.ts'

describeEngine({
  name: 'sqlite',
  store(lifetime) {
    const file = join(temporaryFolder(lifetime), 'fahao.db')
    return {
      url: `sqlite:${file}`,
      open: (options) => openSqlite(file, options),
      async freeze() {
        const database = new DatabaseSync(file, { timeout: 5000 })
        database.exec('BEGIN IMMEDIATE')
        return async () => database.close()
      },
    }
  },
  durable: true,
  shared: true,
  owned: true,
  freezes: true,
})
