/** The stand-ins alone: what they are worth as neighbours depends on whether they do as the originals do. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startMariaDb } from '../../launch/mariadb.ts'
import { startPostgres } from '../../launch/postgres.ts'
import { oldDatabase } from '../../legacy/database.ts'
import { IssuedIds } from '../../legacy/ids.ts'
import { issue, startOldNode } from '../../legacy/old-nodes.ts'
import { addOddColumns, addRow, boundOf, createTables, type Schema, schemas } from '../../legacy/tables.ts'

const servers = { MariaDB: await startMariaDb({ after }), PostgreSQL: await startPostgres({ after }) }

/** The first ids that one node alone issues of a rule whose next range starts with 1000. */
const firstIds: Readonly<Record<Schema, readonly bigint[]>> = {
  leaf: [1000n, 1001n, 1002n],
  idbuilder: [1000n, 1001n, 1002n],
  tinyid: [1001n, 1004n, 1007n],
}

for (const [name, server] of Object.entries(servers)) {
  describe(`old services on ${name}`, () => {
    for (const schema of schemas) {
      test(`${schema}: nodes issue what is theirs, in their order, and no id twice`, async (t) => {
        const database = oldDatabase(t, await server.newDatabase())
        const { send, dialect } = database
        await createTables(send, dialect, schema)
        await addOddColumns(send, dialect, schema)
        await addRow(send, schema, { key: '7', bound: 1000n, step: 300, increment: 3, offset: 2 })
        const [one, two] = [await startOldNode(schema, database), await startOldNode(schema, database)]
        const issued = new IssuedIds()
        for (const wanted of firstIds[schema]) {
          const id = await one.next('7')
          assert.equal(id, wanted)
          issued.add(id)
        }
        await Promise.all([issue(one, '7', 5000, issued), issue(two, '7', 5000, issued)])
        assert.equal(issued.count, 10_003)
        assert.equal(issued.repeated(), undefined)
        assert.ok((await boundOf(send, schema, '7'))! > issued.sorted().at(-1)!)
      })
    }

    test('leaf: an unknown tag is −2, and tags come and go with the table', async (t) => {
      const database = oldDatabase(t, await server.newDatabase())
      await createTables(database.send, database.dialect, 'leaf')
      await addRow(database.send, 'leaf', { key: 'a', bound: 1n, step: 10 })
      const { LeafNode } = await import('../../legacy/leaf.ts')
      const node = await LeafNode.start(database)
      assert.equal(await node.next('a'), 1n)
      assert.throws(() => node.next('b'), /-2/)
      await addRow(database.send, 'leaf', { key: 'b', bound: 5n, step: 10 })
      await node.reloadTags()
      assert.equal(await node.next('b'), 5n)
    })

    test('idbuilder: a rule that was never used starts with init_num; random ids use three quarters', async (t) => {
      const database = oldDatabase(t, await server.newDatabase())
      const { send } = database
      await createTables(send, database.dialect, 'idbuilder')
      await send(
        'INSERT INTO t_id_builder_config (id, init_num, step, biz_code, is_seq) VALUES (3, 500, 100, ?, 1)',
        ['sms_'],
      )
      const node = await startOldNode('idbuilder', database)
      const issued = new IssuedIds()
      await issue(node, '3', 75, issued)
      assert.ok(issued.sorted()[0]! >= 500 && issued.sorted().at(-1)! < 600)
      assert.equal(issued.repeated(), undefined)
      assert.ok((await node.next('3')) >= 600n)
      assert.equal(await boundOf(send, 'idbuilder', '3'), 700n)
    })
  })
}
