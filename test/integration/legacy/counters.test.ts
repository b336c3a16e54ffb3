/** Rows as counters: what the contract promises, and what the old service would have done to the row. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import fc from 'fast-check'
import type { RepairedCounter } from '../../../src/engine/engine.ts'
import type { Range } from '../../../src/ids/run.ts'
import { assertDisjoint } from '../../conformance/counters.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { constantRepair } from '../../constant-repair.ts'
import { atEnd } from '../../launch/lifetime.ts'
import { startMariaDb } from '../../launch/mariadb.ts'
import { startPostgres } from '../../launch/postgres.ts'
import { legacyBench } from '../../legacy/bench.ts'
import type { OldDatabase, Row } from '../../legacy/database.ts'
import { addOddColumns, type Schema, schemas, tableOf } from '../../legacy/tables.ts'

const servers = [await startMariaDb({ after }), await startPostgres({ after })]
const mine = { incarnation: 1n }
const counter = 'generators/7'

const keyColumns: Readonly<Record<Schema, string>> = { leaf: 'biz_tag', idbuilder: 'id', tinyid: 'biz_type' }
const boundColumns: Readonly<Record<Schema, string>> = {
  leaf: 'max_id',
  idbuilder: 'current_threshold',
  tinyid: 'max_id',
}

/** What records say that have no row. */
function many(count: number): [string, RepairedCounter][] {
  const standing = { from: 7n, gap: 100n, incarnation: 2n }
  return Array.from({ length: count }, (_, at) => [`generators/${1000 + at}`, standing])
}

/** The old service's own statement, for a range of `size`; the values that the old node owns then, half open. */
async function oldReserve({ send }: OldDatabase, schema: Schema, size: bigint): Promise<Range> {
  const [table, column, key] = [tableOf[schema], boundColumns[schema], keyColumns[schema]]
  const set = schema === 'leaf' ? '' : ', version = version + 1'
  // One statement is a transaction, and what it did is read under the lock that only it could have had.
  const before = async () =>
    BigInt((await send(`SELECT ${column} AS m FROM ${table} WHERE ${key} = '7'`)).rows[0]!.m!)
  const old = await before()
  await send(`UPDATE ${table} SET ${column} = ${column} + ${size}${set} WHERE ${key} = '7'`)
  const shift = schema === 'tinyid' ? 1n : 0n
  return { start: old + shift, end: (await before()) + shift }
}

async function rowOf({ send }: OldDatabase, schema: Schema): Promise<Row> {
  return (await send(`SELECT * FROM ${tableOf[schema]} WHERE ${keyColumns[schema]} = '7'`)).rows[0]!
}

