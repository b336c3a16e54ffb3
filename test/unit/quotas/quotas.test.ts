import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { FahaoError } from '../../../src/base/errors.ts'
import { readNamespace } from '../../../src/quotas/namespace.ts'
import { Meter, Quota } from '../../../src/quotas/quotas.ts'

const secondUs = 1_000_000
const midnightUs = Date.UTC(2026, 5, 1) * 1000

/** A meter over one quota for each set of options, at a time that the test sets. */
function metered(...options: object[]) {
  const time = { us: midnightUs }
  const quotas = options.map(
    (each, index) => new Quota(readNamespace(`n${index}`, { match: '*', owner: 'team-a', ...each }), time.us),
  )
  return { time, quotas, meter: new Meter(quotas, () => time.us) }
}

/** What a call throws. */
function thrownBy(call: () => unknown): FahaoError {
  try {
    call()
  } catch (error) {
    if (error instanceof FahaoError) return error
    throw error
  }
  return assert.fail('it threw nothing')
}

async function rejection(promise: Promise<unknown>): Promise<FahaoError> {
  return promise.then(
    () => assert.fail('it resolved'),
    (error) => error,
  )
}

function issue(meter: Meter, count: number): number {
  const allowed = meter.allowed(count)
  meter.issued(allowed)
  return allowed
}

describe('a quota of ids per second', () => {
  test('allows a burst of one second, then as many ids as the time brings', () => {
    const { time, meter } = metered({ idsPerSecond: 1000 })
    assert.equal(issue(meter, 1500), 1000)
    const error = thrownBy(() => meter.allowed(1))
    assert.equal(error.code, 'QUOTA')
    assert.equal(error.retryable, true)
    assert.equal(error.retryAfterMs, 1)
    assert.equal(error.message, 'a namespace may issue 1000 ids a second on this node; retry in 1 ms')
    time.us += 3500
    assert.equal(issue(meter, 1500), 3)
    time.us += 3600 * secondUs
    assert.equal(issue(meter, 1500), 1000, 'no more than a burst is saved up')
  })

  test('says when a large request can succeed, and it does then', async () => {
    const { time, meter } = metered({ idsPerSecond: 1000 })
    issue(meter, 1000)
    const draw = () => meter.draw(350, () => Promise.resolve('ids'))
    assert.equal((await rejection(draw())).retryAfterMs, 350)
    time.us += 349_999
    assert.equal((await rejection(draw())).retryAfterMs, 1)
    time.us += 1
    assert.equal(await draw(), 'ids')
  })

  test('refuses for good a request that is larger than its burst', async () => {
    const { meter } = metered({ idsPerSecond: 1000 }, { idsPerDay: 400 })
    const error = await rejection(meter.draw(401, () => assert.fail('it drew')))
    assert.equal(error.code, 'LIMIT')
    assert.equal(error.retryable, false)
    assert.equal(error.message, 'a namespace may issue at most 400 ids at once; ask for fewer at a time')
    assert.equal(issue(meter, 500), 400, 'the refused request is charged nothing')
  })

  test('goes on with what it has counted when its limit changes', () => {
    const { time, meter, quotas } = metered({ idsPerSecond: 1000, idsPerDay: 5000 })
    issue(meter, 1000)
    quotas[0]!.change(readNamespace('n0', { match: '*', idsPerSecond: 2000, idsPerDay: 1500 }), time.us)
    assert.equal(thrownBy(() => meter.allowed(1)).code, 'QUOTA')
    time.us += secondUs / 2
    assert.equal(issue(meter, 9999), 500, 'of 1000 at the new rate the day has 500 left')
  })
})

describe('a quota of ids per day', () => {
  test('of one id names one id', () => {
    const { meter } = metered({ idsPerDay: 1 })
    assert.equal(issue(meter, 1), 1)
    assert.match(
      thrownBy(() => meter.allowed(1)).message,
      /may issue 1 id a day on this node, .* retry in 24h$/,
    )
  })

  test('ends at midnight UTC', () => {
    const { time, meter } = metered({ idsPerDay: 100 })
    time.us += (18 * 60 - 7) * 60 * secondUs - 1
    assert.equal(issue(meter, 70), 70)
    assert.equal(issue(meter, 70), 30)
    assert.match(thrownBy(() => meter.allowed(1)).message, /; retry in 6h 8m$/)
    time.us += 7 * 60 * secondUs + 1
    const error = thrownBy(() => meter.allowed(1))
    assert.equal(error.code, 'QUOTA')
    assert.equal(error.retryAfterMs, 6 * 3_600_000)
    assert.equal(
      error.message,
      'a namespace may issue 100 ids a day on this node, and 0 are left until midnight UTC; retry in 6h',
    )
    time.us += 6 * 3600 * secondUs
    assert.equal(issue(meter, 200), 100)
  })

  test('shows the share that is used up', () => {
    const { time, meter, quotas } = metered({ idsPerDay: 100 }, { idsPerSecond: 1000 })
    issue(meter, 25)
    assert.deepEqual(
      quotas.map((quota) => quota.figures(time.us).shareOfDay),
      [0.25, undefined],
    )
  })
})

