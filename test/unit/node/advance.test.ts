/** An advance by hand, on the node that is asked for it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { decode } from '../../../src/ids/id-parts.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { readWorker, recordKey } from '../../../src/issuing/worker-records.ts'
import type { FahaoNode } from '../../../src/node/node.ts'
import { startNode } from '../../../src/node/start.ts'
import { SharedEngine } from '../catalogue/node.ts'

/** When the next snowflake says that it was made, in Unix µs. */
async function timeOfNext({ catalogue }: FahaoNode): Promise<bigint> {
  const [run] = await (await catalogue.open('snow')).draw(1)
  return decode(parseLayout('twitter'), run!.first).unixUs
}

test('an advance ends the claims of worker ids on every node, also on the one that runs it', async (t) => {
  const store = new MemoryStore()
  const start = async () => {
    const { config } = loadConfig({ flags: { engine: 'memory:' } })
    const node = await startNode(config, { open: async () => new MemoryEngine(store) })
    t.after(() => node.close())
    return node
  }
  const forgotten = await start()
  await forgotten.catalogue.create('snow', { kind: 'snowflake' })
  const before = new Map(store.records)
  await timeOfNext(forgotten)
  const { boundUs } = readWorker(store.records.get(recordKey(0))!)
  store.records.clear()
  for (const [key, record] of before) store.records.set(key, record)
  const node = await start()
  await timeOfNext(node)
  assert.equal(node.workerId, forgotten.workerId)
  await node.advance(1000n)
  assert.ok((await timeOfNext(node)) >= boundUs)
})

/** Two nodes on one store; the first one hears of an advance when it is told, and the promise then tells that it has acted. */
async function twoNodes(t: TestContext) {
  const store = new MemoryStore()
  const { config } = loadConfig({ flags: { engine: 'memory:', 'auto-create': 'ruled=segment' } })
  let hear = () => {}
  const isReadAgain = Promise.withResolvers<void>()
  const survivor = await startNode(config, {
    open: async (_url, { onAdvanced }) => {
      hear = () => onAdvanced?.()
      return new SharedEngine(store)
    },
    onEvent: ({ message }) => {
      if (message.includes('has read its records anew')) isReadAgain.resolve()
    },
  })
  const node = await startNode(config, { open: async () => new SharedEngine(store) })
  t.after(() => Promise.all([survivor.close(), node.close()]))
  return {
    survivor,
    node,
    forget(name: string) {
      store.records.delete(generatorKey(name))
      store.counters.delete(generatorKey(name))
    },
    hear() {
      hear()
      return isReadAgain.promise
    },
  }
}

for (const when of ['after', 'before'] as const)
  test(`a generator whose creation is forgotten begins above what nodes have reserved, created ${when} they hear of the advance`, async (t) => {
    const { survivor, node, forget, hear } = await twoNodes(t)
    const issued = new Map<string, bigint>()
    const kinds = ['sequence', 'segment'] as const
    for (const kind of kinds) await survivor.catalogue.create(kind, { kind })
    // A rule creates the last name; its range came with its record.
    for (const name of [...kinds, 'ruled']) {
      const [run] = await (await survivor.catalogue.open(name)).draw(1)
      issued.set(name, run!.first)
      forget(name)
    }
    await node.advance(1000n)
    if (when === 'after') await hear()
    for (const kind of kinds) await node.catalogue.create(kind, { kind })
    if (when === 'before') await hear()
    for (const [name, last] of issued) {
      const [run] = await (await node.catalogue.open(name)).draw(1)
      assert.ok(run!.first > last, `${name} begins at ${run!.first}, after ${last}`)
    }
  })

test('a scrambled generator whose creation is forgotten is not created again: another key would repeat its ids', async (t) => {
  const { survivor, node, forget, hear } = await twoNodes(t)
  const options = { kind: 'segment', scramble: true, max: '9999' } as const
  await (await survivor.catalogue.create('code', options)).draw(1000)
  forget('code')
  await node.advance(1000n)
  await hear()
  await assert.rejects(node.catalogue.create('code', options), {
    code: 'ERR',
    message: /scrambled ones could repeat them; use another name/,
  })
  await node.catalogue.create('code', { kind: 'segment' })
})