for (const server of servers) {
  for (const schema of schemas) {
    describe(`a row of ${tableOf[schema]} on ${server.kind}`, () => {
      test('is a counter: each range begins at the end of the last one, for all nodes', async (t) => {
        const { add, open, bound } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 1000n, step: 50 })
        const [one, two] = [await open(), await open()]
        assert.equal((await one.counter(counter)).bound, 1000n)
        const first = await one.reserve(counter, { size: 500n, ...mine })
        const second = await two.reserve(counter, { size: 7n, ...mine })
        assert.deepEqual([first.start, first.end, second.start, second.end], [1000n, 1500n, 1500n, 1507n])
        assert.equal(await bound('7'), 1507n)
        assert.equal((await two.counter(counter)).bound, 1507n)
      })

      test('changes as the old statement changes it, and in no other column', async (t) => {
        const { add, open, database } = await legacyBench(t, server, schema)
        await addOddColumns(database.send, database.dialect, schema)
        await add({ key: '7', bound: 1000n, step: 50, prefix: 'x' })
        await add({ key: '8', bound: 1000n, step: 50 })
        const before = await rowOf(database, schema)
        const engine = await open()
        await engine.reserve(counter, { size: 10n, ...mine })
        const now = await rowOf(database, schema)
        const changed = Object.keys(now).filter((column) => now[column] !== before[column])
        const wanted = [boundColumns[schema], ...(schema === 'leaf' ? [] : ['version'])]
        const timed = schema === 'tinyid' ? ['update_time'] : []
        const byServer = schema === 'leaf' ? ['update_time'] : []
        assert.deepEqual(
          changed.filter((column) => !byServer.includes(column)).sort(),
          [...wanted, ...timed].sort(),
        )
        assert.equal(now.version, schema === 'leaf' ? undefined : '1')
        assert.equal((await engine.counter('generators/8')).bound, 1000n)
      })

      test('starts at the floor where that is above, and ends below max and where its column ends', async (t) => {
        const { add, open, bound } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 10n, step: 50 })
        const engine = await open()
        const above = await engine.reserve(counter, { size: 5n, floor: 100n, ...mine })
        assert.deepEqual([above.start, above.end], [100n, 105n])
        assert.equal((await engine.reserve(counter, { size: 1n, floor: 50n, ...mine })).start, 105n)
        await assert.rejects(engine.reserve(counter, { size: 5n, max: 110n, ...mine }), { code: 'EXHAUSTED' })
        assert.equal(await bound('7'), 106n)
        assert.equal((await engine.reserve(counter, { size: 4n, max: 110n, ...mine })).end, 110n)
        const odd = 2n ** 53n + 1n
        assert.equal((await engine.reserve(counter, { size: 2n, floor: odd, ...mine })).start, odd)
        assert.equal(await bound('7'), odd + 2n)
        const last = 2n ** 63n - (schema === 'tinyid' ? 0n : 1n)
        assert.equal((await engine.reserve(counter, { size: 3n, floor: last - 3n, ...mine })).end, last)
        await assert.rejects(engine.reserve(counter, { size: 1n, ...mine }), { code: 'EXHAUSTED' })
        await assert.rejects(engine.reserve(counter, { size: 2n ** 63n, ...mine }), { code: 'EXHAUSTED' })
        assert.equal(await bound('7'), last)
      })

      test('is raised by a reserve of nothing, and left alone by a mere seal', async (t) => {
        const { add, open, bound, database } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 10n, step: 50 })
        const engine = await open()
        const before = await rowOf(database, schema)
        const sealed = await engine.reserve(counter, { size: 0n, incarnation: 5n })
        assert.deepEqual([sealed.start, sealed.end], [10n, 10n])
        assert.deepEqual(await rowOf(database, schema), before)
        assert.equal((await engine.reserve(counter, { size: 0n, floor: 5n, ...mine })).end, 10n)
        assert.equal((await engine.reserve(counter, { size: 0n, floor: 70n, ...mine })).end, 70n)
        assert.equal(await bound('7'), 70n)
        assert.equal((await engine.reserve(counter, { size: 1n, ...mine })).start, 70n)
      })

      test('is never released, takes any incarnation, and knows no leader', async (t) => {
        const { add, open, bound } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 10n, step: 50 })
        const engine = await open()
        const range = await engine.reserve(counter, { size: 5n, incarnation: 3n })
        assert.equal(await engine.release(counter, range, range.start, { incarnation: 3n }), false)
        assert.equal(await bound('7'), 15n)
        assert.equal((await engine.reserve(counter, { size: 1n, incarnation: 1n })).start, 15n)
        await assert.rejects(engine.reserve(counter, { size: 1n, fence: 1n, ...mine }), /per-node kinds/)
      })

      test('gives no range twice, to old nodes and to engines', async (t) => {
        const bench = await legacyBench(t, server, schema)
        const { add, open, database, bound } = bench
        await add({ key: '7', bound: 1n, step: 50 })
        const engines = [await open(), await open()]
        const owned: Range[] = []
        const step = fc.record({
          by: fc.constantFrom(0, 1, 2),
          size: fc.bigInt(1n, 1000n),
          ahead: fc.constantFrom(0n, 0n, 0n, 500n),
        })
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
            for (const { by, size, ahead } of steps) {
              const engine = engines[by]
              const floor = ahead === 0n ? 0n : (await bound('7'))! + ahead
              owned.push(
                engine === undefined
                  ? await oldReserve(database, schema, size)
                  : await engine.reserve(counter, { size, floor, ...mine }),
              )
            }
            assertDisjoint(owned)
          }),
          { numRuns: 10 },
        )
      })

      test('keeps ranges apart that are reserved at once', async (t) => {
        const { add, open, bound } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 100n, step: 50 })
        const engines = [await open(), await open()]
        const ranges = await Promise.all(
          Array.from({ length: 60 }, (_, index) =>
            engines[index % 2]!.reserve(counter, { size: BigInt(1 + (index % 5)), ...mine }),
          ),
        )
        assertDisjoint(ranges)
        const total = ranges.reduce((sum, { start, end }) => sum + end - start, 100n)
        assert.equal(await bound('7'), total)
      })

      test('has a gap where an answer was lost or came late', async (t) => {
        const { add, open } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 0n, step: 50 })
        const faulty = new FaultyEngine(await open())
        faulty.next('reserve', 'lose-reply')
        await assert.rejects(faulty.reserve(counter, { size: 10n, ...mine }), { code: 'UNKNOWN' })
        faulty.next('reserve', 'late')
        await assert.rejects(faulty.reserve(counter, { size: 10n, ...mine }), { code: 'UNKNOWN' })
        assert.equal((await faulty.reserve(counter, { size: 10n, ...mine })).start, 10n)
        await faulty.deliver()
        assert.equal((await faulty.reserve(counter, { size: 1n, ...mine })).start, 30n)
      })

      test('that went back is noticed, and raised by an advance above what was held', async (t) => {
        const { add, open, bound, database } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 1000n, step: 50 })
        await add({ key: '8', bound: 5n, step: 50 })
        const engine = await open()
        const range = await engine.reserve(counter, { size: 500n, ...mine })
        await database.send(
          `UPDATE ${tableOf[schema]} SET ${boundColumns[schema]} = 1100 WHERE ${keyColumns[schema]} = '7'`,
        )
        await assert.rejects(engine.reserve(counter, { size: 1n, ...mine }), { code: 'REGRESSED' })
        await assert.rejects(engine.reserve('generators/8', { size: 1n, ...mine }), { code: 'REGRESSED' })
        assert.ok((await engine.advance(100n)) >= 2)
        assert.equal(await bound('8'), 105n)
        const after = await engine.reserve(counter, { size: 1n, ...mine })
        assert.ok(after.start >= range.end + 100n)
      })

      test('is left alone by an advance for a store that has forgotten while the store is sound', async (t) => {
        const { add, open, bound } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 1000n, step: 50 })
        const engine = await open()
        for (let tries = 0; tries < 2; tries++)
          assert.equal(await engine.advance(100n, undefined, { ifRegressed: true }), 0)
        assert.equal(await bound('7'), 1000n)
      })

      test('is raised from where a record over it may have stood, by as many ids as the gap', async (t) => {
        const { add, open, bound } = await legacyBench(t, server, schema)
        await add({ key: '7', bound: 1000n, step: 50 })
        await add({ key: '8', bound: 5n, step: 50 })
        const engine = await open()
        const from = { from: 5000n, gap: 100n, incarnation: 2n }
        const counters = new Map([[counter, from], ...many(600)])
        assert.equal(await engine.advance(100n, constantRepair({ counters })), 2)
        assert.deepEqual([await bound('7'), await bound('8')], [5100n, 105n])
      })

      test('that is not there is not made; one that went says so until it is back', async (t) => {
        const { add, open, database } = await legacyBench(t, server, schema)
        const engine = await open()
        assert.equal((await engine.counter(counter)).bound, 0n)
        await assert.rejects(engine.reserve(counter, { size: 1n, ...mine }), { code: 'NOGENERATOR' })
        await add({ key: '7', bound: 10n, step: 50 })
        const range = await engine.reserve(counter, { size: 5n, ...mine })
        await database.send(`DELETE FROM ${tableOf[schema]} WHERE ${keyColumns[schema]} = '7'`)
        await assert.rejects(engine.reserve(counter, { size: 1n, ...mine }), { code: 'NOGENERATOR' })
        await add({ key: '7', bound: range.end, step: 50 })
        assert.equal((await engine.reserve(counter, { size: 1n, ...mine })).start, range.end)
      })
    })
  }

  test(`a tag on ${server.kind} is its bytes, whatever the table takes for equal`, async (t) => {
    const { add, open, database } = await legacyBench(t, server, 'leaf')
    const { send } = database
    await send(
      database.dialect === 'mysql'
        ? 'ALTER TABLE leaf_alloc CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci'
        : 'ALTER TABLE leaf_alloc ALTER COLUMN biz_tag TYPE text',
    )
    for (const key of ['order', "o'r\\d%", '发号']) await add({ key, bound: 10n, step: 5 })
    const engine = await open()
    for (const key of ['order', "o'r\\d%", '发号']) {
      assert.equal((await engine.reserve(`generators/${key}`, { size: 1n, ...mine })).start, 10n)
      assert.notEqual(await engine.read(`legacy/${key}`), undefined)
    }
    for (const key of ['Order', 'order ', 'ordér', '']) {
      await assert.rejects(engine.reserve(`generators/${key}`, { size: 1n, ...mine }), {
        code: 'NOGENERATOR',
      })
      assert.equal(await engine.read(`legacy/${key}`), undefined)
    }
    assert.equal((await engine.counter('generators/order')).bound, 11n)
  })

  test(`codes of an IdBuilder on ${server.kind} have one spelling, and begin with init_num`, async (t) => {
    const { open, database, bound } = await legacyBench(t, server, 'idbuilder')
    await database.send('INSERT INTO t_id_builder_config (id, init_num, step) VALUES (7, 500, 10)')
    const engine = await open()
    assert.equal((await engine.counter('generators/7')).bound, 500n)
    for (const key of ['07', '+7', '7 ', "7' OR '1'='1"])
      await assert.rejects(engine.reserve(`generators/${key}`, { size: 1n, ...mine }), {
        code: 'NOGENERATOR',
      })
    assert.equal((await engine.reserve('generators/7', { size: 10n, ...mine })).start, 500n)
    assert.equal(await bound('7'), 510n)
  })

  test(`a database on ${server.kind} without the table, or with another schema, is refused`, async (t) => {
    const { open, plainUrl } = await legacyBench(t, server, 'leaf')
    await open()
    const { openAnyEngine } = await import('../../../src/legacy/open.ts')
    const { engineOptions } = await import('../../conformance/store-under-test.ts')
    await assert.rejects(openAnyEngine(`${plainUrl}?schema=tinyid`, engineOptions()), {
      code: 'ENGINE',
      message: /tiny_id_info/,
    })
    await assert.rejects(openAnyEngine(`${plainUrl}?schema=other`, engineOptions()), { code: 'CONFIG' })
  })

  test(`a row without a bound on ${server.kind} is none, and hides no other`, async (t) => {
    const { add, open, database } = await legacyBench(t, server, 'leaf')
    const nullable = database.dialect === 'mysql' ? 'MODIFY max_id bigint' : 'ALTER max_id DROP NOT NULL'
    await database.send(`ALTER TABLE leaf_alloc ${nullable}`)
    await add({ key: 'good', bound: 10n, step: 5 })
    await database.send("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('bad', NULL, 5)")
    const engine = await open()
    assert.deepEqual(
      (await engine.list('legacy/')).map(({ key }) => key),
      ['legacy/good'],
    )
    await assert.rejects(engine.reserve('generators/bad', { size: 1n, ...mine }), { code: 'NOGENERATOR' })
    assert.equal((await engine.reserve('generators/good', { size: 1n, ...mine })).start, 10n)
  })

  test(`a row below 0 on ${server.kind} begins at 0`, async (t) => {
    const { open, database, bound } = await legacyBench(t, server, 'leaf')
    await database.send("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('minus', -50, 5)")
    const engine = await open()
    assert.deepEqual(await engine.reserve('generators/minus', { size: 5n, ...mine }), {
      start: 0n,
      end: 5n,
      version: 1n,
    })
    assert.equal(await bound('minus'), 5n)
  })
}

