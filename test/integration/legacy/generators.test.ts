/** Rows as generators: found by name, listed, followed, and what may be laid over them. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { loadConfig } from '../../../src/config/load-config.ts'
import type { RecordChange } from '../../../src/engine/engine.ts'
import { type Fahao, openFahao } from '../../../src/index.ts'
import { startNode } from '../../../src/node/start.ts'
import { atEnd } from '../../launch/lifetime.ts'
import { startMariaDb } from '../../launch/mariadb.ts'
import { startPostgres } from '../../launch/postgres.ts'
import { type LegacyBench, legacyBench } from '../../legacy/bench.ts'
import { boundOf, keyColumnOf, schemas, tableOf } from '../../legacy/tables.ts'
import { serve } from '../../unit/http/compat/serve.ts'

const servers = [await startMariaDb({ after }), await startPostgres({ after })]

async function open(t: TestContext, { url }: LegacyBench, nodeIndex?: number): Promise<Fahao> {
  const fahao = await openFahao({ engine: url, ...(nodeIndex !== undefined && { nodeIndex }) })
  atEnd(t, () => fahao.close())
  return fahao
}

/** Waits until `condition` holds. Rows are polled every few seconds; on a busy machine the pause is up to a minute. */
async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  for (const giveUpAt = performance.now() + 90_000; !(await condition()); ) {
    assert.ok(performance.now() < giveUpAt, 'it did not come about')
    await new Promise((again) => setTimeout(again, 50))
  }
}