describe('a meter', () => {
  test('charges all of its quotas or none', async () => {
    const { meter, quotas, time } = metered({ idsPerSecond: 1000 }, { idsPerDay: 10 })
    assert.equal((await rejection(meter.draw(20, () => assert.fail('it drew')))).code, 'LIMIT')
    assert.equal(issue(meter, 20), 10)
    assert.equal((await rejection(meter.draw(5, () => assert.fail('it drew')))).code, 'QUOTA')
    assert.deepEqual(
      quotas.map(({ issued }) => issued),
      [10, 10],
    )
    assert.equal(quotas[0]!.available(time.us), 990)
  })

  test('gives the charge of a draw that rejects back', async () => {
    const { meter, quotas, time } = metered({ idsPerSecond: 1000, idsPerDay: 5000 })
    const failed = meter.draw(600, () => Promise.reject(new FahaoError('DRY', 'dry')))
    assert.equal(quotas[0]!.available(time.us), 400, 'it counts while the draw is under way')
    assert.equal((await rejection(failed)).code, 'DRY')
    assert.equal(quotas[0]!.available(time.us), 1000)
    assert.equal(quotas[0]!.figures(time.us).shareOfDay, 0)
    assert.equal(quotas[0]!.issued, 0)
  })

  test('gives a charge of yesterday back to yesterday', async () => {
    const { meter, quotas, time } = metered({ idsPerDay: 100 })
    const drawing = Promise.withResolvers<never>()
    const failed = meter.draw(60, () => drawing.promise)
    time.us += 86_400 * secondUs
    issue(meter, 30)
    drawing.reject(new FahaoError('DRY', 'dry'))
    await rejection(failed)
    assert.equal(quotas[0]!.available(time.us), 70)
  })

  test('lets as many callers wait as the namespace allows', async () => {
    const { meter, quotas } = metered({ waiting: 2 })
    const gate = Promise.withResolvers<string>()
    const draw = () =>
      meter.draw(1, (onWait) => {
        onWait()
        return gate.promise
      })
    const waiting = [draw(), draw()]
    assert.equal(quotas[0]!.waiting, 2)
    const refused = await rejection(draw())
    assert.equal(refused.code, 'BUSY')
    assert.match(refused.message, /^a namespace has 2 requests waiting on this node already/)
    gate.resolve('ids')
    assert.deepEqual(await Promise.all(waiting), ['ids', 'ids'])
    assert.equal(quotas[0]!.waiting, 0)
    assert.equal(await draw(), 'ids')
  })

  test('refuses many requests with one error, which costs no stack trace each', () => {
    const { meter, quotas } = metered({ idsPerSecond: 1 })
    issue(meter, 1)
    assert.equal(
      thrownBy(() => meter.allowed(1)),
      thrownBy(() => meter.allowed(1)),
    )
    assert.equal(quotas[0]!.refused, 2)
  })

  test('never lets more through than the quota and its burst, and serves each caller that waits as long as it is told', () => {
    const steps = fc.array(
      fc.record({ passUs: fc.nat(3 * secondUs), count: fc.integer({ min: 1, max: 5000 }) }),
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), steps, (idsPerSecond, taken) => {
        const { meter, time } = metered({ idsPerSecond })
        const issues: { us: number; count: number }[] = []
        for (const { passUs, count } of taken) {
          time.us += passUs
          try {
            issues.push({ us: time.us, count: issue(meter, count) })
          } catch (error) {
            time.us += (error as FahaoError).retryAfterMs! * 1000
            issues.push({ us: time.us, count: issue(meter, 1) })
          }
        }
        for (let from = 0; from < issues.length; from++) {
          let sum = 0
          for (const { us, count } of issues.slice(from)) {
            sum += count
            const seconds = (us - issues[from]!.us) / secondUs
            assert.ok(sum <= idsPerSecond * (1 + seconds), `${sum} in ${seconds} s`)
          }
        }
      }),
    )
  })
})
