import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { adviseInUse } from '../../../src/cli/advice.ts'
import type { GeneratorAnswer } from '../../../src/operations/shapes.ts'

type Stats = NonNullable<GeneratorAnswer['stats']>

function advise(
  kind: string,
  stats: Partial<Stats> | null,
  definition = {},
  mode: GeneratorAnswer['mode'] = 'node',
) {
  const usual: Stats = {
    leased: 0,
    gap: 0,
    drawn: 0,
    returned: 0,
    callersPerSecond: 0,
    issued: 1,
    ratePerSecond: 100,
    peakPerSecond: 100,
    inHand: 90_000,
    inHandSeconds: 900,
    reserved: 0,
    released: 0,
    dropped: 0,
    lost: 0,
    refills: 0,
    refillFailures: 0,
    refillSeconds: 0,
    waits: 0,
    drySeconds: 0,
    waiting: 0,
  }
  const generator: GeneratorAnswer = {
    name: 'g',
    kind,
    definition: { kind, horizon: '10m', step: 1000, stepMax: 10_000_000_000, ...definition },
    incarnation: '1',
    mode,
    bound: '1',
    leader: null,
    lastIssued: null,
    exhaustedAt: null,
    readers: '',
    notes: [],
    stats: stats && { ...usual, ...stats },
  }
  return adviseInUse(generator, 600)
}

describe('advice on a generator in use', () => {
  test('shows how long ids last now and at peak', () => {
    const advice = advise('segment', { peakPerSecond: 300 })!
    assert.deepEqual([advice.seconds, advice.secondsAtPeak], [900, 300])
    assert.equal(advise('snowflake', { peakPerSecond: 300, inHandSeconds: 700 })!.secondsAtPeak, 700)
    assert.equal(
      advise('segment', { ratePerSecond: 0, peakPerSecond: 0, inHandSeconds: null })!.secondsAtPeak,
      null,
    )
  })

  test('is empty while ids last long enough, and for group commit, which buffers nothing', () => {
    assert.equal(advise('segment', {})!.set, '')
    assert.equal(advise('snowflake', { inHandSeconds: 640 })!.set, '')
    assert.equal(
      advise('sequence', { inHand: 0, inHandSeconds: 0 }, { horizon: '1s' }, 'group commit')!.set,
      '',
    )
    assert.equal(advise('segment', null), undefined)
  })

  test('names a horizon that is too short, a stepMax that binds, and a step for peaks after quiet times', () => {
    assert.equal(advise('segment', {}, { horizon: '1m' })!.set, 'horizon 600s')
    assert.equal(advise('segment', {}, { stepMax: 50_000 })!.set, 'step-max 120000')
    assert.equal(advise('segment', { ratePerSecond: 10, peakPerSecond: 5000 })!.set, 'step 6000000')
    assert.equal(advise('segment', { ratePerSecond: 10, peakPerSecond: 5000 }, { step: 6_000_000 })!.set, '')
    assert.equal(advise('timestamp', {}, { horizon: '1m' })!.set, 'horizon 600s')
  })

  test('names a lead that is too short, unless the node is idle', () => {
    assert.equal(advise('snowflake', { inHandSeconds: 12 })!.set, '--lead 600s')
    assert.equal(advise('snowflake', { ratePerSecond: 0, inHandSeconds: 12 })!.set, '')
  })
})
