/** `POST /v1/engine/advance`: raises every counter of an engine that has lost writes. It ends the error REGRESSED. */
import { z } from 'zod'
import { FahaoError } from '../base/errors.ts'
import { jumpMax } from '../catalogue/floor.ts'
import { httpOperation } from './operation.ts'

const wanted = 'must be a whole number from 1 to 10^18, as a string'
const body = z
  .strictObject({
    by: z
      .string(wanted)
      .refine((text) => /^[1-9]\d{0,18}$/.test(text) && BigInt(text) <= 10n ** 18n, wanted)
      .meta({
        description:
          'more ids than any generator can have reserved since what the engine remembers: those issued, and one largest refill for each node and each crash',
        pattern: '^[1-9]\\d{0,18}$',
      }),
    force: z
      .boolean('must be true or false')
      .optional()
      .meta({ description: 'also by more than 2^40, which every counter gives up' }),
  })
  .meta({ id: 'Advance' })

const answer = z
  .object({ counters: z.int().meta({ description: 'how many counters were raised' }) })
  .meta({ id: 'Advanced' })

/** `POST /v1/engine/advance` */
export const advanceOperation = httpOperation({
  name: 'http|advance',
  permissions: { 'http|advance': ['admin', 'dangerous'] },
  change: 'advance',
  summary: 'Raises the bound of every counter, and accepts the engine’s present state as the truth.',
  notes:
    'For an engine that has forgotten acknowledged writes: a restored backup, a failover. See REGRESSED.',
  http: {
    id: 'advanceEngine',
    method: 'POST',
    path: '/v1/engine/advance',
    tag: 'engine',
    body,
    answer: ['Done, durably.', answer],
    errors: ['ERR', 'CONFLICT', 'EXHAUSTED', 'NOTOWNER', 'UNAVAILABLE', 'UNKNOWN', 'LIMIT'],
    example: { body: { by: '1000000' }, answer: { counters: 12 } },
  },
  changed: ({ by }) => `by ${by}`,
  async run({ server }, { by, force = false }) {
    const gap = BigInt(by)
    if (gap > jumpMax && !force)
      throw new FahaoError(
        'ERR',
        `every counter would give up ${by} ids for good, more than 2^40; if that is meant, repeat it with force`,
      )
    return { counters: await server.advance(gap) }
  },
})
