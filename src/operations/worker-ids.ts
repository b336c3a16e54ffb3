/** Plain worker ids, for generators in other processes: claim, renew, return, list. */
import { z } from 'zod'
import { poolLimits } from '../leasing/pools.ts'
import { duration, flag, key, optional, text, wholeNumber } from './argument.ts'
import { operation } from './operation.ts'
import { listedMax, nextWorker, pageArgs, workersPage } from './worker-pages.ts'

const path = '/v1/pools/{pool}/workers'
const leasePath = `${path}/{lease}`
const errors = ['ERR', 'CONFLICT', 'UNAVAILABLE', 'UNKNOWN', 'SHUTDOWN'] as const
/** The time to list a worker id of a pool, as the bytes of a reply that take as long. */
export const listedWork = 256

const natural = { as: 'natural' } as const
const [pool, leaseId] = [key('pool'), text('lease')]
const seen = optional(
  wholeNumber(
    'SEEN unix-ms',
    [0, 999_999_999_999_999],
    'the newest time of the holder, in Unix ms of its clock',
    natural,
  ),
)

const workerNumber = z.number().meta({ description: 'the worker id' })
const lastSeenMs = z.number().meta({ description: 'the newest time that a holder has reported; −1: none' })
const leaseShape = z
  .object({
    worker: workerNumber,
    lease: z.string(),
    ttlMs: z.number().meta({ description: 'from when the request was sent' }),
    restMs: z.number(),
    lastSeenMs,
    nowUs: z.number().meta({ description: 'Unix µs of the server' }),
  })
  .meta({ id: 'PlainWorkerLease' })
const returnedShape = z
  .object({ returned: z.boolean().meta({ description: 'false: there is no such lease' }) })
  .meta({ id: 'PlainWorkerReturned' })
const listShape = z
  .object({
    workers: z.array(
      z.object({
        worker: workerNumber,
        state: z.enum(['held', 'resting', 'kept', 'free']),
        owner: z.string(),
        user: z.string(),
        sinceUs: z.number(),
        untilUs: z.number(),
        stable: z.boolean(),
        lastSeenMs,
      }),
    ),
    next: nextWorker,
  })
  .meta({ id: 'PlainWorkers' })

const leasing = {
  permission: 'issue',
  effect: 'write',
  anyNode: true,
  reply: 'A map: worker, lease, ttlMs, restMs, lastSeenMs (−1: no holder has reported a time), nowUs.',
} as const

const leased = {
  worker: 0,
  lease: '0-1-f2b3312ceeacffad974cf486',
  ttlMs: 60_000,
  restMs: 60_000,
  lastSeenMs: -1,
  nowUs: 1793491160000000,
}

const claim = operation({
  ...leasing,
  name: 'id.worker|claim',
  summary: 'Claims the lowest free worker id of a pool.',
  args: {
    pool,
    owner: {
      ...text(
        'OWNER owner',
        'the name of the holder, without control and format characters: it gets its id again',
        256,
        1,
      ),
      missing: 'OWNER is missing; name the holder',
    },
    size: optional(
      wholeNumber('SIZE n', [1, poolLimits.sizeMax], 'ids are below it (default 1024)', natural),
    ),
    ttl: optional(duration('TTL ms', 'how long the lease lasts: 1s to 366d (default 60s)', natural)),
    rest: optional(
      duration(
        'REST ms',
        'for how long the id goes to no other owner after the lease (default: ttl)',
        natural,
      ),
    ),
    seen,
    stable: flag('STABLE', 'keeps the id for this owner after the lease'),
  },
  notes:
    'The holder may use the id for ttlMs from when it SENT the request, and longer if it renews. {owner} names the holder, in 1 to 256 bytes without control and format characters: a repeated claim, also on another node, gets the same id with a new lease, and ends the lease before. Ids are below {size} (default 1024, at most 65536). {ttl}: default 60000, 1000 to 366 days. {rest}: for how long the id goes to no other owner after the lease (default: {ttl}). {stable}: the id is kept for this owner until it claims without {stable}. `EXHAUSTED` if no id is free; the message says when one is. A pool exists once an id of it was claimed.',
  http: {
    id: 'claimWorker',
    method: 'POST',
    path,
    tag: 'workers',
    answer: ['The lease.', leaseShape],
    errors: [...errors, 'EXHAUSTED', 'BUSY', 'LIMIT'],
    example: { name: 'payments', query: 'owner=host-1&ttl=60s', answer: leased },
  },
  run({ caller, server }, { pool, owner, size, ttl, rest, seen, stable }) {
    const options = { owner, size, ttlMs: ttl, restMs: rest, seenMs: seen, stable }
    return server.pools.claim(pool, caller.access.user, options)
  },
})

