/**
 * Nodes of an old service and of Fahao at once on one table. LEGACY_MIX_IDS=10000000 makes each test issue that many
 * ids in all.
 */
import { after, test } from 'node:test'
import { startMariaDb } from '../../launch/mariadb.ts'
import { startPostgres } from '../../launch/postgres.ts'
import { mix } from '../../legacy/mix.ts'
import { schemas } from '../../legacy/tables.ts'

const nodes = { oldNodes: 2, fahaoNodes: 2 }
const ids = Number(process.env.LEGACY_MIX_IDS ?? 120_000)

for (const server of [await startMariaDb({ after }), await startPostgres({ after })]) {
  for (const schema of schemas) {
    test(`${schema} on ${server.kind}: no id is issued twice`, async (t) => {
      const count = await mix(t, server, schema, { ...nodes, idsEach: Math.ceil(ids / 4 / 1000) * 1000 })
      t.diagnostic(`${count} ids`)
    })
  }
}
