/** How long `fahao import` takes with a large table of an old service. */
import { join } from 'node:path'
import type { DatabaseServer } from '../test/launch/database.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { temporaryFolder } from '../test/launch/places.ts'
import { startPostgres } from '../test/launch/postgres.ts'
import { runProgram } from '../test/launch/program.ts'
import { oldDatabase } from '../test/legacy/database.ts'
import { createTables } from '../test/legacy/tables.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, spreadOf } from './rounds.ts'

const secondsMost = 60
const rowsPerStatement = 1000

/** Rows of Leaf into the same database, and into SQLite. */
export async function legacyImport(lifetime: Lifetime, { quick }: Effort): Promise<Section> {
  const rows = quick ? 10_000 : 100_000
  const figures: Figure[] = []
  for (const server of [await startMariaDb(lifetime), await startPostgres(lifetime)]) {
    for (const into of ['the same database', 'SQLite']) {
      const plain = await leafTable(lifetime, server, rows)
      const target = into === 'SQLite' ? `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}` : plain
      const fromMs = performance.now()
      const args = ['import', '--from', `${plain}?schema=leaf`, '--into', target, '--old-nodes-stopped']
      await runProgram([process.execPath, join(import.meta.dirname, '../dist/fahao.js'), ...args])
      figures.push({
        what: `from ${server.kind} into ${into}`,
        unit: 's',
        budget: { most: quick ? secondsMost / 10 : secondsMost },
        ...spreadOf([(performance.now() - fromMs) / 1000]),
      })
    }
  }
  return {
    name: `Import of ${rows.toLocaleString('en-US')} rows`,
    how: '`fahao import` of `leaf_alloc`, from its start to its end; one run each.',
    figures,
  }
}

/** A database with the table; returns its URL. */
async function leafTable(lifetime: Lifetime, server: DatabaseServer, rows: number): Promise<string> {
  const plain = await server.newDatabase()
  const { send, dialect } = oldDatabase(lifetime, plain)
  await createTables(send, dialect, 'leaf')
  for (let from = 0; from < rows; from += rowsPerStatement) {
    const values = Array.from({ length: Math.min(rowsPerStatement, rows - from) }, (_, at) => {
      const tag = from + at
      return `('tag-${tag}', ${tag * 1000}, 1000)`
    })
    await send(`INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ${values.join(', ')}`)
  }
  return plain
}
