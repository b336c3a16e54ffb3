/** A node with as many generators, namespaces and patterns as there are on a large one, on which each request has most to do. */
import assert from 'node:assert/strict'
import { readTokenScope } from '../../../src/auth/token.ts'
import { readRules } from '../../../src/auth/user.ts'
import { MeteredCatalogue } from '../../../src/catalogue/metered-catalogue.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { createCommands } from '../../../src/commands/all.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { plainWorkerKey } from '../../../src/issuing/plain-worker-records.ts'
import { recordKey } from '../../../src/issuing/worker-records.ts'
import { openAnyEngine } from '../../../src/legacy/open.ts'
import { startNode } from '../../../src/node/start.ts'
import { startRespServer } from '../../../src/resp/server.ts'
import { type CommandRow, commandRows } from '../../unit/docs/permissions.ts'
import type { Filling } from './largest.ts'

/** To read as many records at once would take more than the test allows. */
const generators = 8000
const namespaces = 1000
/** Of generators, and of the pool that requests name. */
const workerIds = 8000
/** More words are no request: `resp-arguments-max`. */
const wordsMax = 1024

/** They end the connection, or the server. */
const ending = ['quit', 'shutdown', 'reset', 'client|kill', 'auth', 'hello']

/** The commands whose largest requests others have to bear. */
export const measuredCommands: readonly CommandRow[] = commandRows().filter(
  ({ name }) => !ending.includes(name),
)

/** 256 bytes, with the most that a pattern of stars can match of them. */
export const filling: Filling = {
  words: wordsMax,
  apart: true,
  name: (index) => `n:${'a'.repeat(246)}${String(index).padStart(8, 'c')}`,
  patterns: [`n:${'*a'.repeat(400)}*[a-z]?`, '*'],
}
const stars = (count: number, pairs: number) =>
  Array.from({ length: count }, (_, index) => `~n${'*a'.repeat(pairs)}*b${index}`)

/** A running node: `root` may do everything; `many` logs in with `token`, and both have the most patterns. */
export type CrowdedNode = {
  readonly respPort: number
  readonly app: ReturnType<typeof buildHttpApp>
  readonly token: string
  readonly close: () => Promise<void>
}

/** Starts it, in this process. */
export async function startCrowdedNode(open = openAnyEngine): Promise<CrowdedNode> {
  const compat = ['leaf', 'idbuilder', 'tinyid', 'cosid']
  const flags = { engine: 'memory:', resp: 'off', http: 'off', compat: compat as never }
  const { config } = loadConfig({ flags })
  const node = await startNode(config, { open })
  const { catalogue, engine, server, access } = node
  const nameOf = (index: number) => (index % 100 === 0 ? filling.name(index) : `g${index}`)
  await catalogue.create(nameOf(0), { kind: 'sequence' })
  // Their records are alike.
  const { value } = (await engine.read(generatorKey(nameOf(0))))!
  for (let index = 1; index < generators; index++)
    await engine.write(generatorKey(nameOf(index)), value, undefined)
  const worker = {
    owner: 'o',
    holder: 'h',
    epoch: 1,
    boundUs: 9e15,
    exclusive: false,
    startUs: 0,
    generator: 'g1',
  }
  for (let id = 0; id < workerIds; id++) await engine.write(recordKey(id), JSON.stringify(worker), undefined)
  const plain = {
    lease: 'l',
    epoch: 1,
    user: 'u',
    sinceUs: 0,
    untilUs: 9e15,
    restUs: 0,
    ttlUs: 0,
    stable: false,
  }
  for (let id = 0; id < workerIds; id++) {
    const record = JSON.stringify({ ...plain, owner: `host-${id}`, lastSeenMs: -1 })
    await engine.write(plainWorkerKey(nameOf(0), id), record, undefined)
  }
  for (let index = 0; index < namespaces; index++)
    await server.meters.namespaces.set(`n${index}`, { match: `n*?${index}`, idsPerSecond: 1e9 })
  const set = (name: string, ...rules: string[]) =>
    access.users.set(name, readRules(rules, access.subjects, access.passwords))
  await set('root', 'on', 'nopass', '~*', '+@all')
  await set('many', 'on', '>any password', '+@all', ...stars(31, 125), '~n:*')
  const scope = await readTokenScope([...stars(31, 30), '~n:?*'], access.subjects, access.passwords)
  const request = { user: 'many', label: '', lifetimeMs: undefined, by: 'root', ...scope }
  const { text: token } = await access.tokens.create(request)
  const resp = await startRespServer({
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
  const app = buildHttpApp({ node, host: '127.0.0.1', compat: config.compat })
  await app.ready()
  const close = async () => {
    await app.close()
    await resp.close(0)
    await node.close()
  }
  // As most are on a large node.
  for (let index = 0; index < generators; index++) await catalogue.open(nameOf(index))
  return { respPort: resp.port, app, token, close }
}
