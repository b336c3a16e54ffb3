import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EarlierRanges } from '../../../src/leasing/earlier-ranges.ts'
import { Desk } from '../commands/desk.ts'

describe('ranges of earlier incarnations', () => {
  test('count until the latest deadline of those before', () => {
    const ranges = new EarlierRanges()
    ranges.note('g', 2n, 500)
    ranges.note('g', 2n, 300)
    assert.deepEqual([ranges.untilUs('g', 2n, 0), ranges.untilUs('g', 3n, 0)], [undefined, 500])
    ranges.note('g', 3n, 400)
    assert.deepEqual([ranges.untilUs('g', 3n, 0), ranges.untilUs('g', 3n, 500)], [500, undefined])
    // A reply may come after that of the next incarnation.
    ranges.note('g', 2n, 900)
    assert.deepEqual([ranges.untilUs('g', 3n, 0), ranges.untilUs('g', 4n, 0)], [900, 900])
    assert.equal(ranges.untilUs('other', 9n, 0), undefined)
  })

  test('are forgotten name by name when there are very many', () => {
    const ranges = new EarlierRanges()
    for (let each = 0; each < 10_001; each++) ranges.note(`g${each}`, 1n, 500)
    assert.deepEqual([ranges.untilUs('g0', 2n, 0), ranges.untilUs('g1', 2n, 0)], [undefined, 500])
  })

  test('stand in the description of a generator', async () => {
    const desk = new Desk()
    const generator = desk.catalogue.add('user', { kind: 'segment' })
    await desk.ask('ID.LEASE user TTL 60000')
    const noted = async () => {
      const { notes } = (await desk.ask('ID.INFO user')) as { notes: string[] }
      return notes.some((note) => /^until \d{4}-.*Z callers may issue ids of earlier incarnations/.test(note))
    }
    assert.equal(await noted(), false)
    const lease = generator.leaseRange.bind(generator)
    generator.leaseRange = async (ids) => ({ ...(await lease(ids)), incarnation: 0n })
    await desk.ask('ID.LEASE user TTL 60000')
    assert.equal(await noted(), true)
  })
})
