/**
 * The largest request of every command over RESP and of every operation over HTTP, on a node with 20,000 generators, by an
 * administrator and by a token with as many and as long patterns as there may be: how much of it is done between two
 * rounds of the event loop, in which all others wait.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readNarrowing } from '../../../src/auth/token.ts'
import { readRules } from '../../../src/auth/user.ts'
import { MeteredCatalogue } from '../../../src/catalogue/metered-catalogue.ts'
import { createCommands } from '../../../src/commands/all.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { openAnyEngine } from '../../../src/legacy/open.ts'
import { loadConfig } from '../../../src/node/config.ts'
import type { FahaoNode } from '../../../src/node/node.ts'
import { startNode } from '../../../src/node/start.ts'
import { type RespServer, startRespServer } from '../../../src/resp/server.ts'
import { RawClient } from '../../launch/raw-client.ts'
import { commandRows, compatRows, operationRows } from '../../unit/docs/permissions.ts'
import { type Filling, largestOperation, largestRequests } from './largest.ts'
import { WorkMeter } from './work-meter.ts'

const generators = 20_000
const namespaces = 1000
/** Blocks of code between two rounds: some 10 ms of a machine as it is now. */
const workMax = 3_000_000
/** An advance, once after a store has forgotten, writes all records together and closes what is in use: some 50 ms. */
const advanceWorkMax = 15_000_000
/** To parse a record and to copy it out of a store takes as long as so many blocks. */
const recordWork = 500
/** They end the connection, or the server. */
const ending = ['quit', 'shutdown', 'reset', 'client|kill', 'auth', 'hello']

/** 256 bytes, with the most that a pattern of stars can match of them. */
const filling: Filling = {
  name: (index) => `n:${'a'.repeat(246)}${String(index).padStart(8, 'c')}`,
  patterns: [`n:${'*a'.repeat(400)}*[a-z]?`, '*'],
}
const stars = (count: number, pairs: number) =>
  Array.from({ length: count }, (_, index) => `~n${'*a'.repeat(pairs)}*b${index}`)

let node: FahaoNode
let resp: RespServer
let app: ReturnType<typeof buildHttpApp>
let meter: WorkMeter | undefined
let token = ''

before(async () => {
  const { config } = loadConfig({
    flags: {
      engine: 'memory:',
      resp: 'off',
      http: 'off',
      compat: ['leaf', 'idbuilder', 'tinyid', 'cosid'] as never,
    },
  })
  node = await startNode(config, { open: async (...args) => counting(await openAnyEngine(...args)) })
  const { catalogue, server, access } = node
  for (let index = 0; index < generators; index++)
    await catalogue.create(index % 100 === 0 ? filling.name(index) : `g${index}`, { kind: 'sequence' })
  const set = (name: string, ...rules: string[]) =>
    access.users.set(name, readRules(rules, access.subjects, access.passwords))
  for (let index = 0; index < namespaces; index++)
    await server.meters.namespaces.set(`n${index}`, { match: `n*?${index}`, idsPerSecond: 1e9 })
  await set('root', 'on', 'nopass', '~*', '+@all')
  await set('many', 'on', '>any password', '+@all', ...stars(31, 125), '~n:*')
  const narrowing = await readNarrowing([...stars(31, 30), '~n:?*'], access.subjects, access.passwords)
  const request = { user: 'many', label: '', lifetimeMs: undefined, by: 'root', ...narrowing }
  token = (await access.tokens.create(request)).text
  resp = await startRespServer({
    host: '127.0.0.1',
    port: 0,
    table: createCommands(),
    context: (session) => ({
      session,
      catalogue: new MeteredCatalogue(catalogue, server.meters, () => session.access.user),
      server,
    }),
    initialAccess: (certificate) => access.initialOf(certificate),
    onError: (error) => assert.fail(String(error)),
  })
  app = buildHttpApp({ node, host: '127.0.0.1', compat: config.compat })
  await app.ready()
  meter = new WorkMeter()
})
after(async () => {
  meter?.close()
  await app.close()
  await resp.close(0)
  await node.close()
})

for (const user of ['root', 'many'] as const) {
  describe(`a request of ${user === 'root' ? 'an administrator' : 'a token with the most patterns'} is done in turns`, () => {
    for (const row of commandRows().filter(({ name }) => !ending.includes(name))) {
      test(row.name, async () => {
        for (const words of largestRequests(row, filling)) {
          const client = await RawClient.connect(resp.port)
          await client.command('AUTH', user, user === 'root' ? 'any' : token)
          const work = await meter!.measure(() => client.command(...words))
          await client.close()
          check(work, words.slice(0, 6).join(' '))
        }
      })
    }
  })
}

describe('an HTTP request of a token with the most patterns is done in turns', async () => {
  const rows = [...(await operationRows()), ...compatRows()]
  // Afterwards no generator is in use.
  const last = rows.filter(({ path }) => path.endsWith('/advance'))
  for (const row of [...rows.filter((each) => !last.includes(each)), ...last]) {
    test(`${row.method} ${row.path}`, async () => {
      for (const { method, url, body } of largestOperation(row, filling)) {
        let status = 0
        const work = await meter!.measure(async () => {
          const answer = await app.inject({
            method: method as 'GET',
            url,
            headers: { host: 'localhost', authorization: `Bearer ${token}` },
            ...(body === undefined ? {} : { payload: body as object }),
          })
          status = answer.statusCode
        })
        const most = last.includes(row) ? advanceWorkMax : workMax
        check(work, `${method} ${url.slice(0, 60)} ${String(status)}`, most)
      }
    })
  }
})

/** The same engine; to read a record counts as work. */
function counting(engine: Engine): Engine {
  const { list, read } = engine
  return Object.assign(engine, {
    list: async (...args: Parameters<Engine['list']>) => {
      const records = await list.apply(engine, args)
      meter?.add(records.length * recordWork)
      return records
    },
    read: async (key: string) => {
      const record = await read.call(engine, key)
      meter?.add(recordWork)
      return record
    },
  })
}

function check(
  { most, total, rounds }: Awaited<ReturnType<WorkMeter['measure']>>,
  what: string,
  allowed = workMax,
): void {
  if (process.env.SHOW_WORK !== undefined && total > 0) console.log(most, total, rounds, what.slice(0, 70))
  assert.ok(most <= allowed, `${what}: ${most} blocks of code at once, of ${total} in ${rounds} rounds`)
}
