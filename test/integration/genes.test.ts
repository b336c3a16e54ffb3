/** Generators whose callers give the lowest bits of each id, over every way in: each takes a gene, or refuses and uses no id up. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { Client } from 'pg'
import { connect } from '../../client/src/index.ts'
import { startCluster } from '../launch/cluster.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort } from '../launch/places.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { encodeCommand } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { asking, ended } from './cli-program.ts'

const scope = new Scope()
after(() => scope.end())

const layout = 'time:41,node:6,sequence:6,gene:10;epoch=2024-01-01T00:00:00.000Z'
const kinds = {
  sequence: ['GENE', '10'],
  segment: ['GENE', '10'],
  timestamp: ['LAYOUT', layout],
  snowflake: ['LAYOUT', layout],
} as const
const needed = /'[\w:]+' needs a gene with each draw: GENE 0 to 1023, or BY key/
const geneOf = (id: unknown) => Number(BigInt(id as string) % 1024n)
const user = crc32('user:8812') % 1024

async function post(server: FahaoServer, path: string) {
  const answer = await fetch(`${server.http}${path}`, { method: 'POST' })
  return { status: answer.status, text: await answer.text() }
}

describe('one server', () => {
  let server: FahaoServer
  let redis: RawClient
  let postgres: Client
  /** Over every way in: genes that were asked for, and the ids. */
  const drawn: Record<string, [gene: number, id: bigint][]> = {}

  before(async () => {
    const port = await freePort()
    const compat = ['leaf', 'idbuilder', 'cosid', 'tinyid'].flatMap((name) => ['--compat', name])
    server = await startFahao(scope, { args: [...compat, '--postgres', `127.0.0.1:${port}`] })
    redis = await server.connect()
    for (const [kind, options] of Object.entries(kinds))
      assert.equal(await redis.command('ID.CREATE', kind, 'KIND', kind, ...options), 'OK')
    assert.equal(await redis.command('ID.CREATE', 'shop.order', 'KIND', 'segment', 'GENE', '10'), 'OK')
    assert.equal(await redis.command('ID.CREATE', 'plain', 'KIND', 'sequence'), 'OK')
    postgres = new Client({ host: '127.0.0.1', port, user: 'default', database: 'ids' })
    await postgres.connect()
    scope.after(() => postgres.end())
  })

  const note = (name: string, gene: number, ids: unknown) => {
    drawn[name] ??= []
    for (const id of [ids].flat()) drawn[name].push([gene, BigInt(id as string)])
  }
  const error = async (...words: string[]) => {
    const reply = await redis.command(...words)
    assert.ok(reply instanceof ReplyError, `${words.join(' ')} has replied ${String(reply)}`)
    return reply.text
  }

  test('fahao-client reads raw ids, whatever format the generator got after it was opened', async () => {
    for (const url of [`redis://127.0.0.1:${server.resp}`, server.http]) {
      const name = `altered:${new URL(url).protocol}`
      await redis.command('ID.CREATE', name, 'KIND', 'sequence', 'GENE', '10')
      const client = await connect(url)
      const generator = await client.generator(name)
      const first = await generator.next({ gene: 5 })
      for (const [index, format] of ['{id}{check:luhn}', 'x-{id}', '{id::base36}'].entries()) {
        assert.equal(await redis.command('ID.ALTER', name, 'FORMAT', format), 'OK')
        assert.equal(await generator.next({ gene: 5 }), first + 1024n * BigInt(index + 1))
      }
      await client.close()
      const text = `${first + 4096n}`
      assert.equal(await redis.command('ID.NEXT', name, 'RAW', 'GENE', '5'), text)
      assert.deepEqual(await redis.command('ID.NEXT', name, 'COUNT', '1', 'RAW', 'GENE', '5'), [
        `${first + 5120n}`,
      ])
      const next = async (query: string) =>
        JSON.parse((await post(server, `/v1/generators/${name}/next?${query}`)).text)
      assert.deepEqual(await next('gene=5&raw=true'), { ids: [`${first + 6144n}`] })
      const formatted = (first + 7168n).toString(36).toUpperCase()
      assert.deepEqual(
        (await next('gene=5&raw=false')).ids.map((id: string) => id.toUpperCase()),
        [formatted],
      )
      for (const words of [
        ['RAW', 'RAW'],
        ['RAW', '5'],
        ['RAW', 'COUNT'],
      ])
        await error('ID.NEXT', name, ...words)
    }
  })

  for (const kind of Object.keys(kinds))
    test(`issues ids of a ${kind} with a gene over RESP, HTTP, the command line and fahao-client`, async (t) => {
      note(kind, 37, await redis.command('ID.NEXT', kind, 'GENE', '37'))
      note(kind, user, await redis.command('ID.NEXT', kind, 'BY', 'user:8812'))
      note(kind, 0, await redis.command('ID.NEXT', kind, 'COUNT', '100', 'GENE', '0'))
      const each = (await redis.command('ID.NEXT', kind, 'GENE', '1', '2', '3')) as string[]
      for (const [index, id] of each.entries()) note(kind, index + 1, id)
      const next = async (query: string) => {
        const { status, text } = await post(server, `/v1/generators/${kind}/next?${query}`)
        assert.equal(status, 200, text)
        return JSON.parse(text).ids as string[]
      }
      note(kind, 1023, await next('gene=1023'))
      note(kind, 5, await next('count=7&gene=5'))
      note(kind, user, await next('by=user%3A8812'))
      const [four, six] = await next('gene=4&gene=6')
      note(kind, 4, four)
      note(kind, 6, six)
      const run = asking(t, server)
      note(kind, user, ended(await run('next', kind, '--by', 'user:8812'))[1])
      const lines = String(ended(await run('next', kind, '--count', '3', '--gene', '9'))[1])
      note(kind, 9, lines.split('\n'))
      for (const url of [`redis://127.0.0.1:${server.resp}`, server.http]) {
        const client = await connect(url)
        const generator = await client.generator(kind)
        assert.equal(generator.tryNext(), undefined)
        note(kind, 11, await generator.next({ gene: 11 }))
        note(kind, user, await generator.nextText({ by: 'user:8812' }))
        note(kind, 12, await generator.nextBatch(3, { gene: [12, 12, 12] }))
        await assert.rejects(generator.next(), { code: 'ERR', message: needed })
        await assert.rejects(generator.nextNumber(), { message: needed })
        await client.close()
      }
      const ids = drawn[kind]!
      assert.deepEqual(
        ids.map(([gene]) => gene),
        ids.map(([, id]) => geneOf(id)),
      )
      const all = ids.map(([, id]) => id)
      assert.deepEqual(
        all,
        [...new Set(all)].sort((a, b) => (a < b ? -1 : 1)),
        'in order, whatever the genes',
      )
      const decoded = (await redis.command('ID.DECODE', String(ids[0]![1]), kind)) as unknown[]
      assert.equal(Number(decoded[decoded.indexOf('gene') + 1]), 37)
    })

  test('refuses every way that gives no gene, and uses no id up', async (t) => {
    const issued = async (kind: string) => {
      const { stats } = (await (await fetch(`${server.http}/v1/generators/${kind}`)).json()) as {
        stats: { issued: number }
      }
      return stats.issued
    }
    for (const kind of Object.keys(kinds)) {
      const before = await issued(kind)
      for (const words of [
        ['INCR', kind],
        ['INCRBY', kind, '1'],
        ['INCRBY', kind, '5'],
        ['ID.NEXT', kind],
        ['ID.NEXT', kind, 'COUNT', '5'],
        ['ID.RANGE', kind, '5'],
        ['ID.RUNS', kind, '1'],
        ['ID.RUNS', kind, '5'],
      ])
        assert.match(await error(...words), needed, words.join(' '))
      for (const path of ['next', 'next?count=5', 'range', 'range?count=5', 'runs', 'runs?count=5']) {
        const { status, text } = await post(server, `/v1/generators/${kind}/${path}`)
        assert.equal(status, 400, text)
        assert.match(text, needed)
      }
      await assert.rejects(postgres.query(`SELECT nextval('${kind}')`), { message: needed })
      await assert.rejects(postgres.query(`SELECT nextval('${kind}') FROM generate_series(1, 5)`), {
        message: needed,
      })
      const leaf = kind === 'sequence' || kind === 'segment' ? 'segment' : 'snowflake'
      const old = await fetch(`${server.http}/api/${leaf}/get/${kind}`)
      assert.notEqual(old.status, 200)
      for (const path of ['increase-seq-id', 'increase-seq-id-str', 'increase-id'])
        assert.notEqual((await fetch(`${server.http}/id-builder/${path}?code=${kind}`)).status, 200)
      assert.match(String(ended(await asking(t, server)('next', kind))[1] ?? ''), /^$/)
      assert.equal(await issued(kind), before, `none of a ${kind} is used up`)
    }
    const cosid = await fetch(`${server.http}/segments/shop/order?step=5`, { method: 'PATCH' })
    assert.notEqual(cosid.status, 200)
    for (const kind of ['segment', 'snowflake']) {
      const lease = (await redis.command('ID.LEASE', kind)) as unknown[]
      assert.equal(lease[lease.indexOf('lease') + 1], null, 'nothing is leased, and callers ask')
    }
  })

  test('refuses genes that are none of the generator, with what to give', async () => {
    assert.match(await error('ID.NEXT', 'segment', 'GENE', '1024'), /gene 1024 is not one of 'segment'/)
    assert.match(
      await error('ID.NEXT', 'segment', 'COUNT', '3', 'GENE', '1', '2'),
      /2 genes do not fit 3 ids/,
    )
    assert.match(await error('ID.NEXT', 'plain', 'GENE', '1'), /'plain' has no bits for a gene/)
    for (const [query, message] of [
      ['gene=1024', /gene 1024 is not one of/],
      ['gene=x', /query parameter 'gene.*must be a whole number/],
      ['gene=1&by=a', /give one of GENE and BY/],
      ['count=3&gene=1&gene=2', /2 genes do not fit 3 ids/],
      ['count=3&count=4&gene=1', /'count' is given 2 times/],
    ] as const) {
      const { status, text } = await post(server, `/v1/generators/segment/next?${query}`)
      assert.equal(status, 400, text)
      assert.match(text, message)
    }
    assert.match((await post(server, '/v1/generators/plain/next?by=a')).text, /has no bits for a gene/)
    assert.equal(String(await redis.command('INCR', 'plain')), '1')
  })
})

