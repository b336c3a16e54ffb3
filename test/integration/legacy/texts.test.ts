/** The texts of an IdBuilder's rows: those that the old service would have written, by every way in which a text leaves. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { main } from '../../../src/cli/main.ts'
import { openFahao } from '../../../src/index.ts'
import { type FahaoServer, startFahao } from '../../launch/fahao.ts'
import { atEnd } from '../../launch/lifetime.ts'
import { startMariaDb } from '../../launch/mariadb.ts'
import { startPostgres } from '../../launch/postgres.ts'
import { type LegacyBench, legacyBench } from '../../legacy/bench.ts'
import { IdBuilderNode } from '../../legacy/idbuilder.ts'

const servers = [await startMariaDb({ after }), await startPostgres({ after })]
const prefixes = ['sms_', '', null, 'a{b}_'] as const

/** One row for each prefix, in order or not; its code is the place of the prefix, from 1. */
async function benchOf(
  t: TestContext,
  server: (typeof servers)[number],
  { shuffled = false } = {},
): Promise<LegacyBench> {
  const bench = await legacyBench(t, server, 'idbuilder')
  for (const [at, prefix] of prefixes.entries())
    await bench.add({ key: String(at + 1), bound: 1n, step: 100, prefix, shuffled })
  return bench
}

/** Each way in which a text leaves the server at `server`: the next text of a code. */
function waysOut(
  server: FahaoServer,
  path: string,
): Readonly<Record<string, (code: string) => Promise<string>>> {
  const fetched = async (url: string, init?: RequestInit) =>
    (await fetch(`${server.http}${url}`, init)).text()
  return {
    "IdBuilder's path": (code) => fetched(`/id-builder/${path}?code=${code}`),
    HTTP: (code) =>
      fetched(`/v1/generators/${code}/next`, { method: 'POST', headers: { accept: 'text/plain' } }),
    async 'ID.NEXT'(code) {
      const client = await server.connect()
      try {
        return String(await client.command('ID.NEXT', code))
      } finally {
        await client.close()
      }
    },
  }
}

/** The id in a text that a node with this index wrote; fails for any other text. */
function idOf(text: string, prefix: string | null, index: string): bigint {
  const before = `${prefix}${index}`
  assert.ok(text.startsWith(before), `${text} does not start with ${before}`)
  assert.match(text.slice(before.length), /^[1-9]\d*$/)
  return BigInt(text.slice(before.length))
}

for (const server of servers) {
  const on = `on ${server.kind}`

  for (const shuffled of [false, true])
    test(`are biz_code, node and id, whatever the biz_code, ${shuffled ? 'in no order' : 'in order'} ${on}`, async (t) => {
      const bench = await benchOf(t, server, { shuffled })
      const old = new IdBuilderNode(bench.database)
      const args = ['--node-index', '2', '--compat', 'idbuilder']
      const ways = waysOut(
        await startFahao(t, { engine: bench.url, args }),
        shuffled ? 'increase-id-str' : 'increase-seq-id-str',
      )
      const library = await openFahao({ engine: bench.url, nodeIndex: 2 })
      atEnd(t, () => library.close())
      for (const [at, prefix] of prefixes.entries()) {
        const code = String(at + 1)
        const ids = [idOf(await old.nextText(code), prefix, '1')]
        for (const [way, next] of Object.entries(ways)) {
          const text = await next(code)
          ids.push(idOf(text.trim(), prefix, '2'))
          assert.ok(text.length > 0, way)
        }
        ids.push(idOf(await (await library.open(code)).nextText(), prefix, '2'))
        assert.equal(new Set(ids).size, ids.length)
      }
    })

  test(`of Fahao and of an old node are never the same ${on}`, async (t) => {
    const bench = await benchOf(t, server)
    const old = new IdBuilderNode(bench.database)
    const fahao = await openFahao({ engine: bench.url, nodeIndex: 1 })
    atEnd(t, () => fahao.close())
    for (const [at] of prefixes.entries()) {
      const code = String(at + 1)
      const texts = new Set<string>()
      for (let count = 0; count < 2000; count++) texts.add(await old.nextText(code))
      // Up to 12000: the old node has written 11711 of its id 1711.
      const generator = await fahao.open(code)
      for (let count = 0; count < 12_000; count++) texts.add(await generator.nextText())
      assert.equal(texts.size, 14_000)
    }
  })

  test(`of nodes whose indexes have one width by zeros in front are never the same ${on}`, async (t) => {
    const bench = await benchOf(t, server)
    const texts = new Set<string>()
    for (const [nodeIndex, ids] of [
      ['11', 2000],
      ['01', 12_000],
    ] as const) {
      const fahao = await openFahao({ engine: bench.url, nodeIndex })
      atEnd(t, () => fahao.close())
      await fahao.alter('2', { stepMax: 1000 })
      const generator = await fahao.open('2')
      for (let count = 0; count < ids; count++) texts.add(await generator.nextText())
    }
    // An index of 1 instead of 01 would repeat a text: 1 and 11711, 11 and 1711.
    assert.equal(texts.size, 14_000)
  })

  test(`follow the biz_code, also where there was none ${on}`, async (t) => {
    const bench = await benchOf(t, server)
    const engine = await bench.open()
    const formatOf = async () => JSON.parse((await engine.list('legacy/'))[2]!.value).format
    for (const prefix of [null, '-', '', null, 'null', '=']) {
      await bench.database.send('UPDATE t_id_builder_config SET biz_code = ? WHERE id = 3', [prefix])
      assert.equal(await formatOf(), `${prefix}{node}{id}`)
    }
  })

  test(`stay the same after an import ${on}`, async (t) => {
    const bench = await benchOf(t, server)
    const stdout = t.mock.method(process.stdout, 'write', () => true)
    const code = await main(['node', 'fahao', 'import', '--from', bench.url, '--into', bench.plainUrl])
    stdout.mock.restore()
    assert.equal(code, 0)
    const fahao = await openFahao({ engine: bench.plainUrl, nodeIndex: 2 })
    atEnd(t, () => fahao.close())
    for (const [at, prefix] of prefixes.entries())
      assert.equal(idOf(await (await fahao.open(String(at + 1))).nextText(), prefix, '2'), 1n)
  })
}
