import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { everything } from '../../../src/auth/access.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { Moved } from '../../../src/base/moved.ts'
import { createCommands } from '../../../src/commands/all.ts'
import { ok } from '../../../src/commands/command.ts'
import { CommandTable } from '../../../src/commands/table.ts'
import { Forwarder } from '../../../src/forwarding/forwarder.ts'
import { dialPlain } from '../../../src/listening/dial.ts'
import { CallerSession } from '../../../src/operations/caller-session.ts'
import type { ClusterView } from '../../../src/operations/context.ts'
import { blockOperation, nextOperation } from '../../../src/operations/drawing.ts'
import { alterOperation, createOperation, dropOperation } from '../../../src/operations/generators.ts'
import { moveOperation, newestOperation } from '../../../src/operations/newest.ts'
import type { GeneratorOperation } from '../../../src/operations/operation.ts'
import { LeaderTransport, leadersOf } from '../../../src/resp/leader-calls.ts'
import { Desk } from '../commands/desk.ts'
import { proving, serve } from './peer.ts'

/** A node that leads every generator, and a caller at another node: its operations are refused there. */
async function leaderAndCaller(t: TestContext) {
  const desk = new Desk()
  const hello = { ...createCommands().get('hello')!, handler: helloOfNode }
  const table = new CommandTable([
    ...createCommands()
      .all()
      .filter(({ name }) => name !== 'hello'),
    hello,
  ])
  const { catalogue, server: view } = desk
  const { server } = await serve(t, { table, context: (session) => ({ session, catalogue, server: view }) })
  const leader = { node: 'leader', slot: 1, resp: `127.0.0.1:${server.port}`, http: undefined }
  const cluster = { listen: () => () => {}, lead: () => ({ state: 'here' }) } as unknown as ClusterView
  const forwarder = new Forwarder(cluster, new LeaderTransport(systemClock, 5000, dialPlain, proving), true)
  t.after(() => forwarder.close())
  const leaders = leadersOf(new Desk().catalogue, forwarder)
  const facts = { id: 9, address: '10.0.0.7:5000', localAddress: '10.0.0.1:5432', door: 'postgres' }
  const session = new CallerSession({ ...facts, access: everything }, { unreadBytes: () => 0, close() {} })
  const run = <Values extends { readonly name: string }, Answer>(
    operation: GeneratorOperation<Values, Answer>,
    values: Values,
  ) => leaders.carryOut(operation, values, session, () => Promise.reject(new Moved(leader)))
  return { desk, run }
}

function helloOfNode({ session }: { readonly session: { protocol: 2 | 3 } }) {
  session.protocol = 3
  return ok
}

test('each operation is asked of the leader in words that it knows, and its answer is read as it was given', async (t) => {
  const { desk, run } = await leaderAndCaller(t)
  await run(createOperation, { name: 'order', options: { kind: 'sequence', start: 5n, stepMax: 2000 } })
  const { start, stepMax } = desk.catalogue.generators.get('order')!.definition
  assert.deepEqual([start, stepMax], [5n, 2000])
  const one = await run(nextOperation, { name: 'order', count: 1n })
  assert.deepEqual([one.count, one.at(0)], [1, '5'])
  const some = await run(nextOperation, { name: 'order', count: 3n })
  assert.deepEqual([some.count, some.at(0), some.at(2), some.heldBytes], [3, '6', '8', 120])
  assert.equal(await run(blockOperation, { name: 'order', count: 10n }), 9n)
  assert.equal(await run(newestOperation, { name: 'order' }), 18n)
  assert.equal(await run(newestOperation, { name: 'missing' }), undefined)
  assert.equal(await run(moveOperation, { name: 'order', newest: 30n, condition: 'XX' }), true)
  assert.equal(await run(moveOperation, { name: 'missing', newest: 30n, condition: 'XX' }), false)
  assert.equal(await run(moveOperation, { name: 'order', newest: 40n, condition: 'XX', force: true }), true)
  assert.equal(desk.catalogue.find('order')!.forced, true)
  await run(alterOperation, { name: 'order', changes: { max: 9000n, floor: 50n, force: true, now: false } })
  assert.equal(desk.catalogue.find('order')!.definition.max, 9000n)
  assert.equal(await run(dropOperation, { name: 'order' }), true)
  assert.equal(await run(dropOperation, { name: 'order' }), false)
})

test('the error of the leader is that of the caller, and the trail of the leader has the address of the caller', async (t) => {
  const { desk, run } = await leaderAndCaller(t)
  await assert.rejects(run(nextOperation, { name: 'missing', count: 1n }), { code: 'NOGENERATOR' })
  await run(createOperation, { name: 'order', options: { kind: 'sequence' } })
  const [entry] = await desk.trail.stored()
  assert.equal(entry!.object, 'order')
})

test('each operation on a generator has words for the leader', () => {
  const sourceOf = (path: string) => readFileSync(new URL(`../../../src/${path}`, import.meta.url), 'utf8')
  const declared = globSync('operations/*.ts', { cwd: new URL('../../../src/', import.meta.url) }).flatMap(
    (path) =>
      [...sourceOf(path).matchAll(/export const (\w+) = generatorOperation\(/g)].map((match) => match[1]!),
  )
  assert.ok(declared.length >= 6)
  const forms = [...sourceOf('resp/leader-calls.ts').matchAll(/form\(\s*(\w+),/g)].map((match) => match[1])
  assert.deepEqual(
    declared.filter((name) => !forms.includes(name)),
    [],
  )
})
