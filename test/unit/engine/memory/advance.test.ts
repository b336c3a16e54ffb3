/** An advance of many records, between whose parts others read and write. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { repairEach } from '../../../../src/engine/advance-rules.ts'
import { MemoryEngine, MemoryStore } from '../../../../src/engine/memory/engine.ts'
import { nextTurn } from '../../../../src/engine/next-turn.ts'

const records = 1000
const keyOf = (index: number) => `r/${String(index).padStart(4, '0')}`
const repair = repairEach(({ value }) => `${value}+`)

/** An engine with records and counters, and one that shares its store. */
async function filled(t: TestContext): Promise<MemoryEngine[]> {
  const store = new MemoryStore()
  const engines = [new MemoryEngine(store), new MemoryEngine(store)]
  t.after(() => Promise.all(engines.map((engine) => engine.close())))
  for (let index = 0; index < records; index++) {
    await engines[0]!.write(keyOf(index), 'old', undefined)
    await engines[0]!.reserve(`c${index}`, { size: 10n, incarnation: 1n })
  }
  return engines
}

test('others run between the parts of an advance, and see each record and each counter before or after it', async (t) => {
  const [engine, other] = (await filled(t)) as [MemoryEngine, MemoryEngine]
  let isOver = false
  const advanced = engine.advance(1000n, repair).finally(() => {
    isOver = true
  })
  let rounds = 0
  for (; !isOver; rounds++) {
    await nextTurn()
    for (const { value } of await other.list('r/')) assert.ok(['old', 'old+'].includes(value))
    for (const name of ['c0', 'c500', 'c999'])
      assert.ok([10n, 1010n].includes((await other.counter(name)).bound))
  }
  assert.equal(await advanced, records)
  assert.ok(rounds >= 20, `${rounds} rounds`)
  assert.deepEqual(new Set((await other.list('r/')).map(({ value }) => value)), new Set(['old+']))
})

for (const moment of ['is computed', 'is carried out'] as const)
  test(`an advance undoes no record that is written while the repair ${moment}`, async (t) => {
    const [engine, other] = (await filled(t)) as [MemoryEngine, MemoryEngine]
    const advanced = engine.advance(1000n, repair)
    const last = keyOf(records - 1)
    const { version } = (await other.read(last))!
    if (moment === 'is carried out') while ((await other.read(keyOf(0)))!.value === 'old') await nextTurn()
    const written = await other.write(last, 'new', version)
    await advanced
    assert.equal((await other.read(last))!.value, written === undefined ? 'old+' : 'new+')
    assert.equal((await other.read(keyOf(0)))!.value, 'old+')
  })
