/** What users of ShardingSphere asked of keys that are generated on INSERT, in issues of apache/shardingsphere. */
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { password, superuser } from '../../../launch/database.ts'
import { guardTables } from '../../../launch/guards.ts'
import type { Lifetime } from '../../../launch/lifetime.ts'
import { MysqlClient, type Parameter } from './mysql-client.ts'
import type { OkReply, Reply } from './mysql-replies.ts'
import type { FilledColumn, Stage } from './stage.ts'

const schema = `
  CREATE DATABASE forest;
  USE shop;
  CREATE TABLE t_order (
    order_id BIGINT NOT NULL PRIMARY KEY,
    user_id INT NOT NULL,
    status VARCHAR(50) NULL,
    UNIQUE KEY by_user (user_id)
  );
  CREATE TABLE t_user (ID BIGINT NOT NULL PRIMARY KEY, name VARCHAR(50), age INT);
  CREATE TABLE forest.tree1 (pid BIGINT, id BIGINT NOT NULL PRIMARY KEY);`

/** The columns that these tests need filled. */
export const shardingSphereColumns: readonly FilledColumn[] = [
  { column: 'shop.t_order.order_id', generator: 't_order', create: ['KIND', 'sequence', 'START', 1000] },
  { column: 'shop.t_user.id', generator: 't_user', create: ['KIND', 'snowflake'] },
  { column: 'forest.tree1.id', generator: 'tree1', create: ['KIND', 'segment', 'STEP', 1000] },
]

