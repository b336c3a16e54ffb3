/** Watched records under lost replies, with a store that goes back, two writers, and one whose watch reports late. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { FahaoError } from '../../../src/base/errors.ts'
import type { StoredRecord } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { type RecordForm, WatchedRecords } from '../../../src/engine/watched-records.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { LateEngine } from '../catalogue/node.ts'
import { settled } from '../fake-clock.ts'

/** `count`: how many changes led to the value; `change`: whose change it is. */
type Value = {
  readonly name: string
  readonly revision: number
  readonly change: string
  readonly count: number
}

let changes = 0

function parsed(name: string, text: string): Value | undefined {
  return text === 'unreadable' ? undefined : { name, ...JSON.parse(text) }
}

/** Values that outlive what a store forgets, as users do. */
const kept: RecordForm<Value> = {
  prefix: 'kept/',
  read: parsed,
  write: ({ name: _, ...stored }) => JSON.stringify(stored),
  revisionOf: ({ revision }) => revision,
  isSame: (one, other) => one.change === other.change,
  hasToGo: () => false,
  isKept: () => true,
  unreadable: (_, known) => known,
  contradicted: (_, known) => ({ ...known, revision: known.revision + 1, change: String(++changes) }),
  changed: () => {},
  contended: (name) => `${name} is being changed`,
}

/** Values that are what the store has, as namespaces are. */
const { contradicted: _, ...rest } = kept
const asStored: RecordForm<Value> = {
  ...rest,
  prefix: 'stored/',
  revisionOf: () => 0,
  hasToGo: () => true,
  isKept: () => false,
  unreadable: () => undefined,
}

/** A process: its engine, and what it knows. */
class Process {
  readonly late: LateEngine
  readonly engine: FaultyEngine
  readonly records: WatchedRecords<Value>

  constructor(store: MemoryStore, form: RecordForm<Value>) {
    this.late = new LateEngine(store)
    this.engine = new FaultyEngine(this.late)
    this.records = new WatchedRecords(this.engine, form)
  }

  /** One more change of a name, which is in force when it is acknowledged, unless a later one is. */
  async count(name: string): Promise<void> {
    const changed = await this.records.change(name, (before) => ({
      name,
      revision: (before?.revision ?? 0) + 1,
      change: String(++changes),
      count: (before?.count ?? 0) + 1,
    }))
    const [after, now] = [changed!.after, this.records.get(name)!]
    assert.ok(now.revision > after.revision || now.change === after.change, `${name} is not as changed`)
  }

  get values(): ReadonlyMap<string, Value> {
    return new Map([...this.records.values()].map((value) => [value.name, value]))
  }
}

const names = ['a', 'b'] as const
const steps = fc.array(
  fc.record({
    action: fc.constantFrom(
      ...(['count', 'count', 'both', 'remove', 'reconcile', 'restart', 'go back'] as const),
      ...(['hear late', 'hear', 'deliver'] as const),
    ),
    by: fc.constantFrom(0, 1),
    name: fc.constantFrom(...names),
    fault: fc.option(fc.constantFrom('lose-request', 'lose-reply', 'late', 'unavailable')),
    /** To which of the earlier states the store goes back. */
    back: fc.nat(),
  }),
  { minLength: 5, maxLength: 40 },
)
type Steps = typeof steps extends fc.Arbitrary<infer Each> ? Each : never

/** What became of the changes of a name. */
type Outcomes = { done: number; unknown: number }

