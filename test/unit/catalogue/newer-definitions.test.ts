/** Generators that a newer version of Fahao has defined: this one issues nothing of them, and leaves them as they are. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { repairGenerators } from '../../../src/recovery/repair-generators.ts'
import { type Node, startNode } from './node.ts'

const refused = { code: 'ENGINE', message: /'g' was defined by a newer Fahao, .*; upgrade this node/ }

/** A node that finds this in the definition of `g`, which another has written. */
async function withDefinition(changes: object): Promise<Node> {
  const first = await startNode()
  await first.catalogue.create('g', { kind: 'sequence' })
  const record = (await first.engine.read('generators/g'))!
  const stored = JSON.parse(record.value)
  Object.assign(stored.definition, changes)
  await first.engine.write(record.key, JSON.stringify(stored), record.version)
  await first.stop()
  return startNode({ store: first.store })
}

describe('a generator with an option or a kind that this version does not know', () => {
  for (const changes of [{ calendar: 'lunar' }, { kind: 'ledger' }]) {
    const what = Object.entries(changes).flat().join(' ')
    test(`is not issued from, nor changed: ${what}`, async () => {
      const { catalogue } = await withDefinition(changes)
      await assert.rejects(catalogue.open('g'), refused)
      await assert.rejects(catalogue.alter('g', { step: 5 }), refused)
      await assert.rejects(catalogue.drop('g'), refused)
    })
  }

  test('is raised by an advance, which keeps the option', async () => {
    const { engine } = await withDefinition({ calendar: 'lunar' })
    const repair = repairGenerators(0, 100n)(await engine.list(''))
    let step = repair.next()
    while (!step.done) step = repair.next()
    assert.match(step.value.records!.get('generators/g')!, /"calendar":"lunar"/)
    assert.equal(step.value.counters!.size, 1)
  })
})