/** Registers the tests. The numbers in their titles are those of issues of apache/shardingsphere. */
export function shardingSphereSuite(stage: () => Stage): void {
  describe('keys that are generated on INSERT, as users of ShardingSphere ask for them', () => {
    before(async () => {
      await rowsOf(schema)
      await guardTables(
        stage().proxied.database,
        shardingSphereColumns.map(({ column }) => column),
      )
    })
    beforeEach(() => rowsOf('DELETE FROM shop.t_order; DELETE FROM shop.t_user; DELETE FROM forest.tree1'))

    // Statement.getGeneratedKeys should return the key. Drivers make it from the insert id of the reply.
    test('#91: the reply to an INSERT has the key of the row, for text and for prepared statements', async (t) => {
      const client = await connect(t)
      const text = okOf(await client.query("INSERT INTO t_order (user_id, status) VALUES (1, 'a')"))
      const [prepared] = await executeAll(client, 'INSERT INTO t_order (user_id, status) VALUES (?, ?)', [
        [2, 'b'],
      ])
      assert.deepEqual(await ordersByUser(), [
        [text.insertId, 1],
        [prepared!.insertId, 2],
      ])
    })

    // "Support affected rows and last insert id for sharding-proxy"
    test('#654: replies through the proxy have the affected rows and the last insert id', async (t) => {
      const client = await connect(t)
      const first = okOf(await client.query('INSERT INTO t_order (user_id) VALUES (1), (2), (3)'))
      assert.equal(first.affected, 3n)
      assert.equal(first.insertId, (await ordersByUser())[0]![0])
      const update = okOf(await client.query("UPDATE t_order SET status = 'x' WHERE user_id > 1"))
      assert.deepEqual([update.affected, update.insertId], [2n, 0n])
      assert.equal(okOf(await client.query('DELETE FROM t_order')).affected, 3n)
    })

    // "Support insert SQL without columns for sharding and key generator"
    test('#773: an INSERT without a column list gets a key where NULL, DEFAULT or 0 stands for it', async (t) => {
      const client = await connect(t)
      await client.query("INSERT INTO t_order VALUES (NULL, 1, 'a')")
      await client.query("INSERT INTO t_order VALUES (DEFAULT, 2, 'b'), (0, 3, 'c')")
      await client.query('INSERT INTO forest.tree1 VALUES (5, NULL)')
      assert.deepEqual(
        (await ordersByUser()).map(([, user]) => user),
        [1, 2, 3],
      )
      assert.ok((await ordersByUser()).every(([id]) => id >= 1000n))
      const [tree] = await rowsOf('SELECT pid, id > 0 AS filled FROM forest.tree1')
      assert.deepEqual({ ...tree }, { pid: '5', filled: 1 })
    })

    // "INSERT ON DUPLICATE KEY UPDATE with dynamic parameters", and #1388, #5210: parameters after it are lost.
    test('#1756, #1388, #5210: parameters after ON DUPLICATE KEY UPDATE keep their places, and the key of the changed row comes back', async (t) => {
      const client = await connect(t)
      const sql =
        'INSERT INTO t_order (user_id, status) VALUES (?, ?) ON DUPLICATE KEY UPDATE status = CONCAT(?, ?)'
      const [added, changed] = await executeAll(client, sql, [
        [1, 'new', 'no', 'no'],
        [1, 'no', 'up', 'dated'],
      ])
      const [order] = await rowsOf('SELECT order_id, user_id, status FROM shop.t_order')
      assert.deepEqual({ ...order }, { order_id: `${added!.insertId}`, user_id: 1, status: 'updated' })
      assert.equal(changed!.insertId, added!.insertId)
      assert.deepEqual([added!.affected, changed!.affected], [1n, 2n])
    })

    // "insert with generated keys, when the last column value is null, cause NullPointerException"
    test('#2252: the last parameter of an INSERT may be NULL', async (t) => {
      const client = await connect(t)
      const [reply] = await executeAll(client, 'INSERT INTO t_order (user_id, status) VALUES (?, ?)', [
        [1, null],
      ])
      const [order] = await rowsOf('SELECT order_id, user_id, status FROM shop.t_order')
      assert.deepEqual({ ...order }, { order_id: `${reply!.insertId}`, user_id: 1, status: null })
    })

    // "Multi-values insertion bug with key-generator", and #2401: ids in descending order, values in wrong columns.
    test('#4573, #2401: the rows of an INSERT get ascending keys, each with its own values', async (t) => {
      const client = await connect(t)
      await client.query(
        "INSERT INTO t_order (status, user_id) VALUES ('11', 11), ('12', 12), ('13', 13), ('14', 14)",
      )
      const orders = await rowsOf('SELECT status, user_id FROM shop.t_order ORDER BY order_id')
      assert.deepEqual(
        orders.map(({ status, user_id }) => [status, user_id]),
        [
          ['11', 11],
          ['12', 12],
          ['13', 13],
          ['14', 14],
        ],
      )
    })

    // "When batch inserting, only the primary key of the first data is returned", and #6351, #7401.
    test('#5858, #6351, #7401: the keys of the rows of one INSERT follow the one that comes back, without a gap', async (t) => {
      const client = await connect(t)
      const placeholders = Array.from({ length: 200 }, () => '(?, ?)').join(', ')
      const values = Array.from({ length: 200 }, (_, at) => [at, 'x']).flat()
      const [reply] = await executeAll(
        client,
        `INSERT INTO t_order (user_id, status) VALUES ${placeholders}`,
        [values],
      )
      const expected = Array.from({ length: 200 }, (_, at) => [reply!.insertId + BigInt(at), at])
      assert.deepEqual(await ordersByUser(), expected)
    })

    // "Column 'ID' specified twice", and #32756: the name of the column in another case.
    test('#7381, #32756: the key may be named in upper or in lower case, whatever the table and the configuration say', async (t) => {
      const client = await connect(t)
      for (const column of ['id', 'ID', 'Id', '`iD`', 't_user.ID']) {
        assert.equal(
          (await client.query(`INSERT INTO t_user (${column}, name) VALUES (NULL, '${column}')`))[0]!.kind,
          'ok',
        )
      }
      assert.equal(
        (await client.query("INSERT INTO t_user (NAME, AGE) VALUES ('without', 1)"))[0]!.kind,
        'ok',
      )
      const [count] = await rowsOf('SELECT COUNT(*) AS users, MIN(ID) > 1000 AS filled FROM shop.t_user')
      assert.deepEqual({ ...count }, { users: '6', filled: 1 })
    })

    // "cannot support LAST_INSERT_ID() for mysql", "Sharding-proxy How to get the Distributed Primary Key after inserted a new row?"
    test('#143, #185, #298, #2781, #7922: LAST_INSERT_ID() and @@IDENTITY are the key', async (t) => {
      const client = await connect(t)
      const { insertId } = okOf(await client.query("INSERT INTO t_user (name) VALUES ('a')"))
      assert.deepEqual(await valuesOf(client, 'SELECT LAST_INSERT_ID(), @@IDENTITY, @@last_insert_id'), [
        [`${insertId}`, `${insertId}`, `${insertId}`],
      ])
      assert.deepEqual(await valuesOf(client, 'SELECT name FROM t_user WHERE id = LAST_INSERT_ID()'), [['a']])
    })

    // "LAST_INSERT_ID() is wrong": 0, because another database is asked.
    test('#1095, #17942, #18837: LAST_INSERT_ID() is the key of a row in another database, and of this connection alone', async (t) => {
      const [client, other] = [await connect(t), await connect(t)]
      await client.query('INSERT INTO forest.tree1 (pid) VALUES (1)')
      await other.query('INSERT INTO t_order (user_id) VALUES (1)')
      const [tree] = await rowsOf('SELECT id FROM forest.tree1')
      assert.deepEqual(await valuesOf(client, 'SELECT LAST_INSERT_ID() AS id'), [[`${tree!.id}`]])
      assert.deepEqual(await valuesOf(other, 'SELECT LAST_INSERT_ID() AS id'), [
        [`${(await ordersByUser())[0]![0]}`],
      ])
    })

    // "transaction, AUTO_INCREMENT, useGeneratedKeys, insert null returns the same id", and #30429, #35783.
    test('#18904, #30429, #35783: each INSERT of NULL in a transaction gives back a key of its own', async (t) => {
      const client = await connect(t)
      await client.query('START TRANSACTION')
      const sql = 'INSERT INTO t_order (order_id, user_id) VALUES (?, ?)'
      const replies = await executeAll(client, sql, [
        [null, 1],
        [null, 2],
        [null, 3],
      ])
      await client.query('COMMIT')
      assert.deepEqual(
        await ordersByUser(),
        replies.map(({ insertId }, at) => [insertId, at + 1]),
      )
      assert.deepEqual(await valuesOf(client, 'SELECT LAST_INSERT_ID()'), [[`${replies[2]!.insertId}`]])
    })

    // the second execution of a prepared statement inserts the values of the first, and fails as a duplicate.
    test('#36: a prepared statement gets another key each time that it is executed', async (t) => {
      const client = await connect(t)
      const values = Array.from({ length: 100 }, (_, at) => [at, `${at}`])
      const replies = await executeAll(client, 'INSERT INTO t_order (user_id, status) VALUES (?, ?)', values)
      assert.deepEqual(
        await ordersByUser(),
        replies.map(({ insertId }, at) => [insertId, at]),
      )
    })

    // "Can sharding-proxy support batch insert", and #29050: INSERTs one after another in one text.
    test('#24133, #29050: a text of many INSERTs, as addBatch sends it, gets a key and a reply for each', async (t) => {
      const client = await connect(t)
      const sql = Array.from(
        { length: 20 },
        (_, at) => `INSERT INTO t_order (user_id, status) VALUES (${at}, 'it''s;')`,
      )
      const replies = await client.query(sql.join(';'))
      assert.deepEqual(
        await ordersByUser(),
        replies.map((reply, at) => [okOf([reply]).insertId, at]),
      )
    })

    // "insert into select is unsupport": `Unknown exception: [null]`
    test('#6289: INSERT … SELECT is refused with an error that says so, and the connection goes on', async (t) => {
      const client = await connect(t)
      const [reply] = await client.query('INSERT INTO t_order (user_id) SELECT 1')
      assert.ok(reply?.kind === 'error')
      assert.equal(reply.code, 1364)
      assert.match(reply.message, /fahao proxy: ids are filled into INSERT and REPLACE with VALUES or SET/)
      assert.equal((await client.query('INSERT INTO t_order (user_id) VALUES (1)'))[0]!.kind, 'ok')
      assert.equal((await ordersByUser()).length, 1)
    })

    // the id that comes back, 237162384471687170, is not the one of the row, 237162384471687168.
    test('#1156: a key above 2^53 comes back exactly', async (t) => {
      const client = await connect(t)
      const { insertId } = okOf(await client.query("INSERT INTO t_user (name) VALUES ('a')"))
      assert.ok(insertId > 2n ** 53n)
      assert.deepEqual(await valuesOf(client, `SELECT name FROM t_user WHERE id = '${insertId}'`), [['a']])
    })

    // "last_insert_id not returned when using update": the manual's way to count in a table.
    test('#14144: the reply to an UPDATE has the id that LAST_INSERT_ID(expression) gives', async (t) => {
      const client = await connect(t)
      await client.query('INSERT INTO t_order (order_id, user_id) VALUES (41, 1)')
      const reply = okOf(
        await client.query('UPDATE t_order SET order_id = LAST_INSERT_ID(order_id + 1) WHERE user_id = 1'),
      )
      assert.equal(reply.insertId, 42n)
      assert.deepEqual(await valuesOf(client, 'SELECT LAST_INSERT_ID()'), [['42']])
    })
  })

  function connect(lifetime: Lifetime): Promise<MysqlClient> {
    return MysqlClient.connect(
      { port: stage().proxied.port, user: superuser, password, database: 'shop' },
      lifetime,
    )
  }

  /** Rows as the database itself has them. */
  function rowsOf(sql: string) {
    return stage().proxied.database.admin(sql)
  }

  async function ordersByUser(): Promise<[id: bigint, user: unknown][]> {
    const orders = await rowsOf('SELECT order_id, user_id FROM shop.t_order ORDER BY user_id')
    return orders.map(({ order_id, user_id }) => [BigInt(order_id as string), user_id])
  }
}

async function executeAll(
  client: MysqlClient,
  sql: string,
  executions: readonly (readonly Parameter[])[],
): Promise<OkReply[]> {
  const prepared = await client.prepare(sql)
  assert.ok(prepared.kind === 'prepared', JSON.stringify(prepared))
  const replies: OkReply[] = []
  for (const values of executions) replies.push(okOf(await client.execute(prepared.id, values)))
  client.closeStatement(prepared.id)
  return replies
}

function okOf([reply]: readonly Reply[]): OkReply {
  assert.ok(reply?.kind === 'ok', reply?.kind === 'error' ? reply.message : `${reply?.kind}`)
  return reply
}

async function valuesOf(client: MysqlClient, sql: string): Promise<readonly (readonly (string | null)[])[]> {
  const [reply] = await client.query(sql)
  assert.ok(reply?.kind === 'rows', JSON.stringify(reply))
  return reply.rows
}
