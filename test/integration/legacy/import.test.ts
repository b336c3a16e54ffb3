/** Moving rows out of an old service's table: nothing twice, nothing lost, whatever happens in between. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import { define } from '../../../src/catalogue/definition.ts'
import { parseOptions } from '../../../src/catalogue/generator-options.ts'
import { readStored, writeStored } from '../../../src/catalogue/stored-generator.ts'
import { main } from '../../../src/cli/main.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { openEngine } from '../../../src/engine/open.ts'
import { moveRow } from '../../../src/legacy/import/move.ts'
import { planImport } from '../../../src/legacy/import/plan.ts'
import { openStores } from '../../../src/legacy/import/stores.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { engineOptions } from '../../conformance/store-under-test.ts'
import { atEnd, type Lifetime } from '../../launch/lifetime.ts'
import { startMariaDb } from '../../launch/mariadb.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { startPostgres } from '../../launch/postgres.ts'
import { type LegacyBench, legacyBench } from '../../legacy/bench.ts'
import { IssuedIds } from '../../legacy/ids.ts'
import { issue, startOldNode } from '../../legacy/old-nodes.ts'
import { schemas, tableOf } from '../../legacy/tables.ts'

const servers = [await startMariaDb({ after }), await startPostgres({ after })]

/** Runs the program in this process; what it prints is kept from the report. */
async function fahao(t: TestContext, ...args: string[]): Promise<{ code: number; output: string }> {
  let output = ''
  const take = (text: unknown) => {
    output += `${text}\n`
    return true
  }
  const stdout = t.mock.method(process.stdout, 'write', take as typeof process.stdout.write)
  const stderr = t.mock.method(console, 'error', take)
  try {
    return { code: await main(['node', 'fahao', ...args]), output }
  } finally {
    stdout.mock.restore()
    stderr.mock.restore()
  }
}

async function openTarget(lifetime: Lifetime, url: string): Promise<Engine> {
  const engine = await openEngine(url, engineOptions())
  atEnd(lifetime, () => engine.close())
  return engine
}

async function generator(
  engine: Engine,
  name: string,
): Promise<{ definition: Record<string, unknown> } | undefined> {
  const record = await engine.read(`generators/${name}`)
  return record && JSON.parse(record.value)
}

/** Everything in the database, as text: to see that nothing has changed. */
async function everything({ database: { send }, schema }: LegacyBench): Promise<string> {
  return JSON.stringify((await send(`SELECT * FROM ${tableOf[schema]} ORDER BY 1`)).rows)
}