describe('a cluster', () => {
  test('carries genes to the leader, over RESP, HTTP and fahao-client', async () => {
    const nodes = await startCluster(scope, [['--forward'], ['--forward']])
    const clients = await Promise.all(nodes.map((node) => node.connect()))
    const names = Array.from({ length: 8 }, (_, at) => `order:${at}`)
    for (const name of names)
      assert.equal(await clients[0]!.command('ID.CREATE', name, 'KIND', 'sequence', 'GENE', '10'), 'OK')
    for (const name of names) {
      const ids: [gene: number, id: unknown][] = []
      for (const [index, node] of nodes.entries()) {
        const client = clients[index]!
        ids.push([37, await client.command('ID.NEXT', name, 'GENE', '37')])
        ids.push([user, await client.command('ID.NEXT', name, 'BY', 'user:8812')])
        const many = (await client.command('ID.NEXT', name, 'COUNT', '2', 'GENE', '1', '2')) as string[]
        ids.push([1, many[0]], [2, many[1]])
        const { text } = await post(node, `/v1/generators/${name}/next?gene=7&gene=8`)
        const [seven, eight] = JSON.parse(text).ids as string[]
        ids.push([7, seven], [8, eight])
        const own = await connect(node.http)
        ids.push([9, await (await own.generator(name)).next({ gene: 9 })])
        await own.close()
        const refused = await client.command('INCR', name)
        assert.match(String((refused as ReplyError).text), needed)
        assert.equal((await post(node, `/v1/generators/${name}/next`)).status, 400)
      }
      assert.deepEqual(
        ids.map(([, id]) => geneOf(id)),
        ids.map(([gene]) => gene),
      )
      const all = ids.map(([, id]) => BigInt(id as string))
      assert.deepEqual(
        all,
        [...new Set(all)].sort((a, b) => (a < b ? -1 : 1)),
      )
    }
    const pipeline = await nodes[0]!.connect()
    const genes = Array.from({ length: 100 }, (_, at) => at)
    pipeline.send(
      Buffer.concat(genes.map((gene) => encodeCommand(['ID.NEXT', names[gene % 8]!, 'GENE', gene]))),
    )
    for (const gene of genes) assert.equal(geneOf(await pipeline.read()), gene)
  })
})