for (const server of servers.filter(({ kind }) => kind === 'mysql')) {
  test('a table whose bounds are unsigned is counted by all the same', async (t) => {
    const { add, open, database, bound } = await legacyBench(t, server, 'leaf')
    await database.send('ALTER TABLE leaf_alloc MODIFY max_id bigint unsigned NOT NULL')
    await add({ key: 'low', bound: 0n, step: 5 })
    await add({ key: 'high', bound: 2n ** 63n + 5n, step: 5 })
    const engine = await open()
    assert.equal((await engine.counter('generators/low')).bound, 0n)
    assert.equal((await engine.reserve('generators/low', { size: 5n, ...mine })).start, 0n)
    assert.equal(await bound('low'), 5n)
    await assert.rejects(engine.reserve('generators/high', { size: 5n, ...mine }))
    assert.equal(await bound('high'), 2n ** 63n + 5n)
  })

  test('a table that a crash may set back is refused, unless that is accepted', async (t) => {
    const { add, open, database } = await legacyBench(t, server, 'leaf')
    await database.send('ALTER TABLE leaf_alloc ENGINE=MyISAM')
    await add({ key: 'a', bound: 10n, step: 5 })
    await assert.rejects(open(), { code: 'ENGINE', message: /leaf_alloc uses \w+ instead of InnoDB/ })
    const engine = await open({ unsafe: true })
    assert.equal((await engine.reserve('generators/a', { size: 1n, ...mine })).start, 10n)
  })

  test('a server that chains transactions, or begins them by itself, keeps every write at once', async (t) => {
    const { add, open } = await legacyBench(t, server, 'leaf')
    await add({ key: 'a', bound: 10n, step: 5 })
    await server.admin("SET GLOBAL completion_type = 'CHAIN'; SET GLOBAL autocommit = 0")
    atEnd(t, () => server.admin("SET GLOBAL completion_type = 'NO_CHAIN'; SET GLOBAL autocommit = 1"))
    const [one, two] = [await open(), await open()]
    for (const counter of ['generators/a', 'own/a']) {
      await one.reserve(counter, { size: 5n, ...mine })
      const { end } = await two.reserve(counter, { size: 5n, ...mine })
      assert.equal((await one.counter(counter)).bound, end)
    }
    assert.ok(await one.write('k', 'x', undefined))
    assert.equal((await two.read('k'))?.value, 'x')
    const transactions = await server.admin('SELECT COUNT(*) AS n FROM information_schema.innodb_trx')
    assert.equal(Number(transactions[0]?.n), 0)
  })
}