for (const server of servers) {
  describe(`an import on ${server.kind}`, () => {
    if (server.kind === 'mysql')
      test('says beforehand that a column cannot hold the name of a row out of service', async (t) => {
        const bench = await legacyBench(t, server, 'idbuilder')
        await bench.add({ key: '7', bound: 10n, step: 5 })
        await bench.database.send('ALTER TABLE t_id_builder_config MODIFY id INT UNSIGNED NOT NULL')
        const before = await everything(bench)
        for (const dryRun of [['--dry-run'], []]) {
          const { code, output } = await fahao(
            t,
            'import',
            '--from',
            bench.url,
            '--into',
            bench.plainUrl,
            ...dryRun,
          )
          assert.equal(code, 1)
          assert.match(output, /does not let its row be taken out of service: .*nothing was changed/s)
        }
        assert.equal(await everything(bench), before)
      })

    for (const schema of schemas) {
      test(`within one database takes rows of ${schema} over while old nodes run`, async (t) => {
        const bench = await legacyBench(t, server, schema)
        await bench.add({ key: '7', bound: 1000n, step: 20, increment: 3, offset: 1, prefix: 'x_' })
        await bench.add({ key: '8', bound: 50n, step: 20 })
        const old = await startOldNode(schema, bench.database)
        const issued = new IssuedIds()
        await issue(old, '7', 30, issued)
        const busy = issue(old, '7', Number.POSITIVE_INFINITY, issued).then(
          () => undefined,
          (error) => error,
        )
        const { code, output } = await fahao(t, 'import', '7', '--from', bench.url, '--into', bench.plainUrl)
        assert.equal(code, 0, output)
        assert.match(output, /7 .*imported, goes on from \d+/)
        // Old nodes use up what they have, and get no more.
        assert.ok((await busy) instanceof Error)
        assert.equal(await bench.bound('7'), undefined)
        assert.equal(await bench.bound('8'), 50n)
        const target = await openTarget(t, bench.plainUrl)
        const { bound } = await target.counter('generators/7')
        assert.ok(Number(bound) > issued.sorted().at(-1)!, 'an id that was issued is above the bound')
        const { definition } = (await generator(target, '7'))!
        assert.equal(definition.kind, 'segment')
        assert.equal(definition.increment, schema === 'tinyid' ? 3 : 1)
        assert.equal(definition.offset, schema === 'tinyid' ? '1' : '0')
        assert.equal(definition.step, schema === 'tinyid' ? 6 : 20)
        assert.equal(definition.format, schema === 'idbuilder' ? 'x_{node}{id}' : undefined)
        assert.equal(await generator(target, '8'), undefined)
      })
    }

    test('done twice does nothing the second time', async (t) => {
      const bench = await legacyBench(t, server, 'leaf')
      await bench.add({ key: 'a', bound: 1000n, step: 20 })
      const args = ['import', '--from', bench.url, '--into', bench.plainUrl]
      assert.equal((await fahao(t, ...args)).code, 0)
      const target = await openTarget(t, bench.plainUrl)
      const before = [await everything(bench), await target.list(''), await target.counter('generators/a')]
      const { code, output } = await fahao(t, ...args)
      assert.equal(code, 0, output)
      assert.match(output, /imported before/)
      assert.deepEqual(
        [await everything(bench), await target.list(''), await target.counter('generators/a')],
        before,
      )
    })

    test('that is only tried shows every row, and changes nothing', async (t) => {
      const bench = await legacyBench(t, server, 'leaf')
      await bench.add({ key: 'a', bound: 1000n, step: 20 })
      await bench.add({ key: 'a b', bound: 1000n, step: 20 })
      await bench.add({ key: 'n'.repeat(120), bound: 1000n, step: 20 })
      const before = await everything(bench)
      const { code, output } = await fahao(
        t,
        'import',
        '--from',
        bench.url,
        '--into',
        bench.plainUrl,
        '--dry-run',
      )
      assert.equal(code, 1)
      assert.match(output, /a +1000 +20 +segment +would be imported/)
      assert.match(output, /white space/)
      assert.match(output, /no room/)
      assert.equal(await everything(bench), before)
      const tables = await bench.database.send(
        "SELECT table_name AS n FROM information_schema.tables WHERE table_name LIKE 'fahao%' AND table_schema = " +
          (server.kind === 'mysql' ? 'DATABASE()' : "'public'"),
      )
      assert.deepEqual(tables.rows, [])
      const file = join(temporaryFolder(t), 'new.db')
      await fahao(t, 'import', '--from', bench.url, '--into', `sqlite:${file}`, '--dry-run')
      const { existsSync } = await import('node:fs')
      assert.equal(existsSync(file), false)
    })

    test('into another engine wants the old nodes stopped, and takes rows and tokens with it', async (t) => {
      const bench = await legacyBench(t, server, 'tinyid')
      await bench.add({ key: 'a', bound: 1001n, step: 20, increment: 2, offset: 1 })
      await bench.database.send("INSERT INTO tiny_id_token (token, biz_type) VALUES ('secret', 'a')")
      const into = `sqlite:${join(temporaryFolder(t), 'fahao.db')}`
      const args = ['import', '--from', bench.url, '--into', into]
      const before = await everything(bench)
      const refused = await fahao(t, ...args)
      assert.equal(refused.code, 2)
      assert.match(refused.output, /--old-nodes-stopped/)
      assert.equal(await everything(bench), before)
      const done = await fahao(t, ...args, '--old-nodes-stopped')
      assert.equal(done.code, 0, done.output)
      assert.equal(await bench.bound('a'), undefined)
      const target = await openTarget(t, into)
      assert.equal((await target.counter('generators/a')).bound, 1001n)
      assert.equal((await generator(target, 'a'))!.definition.increment, 2)
      assert.notEqual(await target.read('tinyid-tokens/secret/a'), undefined)
      assert.equal((await fahao(t, ...args, '--old-nodes-stopped')).code, 0)
    })

    test('refuses rows below the ids that are in use, says by how much, and moves all or none', async (t) => {
      const bench = await legacyBench(t, server, 'leaf')
      await bench.add({ key: 'a', bound: 1000n, step: 20 })
      await bench.add({ key: 'b', bound: 1000n, step: 20 })
      const args = ['import', '--from', bench.url, '--into', bench.plainUrl]
      const { code, output } = await fahao(t, ...args, '--max-id', 'a=1000', '--max-id', 'b=999')
      assert.equal(code, 1)
      assert.match(output, /ids up to 1000 are in use: raise it by at least 1/)
      assert.match(output, /1 of 2 rows cannot be imported, so nothing was changed: .*name the rows/)
      assert.equal(await bench.bound('a'), 1000n)
      assert.equal(await bench.bound('b'), 1000n)
      const named = await fahao(t, ...args, 'b', '--max-id', 'b=999')
      assert.equal(named.code, 0, named.output)
      assert.equal(await bench.bound('a'), 1000n)
      assert.equal(await bench.bound('b'), undefined)
      assert.equal((await fahao(t, ...args, '--max-id', 'absent=1')).code, 2)
    })

    test('does not touch a generator that is there already', async (t) => {
      const bench = await legacyBench(t, server, 'leaf')
      await bench.add({ key: 'a', bound: 1000n, step: 20 })
      const target = await openTarget(t, bench.plainUrl)
      const own = { state: 'live', incarnation: '1', floor: '0', definition: { kind: 'segment' } }
      const record = await target.write('generators/a', JSON.stringify(own), undefined)
      const { code, output } = await fahao(t, 'import', '--from', bench.url, '--into', bench.plainUrl)
      assert.equal(code, 1)
      assert.match(output, /exists already/)
      assert.deepEqual(await target.read('generators/a'), record)
      assert.equal(await bench.bound('a'), 1000n)
    })

    test('whose row moves on meanwhile leaves nothing live', async (t) => {
      const bench = await legacyBench(t, server, 'leaf')
      await bench.add({ key: 'a', bound: 1000n, step: 20 })
      const into = `sqlite:${join(temporaryFolder(t), 'fahao.db')}`
      const stores = await openStores(bench.url, into, false)
      atEnd(t, () => stores.close())
      const old = await startOldNode('leaf', bench.database)
      const plan = () => planImport(stores, { names: [], maxIds: new Map(), nowUs: 0 })
      const [planned] = await plan()
      await old.next('a')
      await assert.rejects(moveRow(stores, planned!), { code: 'CONFLICT' })
      assert.equal(await stores.target.read('generators/a'), undefined)
      assert.equal(await bench.bound('a'), 1020n)
      assert.equal(await moveRow(stores, (await plan())[0]!), 1020n)
    })

    test('over a generator that was dropped leaves the name usable where it dies, and goes on', async (t) => {
      const bench = await legacyBench(t, server, 'leaf')
      await bench.add({ key: 'a', bound: 1000n, step: 20 })
      const into = `sqlite:${join(temporaryFolder(t), 'fahao.db')}`
      const stores = await openStores(bench.url, into, false)
      atEnd(t, () => stores.close())
      const { target } = stores
      const definition = define(parseOptions({ kind: 'segment' }), 0)
      const kept = { counter: undefined, floor: 0n, key: undefined, offsetGiven: false }
      const dropped = writeStored({ ...kept, state: 'dropped', incarnation: 2n, definition })
      await target.write('generators/a', dropped, undefined)
      await target.reserve('generators/a', { size: 0n, floor: 0n, incarnation: 2n, fence: 3n })
      const [planned] = await planImport(stores, { names: [], maxIds: new Map(), nowUs: 0 })
      const faulty = new FaultyEngine(target)
      faulty.next('write', 'lose-request')
      await assert.rejects(moveRow({ ...stores, target: faulty }, planned!))
      assert.equal(await bench.bound('a'), undefined)
      // As a client that creates it again seals its counter.
      await target.reserve('generators/a', { size: 0n, floor: 0n, incarnation: 2n, fence: 3n })
      const again = await fahao(t, 'import', '--from', bench.url, '--into', into, '--old-nodes-stopped')
      assert.equal(again.code, 0, again.output)
      const { state, incarnation, floor } = JSON.parse((await target.read('generators/a'))!.value)
      assert.deepEqual([state, incarnation, floor], ['live', '3', '1000'])
      // One that was dropped after its import stays so.
      const live = (await target.read('generators/a'))!
      const gone = writeStored({ ...readStored(live), state: 'dropped', incarnation: 4n })
      await target.write('generators/a', gone, live.version)
      assert.equal((await planImport(stores, { names: [], maxIds: new Map(), nowUs: 0 }))[0]!.todo, 'nothing')
    })

    test('continues the incarnations of a counter whose record was lost', async (t) => {
      const bench = await legacyBench(t, server, 'leaf')
      await bench.add({ key: 'a', bound: 1000n, step: 20 })
      const target = await openTarget(t, bench.plainUrl)
      await target.reserve('generators/a', { size: 10n, floor: 5000n, incarnation: 5n })
      const { code, output } = await fahao(t, 'import', '--from', bench.url, '--into', bench.plainUrl)
      assert.equal(code, 0, output)
      const stored = readStored((await target.read('generators/a'))!)
      assert.deepEqual([stored.incarnation, stored.floor], [6n, 5010n])
      await target.reserve('generators/a', { size: 1n, floor: 0n, incarnation: stored.incarnation })
    })

    for (const together of [true, false]) {
      const where = together ? 'one database' : 'two stores'
      for (const call of ['reserve', 'write'] as const) {
        for (const fault of ['lose-request', 'lose-reply'] as const) {
          test(`in ${where} that dies at a ${call} (${fault}) goes on where it was`, async (t) => {
            const bench = await legacyBench(t, server, 'leaf')
            await bench.add({ key: 'a', bound: 1000n, step: 20 })
            const into = together ? bench.plainUrl : `sqlite:${join(temporaryFolder(t), 'fahao.db')}`
            const stores = await openStores(bench.url, into, false)
            atEnd(t, () => stores.close())
            const faulty = new FaultyEngine(stores.target)
            const [planned] = await planImport(stores, {
              names: [],
              maxIds: new Map(),
              nowUs: 0,
            })
            faulty.next(call, fault)
            await moveRow({ ...stores, target: faulty }, planned!).catch(() => {})
            const record = await stores.target.read('generators/a')
            const inService = (await bench.bound('a')) !== undefined
            assert.ok(!(record && inService), 'both the old nodes and Fahao issue')
            const { code, output } = await fahao(
              t,
              ...['import', '--from', bench.url, '--into', into, '--old-nodes-stopped'],
            )
            assert.equal(code, 0, output)
            assert.notEqual(await stores.target.read('generators/a'), undefined)
            assert.equal((await stores.target.counter('generators/a')).bound, 1000n)
            assert.equal(await bench.bound('a'), undefined)
          })
        }
      }
    }
  })
}
