/**
 * A node whose memory exists twice: the second process is given the same clocks, random numbers and answers of the
 * engine as the first, up to the snapshot, so that its memory is the same then.
 */
import assert from 'node:assert/strict'
import type { Config } from '../../../src/config/config-schema.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Run } from '../../../src/ids/run.ts'
import type { FahaoNode } from '../../../src/node/node.ts'
import { startNode } from '../../../src/node/start.ts'
import { SharedEngine } from '../catalogue/node.ts'
import { FakeClock } from '../fake-clock.ts'

/** One of the two processes. */
export type Twin = {
  readonly clock: FakeClock
  readonly node: FahaoNode
  /** The messages of its events. */
  readonly events: string[]
  /** Takes ids in one callback, as a connection does: those that are buffered. */
  readonly take: (name: string, count: number) => bigint[]
  /** Draws ids, and waits for them. */
  readonly draw: (name: string, count: number) => Promise<bigint[]>
}

/** How two processes are made. */
export type TwinOptions = {
  readonly config?: Partial<Config>
  readonly store?: MemoryStore
  /** Delays answers to the first process, which the second receives at the same time. */
  readonly late?: (what: string, answer: Promise<unknown>) => Promise<unknown>
}

type Call = { readonly what: string; readonly answer: Promise<unknown> }

const calls = new Set([
  'reserve',
  'release',
  'counter',
  'read',
  'lookUp',
  'list',
  'write',
  'remove',
  'ownership',
])

/** The engine, with each call answered by `answer`. */
function through(
  engine: Engine,
  answer: (what: string, call: () => Promise<unknown>) => Promise<unknown>,
): Engine {
  return new Proxy(engine, {
    get(target, name) {
      const member = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (!calls.has(String(name))) return member.bind(target)
      return (...args: unknown[]) =>
        answer(`${String(name)} ${args[0]}`, () => member.apply(target, args) as Promise<unknown>)
    },
  })
}

async function start(engine: Engine, changes: Partial<Config>): Promise<Twin> {
  const clock = new FakeClock()
  const events: string[] = []
  let ids = 0
  const node = await startNode(
    { ...loadConfig().config, resp: undefined, http: undefined, ...changes },
    {
      clock,
      random: () => 0.5,
      // Both processes go on with the same random numbers, as copies of one memory may.
      newId: () => `id-${++ids}`,
      open: async () => engine,
      onEvent: ({ message }) => events.push(message),
    },
  )
  const run = new Run()
  const take = (name: string, count: number) => {
    node.mayIssue()
    const ids: bigint[] = []
    while (ids.length < count) {
      const taken = node.catalogue.find(name)?.take(count - ids.length, run) ?? 0
      if (taken === 0) break
      for (let index = 0; index < taken; index++) ids.push(run.at(index))
    }
    return ids
  }
  const draw = async (name: string, count: number) => {
    node.mayIssue()
    const drawing = node.catalogue.open(name).then((generator) => generator.draw(count))
    await Promise.race([drawing, clock.pass(1000)])
    return idsOf(await drawing)
  }
  return { clock, node, events, take, draw }
}

/** The ids of runs. */
export function idsOf(runs: readonly Run[]): bigint[] {
  return runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
}

/** Two processes with the memory that a node has after `story`, on one store that many nodes may share. */
export async function twins(
  story: (twin: Twin) => Promise<void>,
  { config = {}, store = new MemoryStore(), late }: TwinOptions = {},
): Promise<[Twin, Twin]> {
  const tape: Call[] = []
  let isRecording = true
  const recorded = through(new SharedEngine(store), (what, call) => {
    const answer = late === undefined ? call() : late(what, call())
    if (isRecording) tape.push({ what, answer })
    return answer
  })
  const original = await start(recorded, config)
  await story(original)
  isRecording = false
  const replayed = through(new SharedEngine(store), (what, call) => {
    const next = tape.shift()
    if (next === undefined) return call()
    assert.equal(what, next.what)
    return next.answer
  })
  const copy = await start(replayed, config)
  await story(copy)
  assert.deepEqual(tape, [], 'the copy has received every answer')
  return [original, copy]
}