for (const server of servers) {
  const on = `on ${server.kind}`

  test(`rows serve by their own rules, without being defined ${on}`, async (t) => {
    const leaf = await legacyBench(t, server, 'leaf')
    await leaf.add({ key: 'order', bound: 1000n, step: 50 })
    const order = await (await open(t, leaf)).open('order')
    assert.deepEqual(await order.nextBatch(3), [1000n, 1001n, 1002n])
    assert.ok((await leaf.bound('order'))! >= 1050n)

    const tinyid = await legacyBench(t, server, 'tinyid')
    await tinyid.add({ key: 'odd', bound: 1001n, step: 50, increment: 2, offset: 1 })
    assert.deepEqual(await (await (await open(t, tinyid)).open('odd')).nextBatch(3), [1001n, 1003n, 1005n])

    const builder = await legacyBench(t, server, 'idbuilder')
    await builder.add({ key: '1', bound: 500n, step: 50, prefix: 'sms_' })
    await builder.add({ key: '2', bound: 500n, step: 50, shuffled: true })
    const fahao = await open(t, builder, 12)
    assert.equal(await (await fahao.open('1')).nextText(), 'sms_12500')
    const shuffled = await (await fahao.open('2')).nextBatch(1024)
    assert.equal(new Set(shuffled).size, 1024)
    assert.notDeepEqual(
      shuffled,
      [...shuffled].sort((a, b) => (a < b ? -1 : 1)),
    )
    assert.ok(shuffled.every((id) => id >= 500n && id < 1524n))
    await assert.rejects((await open(t, builder)).open('1'), /--node-index/)
  })

  test(`Leaf's page of bounds shows when a row last changed, in Leaf's form ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'leaf')
    const { send } = bench.database
    for (const key of ['order', 'user']) await bench.add({ key, bound: 1000n, step: 50 })
    await send("UPDATE leaf_alloc SET update_time = '2018-02-07 10:23:40' WHERE biz_tag = 'order'")
    const flags = { engine: bench.url }
    const { ask } = await serve(t, {}, { flags, compat: ['leaf'] })
    const cells = async () => {
      const [, , page] = await ask('/db')
      const rows = page.split('<tr>').map((row) => [...row.matchAll(/<td>([^<]*)/g)].map(([, cell]) => cell!))
      return new Map(rows.map(([tag, ...rest]) => [tag, rest.slice(0, 3)]))
    }
    const shown = await cells()
    assert.deepEqual(shown.get('order'), ['1000', '50', '2018-02-07 10:23:40.0'])
    assert.match(shown.get('user')![2]!, /^20[2-9]\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,6}$/)
    await send('ALTER TABLE leaf_alloc DROP COLUMN update_time')
    assert.deepEqual((await cells()).get('order'), ['1000', '50', ''])
  })

  test(`an added row is served, a changed row is followed, and a removed row ends its generator ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'leaf')
    const fahao = await open(t, bench)
    for (let tries = 0; tries < 2; tries++) {
      const advice =
        /^no generator 'a'; insert a row for it into leaf_alloc, where ids are counted, as before$/
      await assert.rejects(fahao.open('a'), { code: 'NOGENERATOR', message: advice })
    }
    await bench.add({ key: 'a', bound: 10n, step: 5 })
    await until(() =>
      fahao.open('a').then(
        () => true,
        () => false,
      ),
    )
    const engine = await bench.open()
    const changes: RecordChange[] = []
    await engine.watch('legacy/', (change) => changes.push(change))
    const before = await engine.read('legacy/a')
    await (await fahao.open('a')).next()
    assert.deepEqual(await engine.read('legacy/a'), before)
    await bench.database.send("UPDATE leaf_alloc SET step = 9 WHERE biz_tag = 'a'")
    await until(() => changes.length > 0)
    const now = changes.at(-1)!.record!
    assert.equal(JSON.parse(now.value).step, 9)
    assert.ok(now.version > before!.version)
    assert.deepEqual(await engine.read('legacy/a'), now)
    assert.deepEqual(await engine.list('legacy/'), [now])
    await bench.database.send("DELETE FROM leaf_alloc WHERE biz_tag = 'a'")
    await until(() => changes.at(-1)!.record === undefined)
    await until(() =>
      fahao.open('a').then(
        () => false,
        ({ code }) => code === 'NOGENERATOR',
      ),
    )
  })

  test(`an advance is complete although a row that this process has served was removed ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'leaf')
    for (const key of ['kept', 'gone']) await bench.add({ key, bound: 1000n, step: 50 })
    const { config } = loadConfig({ flags: { engine: bench.url } })
    const node = await startNode(config, {})
    atEnd(t, () => node.close())
    for (const key of ['kept', 'gone']) await (await node.catalogue.open(key)).draw(1)
    await bench.database.send("DELETE FROM leaf_alloc WHERE biz_tag = 'gone'")
    const before = await bench.bound('kept')
    assert.equal(await node.advance(100n), 1)
    assert.ok((await bench.bound('kept'))! >= before! + 100n)
  })

  for (const schema of schemas)
    test(`a row of ${schema} that goes right after it came ends its generator ${on}`, async (t) => {
      const bench = await legacyBench(t, server, schema)
      await bench.add({ key: '1', bound: 10n, step: 1000 })
      const fahao = await open(t, bench, 1)
      await (await fahao.open('1')).next()
      await bench.add({ key: '2', bound: 10n, step: 1000 })
      const generator = await fahao.open('2')
      await generator.next()
      await bench.database.send(`DELETE FROM ${tableOf[schema]} WHERE ${keyColumnOf[schema]} = '2'`)
      const ends = () =>
        generator.next().then(
          () => false,
          ({ code }) => code === 'NOGENERATOR',
        )
      await until(ends)
      assert.ok(await (await fahao.open('1')).next())
    })

  test(`a row keeps its buffer when the table is polled, and when its step changes ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'leaf')
    const fahao = await open(t, bench)
    const watching = await bench.open()
    const told = new Set<string>()
    await watching.watch('legacy/', ({ key }) => told.add(key))
    for (const key of ['same', 'other']) await bench.add({ key, bound: 100n, step: 50 })
    const [same, other] = [await fahao.open('same'), await fahao.open('other')]
    for (const each of [same, other]) assert.deepEqual(await each.nextBatch(2), [100n, 101n])
    await bench.database.send("UPDATE leaf_alloc SET step = 500 WHERE biz_tag = 'other'")
    await until(() => told.size === 2)
    // Every node looks at the table by itself, this one as often.
    await new Promise((looked) => setTimeout(looked, 3200))
    // After a third id the buffer may be filled again: 16 times three are more than what is left of 50.
    assert.equal(await bench.bound('same'), 150n)
    assert.equal(await (await fahao.open('same')).next(), 102n)
    assert.equal(await (await fahao.open('other')).next(), 102n)
    assert.equal(await other.next(), 103n)
    await other.nextBatch(40)
    await until(async () => (await bench.bound('other'))! >= 650n)
  })

  test(`rows are listed in byte order over many pages ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'leaf')
    const names = Array.from({ length: 11_000 }, (_, index) => `${index % 2 ? 'tag' : 'Zone'}-${index}-é`)
    for (let from = 0; from < names.length; from += 1000) {
      const rows = names.slice(from, from + 1000).map((name) => `('${name}', 1, 10)`)
      await bench.database.send(`INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ${rows.join(', ')}`)
    }
    const engine = await bench.open()
    const listed: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await engine.list('legacy/', { limit: 1000, ...(after !== undefined && { after }) })
      listed.push(...page.map(({ key }) => key.slice('legacy/'.length)))
      after = page.at(-1)?.key
      if (page.length < 1000) break
    }
    const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
    assert.deepEqual(listed, names.sort(byBytes))
  })

  if (server.kind === 'mysql')
    test('a name that the column cannot hold is no row', async (t) => {
      const bench = await legacyBench(t, server, 'leaf')
      await bench.database.send('ALTER TABLE leaf_alloc CONVERT TO CHARACTER SET latin1')
      await bench.add({ key: 'é', bound: 10n, step: 5 })
      const fahao = await open(t, bench)
      await assert.rejects(fahao.open('发号'), { code: 'NOGENERATOR' })
      assert.equal(await (await fahao.open('é')).next(), 10n)
    })

  test(`an unusable row is named in the error, and hides no other row ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'tinyid')
    await bench.add({ key: 'bad', bound: 10n, step: 5, increment: 2, offset: 7 })
    await bench.add({ key: 'good', bound: 10n, step: 5 })
    const fahao = await open(t, bench)
    await assert.rejects(fahao.open('bad'), { code: 'ENGINE', message: /tiny_id_info.*correct the row/ })
    assert.equal(await (await fahao.open('good')).next(), 10n)
  })

  test(`tokens of tinyid are records, like those that Fahao has written ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'tinyid')
    await bench.database.send("INSERT INTO tiny_id_token (token, biz_type) VALUES ('t1', 'a')")
    const engine = await bench.open()
    await engine.write('tinyid-tokens/t0/a', '{}', undefined)
    const keys = async () => (await engine.list('tinyid-tokens/')).map(({ key }) => key)
    assert.deepEqual(await keys(), ['tinyid-tokens/t0/a', 'tinyid-tokens/t1/a'])
    assert.notEqual(await engine.read('tinyid-tokens/t1/a'), undefined)
    assert.deepEqual(
      (await engine.list('tinyid-tokens/', { after: 'tinyid-tokens/t0/a', limit: 1 })).map(({ key }) => key),
      ['tinyid-tokens/t1/a'],
    )
    await assert.rejects(engine.write('legacy/a', '{}', undefined), /tiny_id_info/)
    await assert.rejects(engine.remove('legacy/a', 1n), /tiny_id_info/)
  })

  test(`a definition may be laid over a row, and taken away again ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'tinyid')
    await bench.add({ key: 'odd', bound: 1001n, step: 50, increment: 2, offset: 1 })
    const [one, two] = [await open(t, bench), await open(t, bench)]
    let last = await (await one.open('odd')).next()
    const strict = await one.open('odd', { kind: 'sequence' })
    const other = await two.open('odd')
    for (const generator of [strict, other, strict, other, other, strict]) {
      const id = await generator.next()
      assert.ok(id > last && id % 2n === 1n, `${id} after ${last}`)
      last = id
    }
    assert.ok((await bench.bound('odd'))! > last)
    assert.equal(await one.drop('odd'), true)
    const again = await one.open('odd')
    assert.equal((await one.open('odd', { kind: 'segment' })).name, 'odd')
    assert.ok((await again.next()) > last)
  })

  test(`what would issue others' ids is refused, and a row is dropped in its table ${on}`, async (t) => {
    const bench = await legacyBench(t, server, 'tinyid')
    await bench.add({ key: 'odd', bound: 1001n, step: 50, increment: 2, offset: 1 })
    const fahao = await open(t, bench)
    const refused = [
      { kind: 'segment', increment: 1 },
      { kind: 'sequence', offset: 0 },
      { kind: 'segment', scramble: true },
      { kind: 'snowflake' },
    ] as const
    for (const options of refused)
      await assert.rejects(fahao.open('odd', options), { code: 'ERR' }, JSON.stringify(options))
    await assert.rejects(fahao.alter('odd', { increment: 4 }), { code: 'ERR' })
    await assert.rejects(fahao.drop('odd'), /remove the row there/)
    await assert.rejects(fahao.open('new', { kind: 'segment' }), /insert one as before/)
    assert.ok(await (await fahao.open('event', { kind: 'snowflake' })).next())
    await fahao.alter('odd', { stepMax: 500 })
    assert.equal((await (await fahao.open('odd')).next()) % 2n, 1n)
    assert.ok((await boundOf(bench.database.send, 'tinyid', 'odd'))! > 1001n)
  })
}