const renew = operation({
  ...leasing,
  name: 'id.worker|renew',
  summary: 'Extends the lease of a plain worker id.',
  args: {
    pool,
    lease: leaseId,
    ttl: optional(duration('TTL ms', 'how long the lease lasts: 1s to 366d', natural)),
    seen,
  },
  notes:
    'To now and {ttl}, by default as long as before; never shortens it. {seen}: the newest time that the holder has used, in Unix ms of its own clock, at most a day ahead of the clock of the service. `NOLEASE`: the id is not the holder’s any more.',
  http: {
    id: 'renewWorker',
    method: 'PATCH',
    path: leasePath,
    tag: 'workers',
    answer: ['The lease.', leaseShape],
    errors: [...errors, 'NOLEASE', 'LIMIT'],
    example: { name: 'payments', lease: leased.lease, query: 'ttl=60s', answer: leased },
  },
  run: ({ server }, { pool, lease, ttl, seen }) =>
    server.pools.renew(pool, lease, { ttlMs: ttl, seenMs: seen }),
})

const giveBack = operation({
  ...leasing,
  name: 'id.worker|return',
  summary: 'Ends the lease of a plain worker id. The id rests before another owner gets it.',
  args: { pool, lease: leaseId, seen },
  reply: '1, or 0 where there is no such lease.',
  http: {
    id: 'returnWorker',
    method: 'DELETE',
    path: leasePath,
    tag: 'workers',
    answer: ['Whether there was such a lease.', returnedShape],
    errors,
    example: { name: 'payments', lease: leased.lease, answer: { returned: true } },
  },
  run: async ({ server }, { pool, lease, seen }) => ({
    returned: await server.pools.giveBack(pool, lease, seen),
  }),
  replied: ({ returned }) => returned,
})

const list = operation({
  permission: 'read',
  effect: 'readonly',
  name: 'id.worker|list',
  summary: 'Lists the worker ids of a pool that were claimed.',
  args: { pool, ...pageArgs },
  reply:
    'An array of maps in the order of the ids: worker, state, owner, user, sinceUs, untilUs, stable (1 or 0), lastSeenMs.',
  notes: `\`held\`: under a lease; \`resting\`: no owner but its own gets it yet; \`kept\`: only its own owner ever does (STABLE); \`free\`. An id that has been free for a day may be missing. For the next page, give the last worker id as {after}; a page with fewer than {limit} (default and maximum ${listedMax}) is the last.`,
  http: {
    id: 'listWorkers',
    method: 'GET',
    path,
    tag: 'workers',
    answer: ['The ids in ascending order.', listShape],
    errors: ['ERR', 'UNAVAILABLE', 'SHUTDOWN'],
    example: {
      name: 'payments',
      answer: {
        workers: [
          {
            worker: leased.worker,
            state: 'held',
            owner: 'host-1',
            user: 'alice',
            sinceUs: 1793491160000000,
            untilUs: 1793491220000000,
            stable: false,
            lastSeenMs: -1,
          },
        ],
        next: null,
      },
    },
  },
  async run({ server }, { pool, after, limit = listedMax }) {
    const workers = await server.pools.list(pool, { after, limit: limit + 1 })
    await server.turns.take(workers.length * listedWork)
    return workersPage(workers, limit)
  },
  replied: ({ workers }) => workers.map(({ stable, ...worker }) => ({ ...worker, stable })),
})

/** ID.WORKER CLAIM, RENEW, RETURN and LIST. */
export const workerOperations = [claim, renew, giveBack, list]