async function live(history: Steps, form: RecordForm<Value>): Promise<void> {
  const store = new MemoryStore()
  const start = async () => {
    const process = new Process(store, form)
    await process.records.open()
    return process
  }
  const processes = [await start(), await start()]
  const outcomes = new Map<string, Outcomes>(names.map((name) => [name, { done: 0, unknown: 0 }]))
  const states: ReadonlyMap<string, StoredRecord>[] = []
  const mayRemove = form.hasToGo({ name: '', revision: 0, change: '', count: 0 })
  let isExact = true
  const note = (name: string, work: Promise<unknown>) =>
    work.then(
      () => outcomes.get(name)!.done++,
      (error) => {
        assert.ok(error instanceof FahaoError)
        assert.match(error.code, /^(UNKNOWN|UNAVAILABLE|CONFLICT)$/)
        if (error.code === 'UNKNOWN') outcomes.get(name)!.unknown++
      },
    )
  for (const { action, by, name, fault, back } of history) {
    const process = processes[by]!
    states.push(new Map(store.records))
    const seen = processes.map(({ values }) => values)
    if (fault !== null) process.engine.next('write', fault)
    if (action === 'count') await note(name, process.count(name))
    else if (action === 'both') await Promise.all(processes.map((each) => note(name, each.count(name))))
    else if (action === 'remove' && mayRemove) {
      isExact = false
      if (fault !== null) process.engine.next('remove', fault)
      await process.records.remove(name).catch(() => false)
    } else if (action === 'reconcile') await process.records.reconcile().catch(() => [])
    else if (action === 'hear late') process.late.late = true
    else if (action === 'hear') process.late.report()
    else if (action === 'deliver') await process.engine.deliver()
    else if (action === 'restart') {
      process.records.close()
      process.engine.heal()
      processes[by] = await start()
    } else if (action === 'go back') {
      isExact = false
      store.records.clear()
      for (const [key, record] of states[back % states.length]!) store.records.set(key, record)
    }
    process.engine.heal()
    await settled()
    for (const [at, each] of processes.entries())
      if (!mayRemove && !(action === 'restart' && at === by))
        for (const [known, { revision, change }] of seen[at]!) {
          const now = each.values.get(known)!
          const isLater = now.revision > revision || now.change === change
          assert.ok(isLater, `${known} became another change of revision ${revision}, or of an earlier one`)
        }
  }
  for (const { engine, late } of processes) {
    await engine.deliver()
    late.report()
  }
  await settled()
  const highest = new Map<string, number>()
  for (const { values } of processes)
    for (const { name, revision } of values.values())
      highest.set(name, Math.max(highest.get(name) ?? 0, revision))
  // The second takes what the first has written.
  for (const { records } of [...processes, ...processes]) await records.reconcile()
  await settled()
  const later = await start()
  const stored = new Map(
    [...store.records.values()].map(({ key, value }) => {
      const name = key.slice(form.prefix.length)
      return [name, parsed(name, value)]
    }),
  )
  for (const { values } of [...processes, later]) assert.deepEqual(values, stored)
  for (const [name, revision] of mayRemove ? [] : highest)
    assert.ok(later.values.get(name)!.revision >= revision, `${name} was lost`)
  for (const [name, { done, unknown }] of isExact ? outcomes : []) {
    const count = later.values.get(name)?.count ?? 0
    assert.ok(count >= done && count <= done + unknown, `${name}: ${done} ≤ ${count} ≤ ${done + unknown}`)
  }
  for (const { records } of [...processes, later]) records.close()
}

describe('watched records', () => {
  for (const [what, form] of [
    ['that outlive what a store forgets', kept],
    ['that are what the store has', asStored],
  ] as const)
    test(`${what} lose no acknowledged change, repeat none, and agree on every node in the end`, async () => {
      await fc.assert(
        fc.asyncProperty(steps, (history) => live(history, form)),
        { numRuns: 100 },
      )
    })

  test('are changed although requests and replies of the write were lost, and are not changed twice', async () => {
    for (const faults of [
      ['lose-reply'],
      ['lose-request'],
      ['lose-request', 'lose-reply'],
      ['late'],
    ] as const) {
      const process = new Process(new MemoryStore(), kept)
      const { engine, records } = process
      await records.open()
      for (const fault of faults) engine.next('write', fault)
      await process.count('a')
      await engine.deliver()
      await settled()
      assert.deepEqual([records.get('a')?.count, records.get('a')?.revision], [1, 1], String(faults))
    }
  })

  test('that were removed are gone on other nodes, and what the store has lost is not', async () => {
    const store = new MemoryStore()
    for (const [form, key, count] of [
      [asStored, 'stored/a', undefined],
      [kept, 'kept/a', 1],
    ] as const) {
      const one = new Process(store, form)
      await one.records.open()
      await one.count('a')
      await new MemoryEngine(store).remove(key, store.records.get(key)!.version)
      await settled()
      assert.equal(one.records.get('a')?.count, count)
      assert.deepEqual(await one.records.reconcile(), count === undefined ? [] : ['a'])
      assert.equal(store.records.has(key), count !== undefined)
    }
  })

  test('are as reported where a list or a read was begun before', async () => {
    const store = new MemoryStore()
    const one = new Process(store, asStored)
    await one.records.open()
    await one.count('a')
    const other = new MemoryEngine(store)
    const held = one.engine.hold('read')
    const listed = one.records.reconcile()
    // A change that is reported after the list: the record is read again, and is removed during that read.
    await Promise.resolve()
    const { version } = store.records.get('stored/a')!
    await other.remove('stored/a', version)
    await settled()
    held.letGo()
    await listed
    assert.equal(one.records.get('a'), undefined)
  })

  test('that cannot be read are reported, and are not in force', async () => {
    const engine = new MemoryEngine(new MemoryStore())
    await engine.write('stored/a', 'unreadable', undefined)
    const reported: string[] = []
    const records = new WatchedRecords(engine, {
      ...asStored,
      unreadable: (name) => void reported.push(name),
    })
    await records.open()
    assert.deepEqual([reported, records.size], [['a'], 0])
    assert.equal(await records.remove('a'), true)
  })
})
