/** Prints memory as JSON: `node --expose-gc bench/memory-probe.ts use|keep|define|open ENGINE KIND COUNT` */
import { systemClock } from '../src/base/clock.ts'
import { FamilyIndex } from '../src/catalogue/families/family-index.ts'
import { FamilyRecords } from '../src/catalogue/families/family-records.ts'
import { parseOptions } from '../src/catalogue/generator-options.ts'
import { GeneratorRecords } from '../src/catalogue/generator-records.ts'
import { generatorKey } from '../src/catalogue/stored-generator.ts'
import { loadConfig } from '../src/config/load-config.ts'
import type { Kind } from '../src/index.ts'
import type { FahaoNode } from '../src/node/node.ts'
import { startNode } from '../src/node/start.ts'
import { memoryNow } from './probe.ts'

/**
 * Growth in bytes: by opening `COUNT` generators and issuing one id each (`use`), or by the engine's
 * share of them alone, a record and a counter each (`keep`).
 */
export type InUse = { readonly heapBytes: number; readonly residentBytes: number }
/** How long defining `COUNT` generators took. */
export type Defined = { readonly seconds: number }
/** A node that has just been opened. */
export type Opened = { readonly heapBytes: number; readonly residentBytes: number; readonly openMs: number }

const [task, engine = '', kind = '', countText] = process.argv.slice(2)
const count = Number(countText)
const together = 500

const startedMs = performance.now()
const { config } = loadConfig({ flags: { engine, resp: 'off', http: 'off' } })
const node = await startNode(config)
const openMs = performance.now() - startedMs
const result = await run(node)
await node.close()
console.log(JSON.stringify(result))

async function run(node: FahaoNode): Promise<InUse | Defined | Opened> {
  if (task === 'use') return use(node)
  if (task === 'keep') return keep(node)
  return task === 'define' ? define(node) : opened()
}

function use({ catalogue }: FahaoNode): Promise<InUse> {
  return growth(async (name) => {
    const generator = await catalogue.create(name, { kind: kind as Kind })
    await generator.draw(1)
  })
}

async function recordsOf({ engine, timeline }: FahaoNode): Promise<GeneratorRecords> {
  const deps = { engine, timeline, clock: systemClock }
  return new GeneratorRecords(deps, new FamilyRecords(deps, await FamilyIndex.open(engine)))
}

async function keep(node: FahaoNode): Promise<InUse> {
  const { engine } = node
  const records = await recordsOf(node)
  const options = parseOptions({ kind })
  return growth(async (name) => {
    await records.create(name, options)
    await engine.reserve(generatorKey(name), { size: 1000n, floor: 1n, incarnation: 1n })
  })
}

async function growth(task: (name: string) => Promise<void>): Promise<InUse> {
  // The first generator loads code, which is no cost of the others.
  for (let warm = 0; warm < 200; warm++) await task(`warm:${warm}`)
  const before = memoryNow()
  await each((index) => task(nameOf(index)))
  const after = memoryNow()
  return {
    heapBytes: after.heapBytes - before.heapBytes,
    residentBytes: after.residentBytes - before.residentBytes,
  }
}

async function define(node: FahaoNode): Promise<Defined> {
  const fromMs = performance.now()
  const records = await recordsOf(node)
  const options = parseOptions({ kind })
  await each((index) => records.create(nameOf(index), options))
  return { seconds: (performance.now() - fromMs) / 1000 }
}

function opened(): Opened {
  return { ...memoryNow(), openMs }
}

/** Runs a task for every index, several at a time, as a busy server would. */
async function each(task: (index: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += together) {
    const indices = Array.from({ length: Math.min(together, count - from) }, (_, offset) => from + offset)
    await Promise.all(indices.map(task))
  }
}

function nameOf(index: number): string {
  return `shop:${index % 1000}:order:${index}`
}
