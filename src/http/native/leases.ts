/** The operations on leases: a caller takes one, renews it, gives it back; and the list of worker ids. */
import { z } from 'zod'
import {
  drawnMax,
  leaseOf,
  listedAnswer,
  listedMax,
  noteDrawn,
  returnOf,
  shownWorkers,
  workerAnswer,
} from '../../commands/id-lease.ts'
import { clientAddress } from '../caller.ts'
import { type IssuingNode, openFor } from '../issuing-node.ts'
import { jsonAnswer, leaseIdOf, nameOf, type Operation, readQuery, refuseBody } from '../operation.ts'
import {
  definitionShape,
  duration,
  nextWorker,
  wholeNumber,
  workersPage,
  workersPageQuery,
} from './shapes.ts'

const path = '/v1/generators/{name}/leases'
const leasePath = `${path}/{lease}`
const writeErrors = ['ERR', 'CONFLICT', 'UNAVAILABLE', 'UNKNOWN', 'REGRESSED', 'SHUTDOWN'] as const
const leaseErrors = [...writeErrors, 'NOGENERATOR', 'WRONGTYPE', 'EXHAUSTED', 'STALE'] as const

const ttl = duration(
  'how long the span is: 1s to 15m (default 60s); how long ranges may be used: 1s to 1d (default 10m)',
).optional()
const moment = z
  .string('must be Unix time in µs')
  .regex(/^(?:0|[1-9]\d{0,15})$/, 'must be Unix time in µs')
  .meta({ type: 'integer', description: '`untilUs` of the last answer for this lease' })
  .transform(Number)
const first = z
  .string('must be a whole number')
  .regex(/^(?:0|[1-9]\d{0,18})$/, 'must be a whole number')
  .meta({
    type: 'integer',
    description: 'what is unused begins here: of a worker lease Unix time in µs, of a range a raw value',
  })
  .transform(BigInt)
const drawn = wholeNumber(0, drawnMax, 'how many ids the caller has issued since its last report').optional()
const renewQuery = z.strictObject({ until: moment, ttl, drawn })
const returnQuery = z.strictObject({
  from: first,
  until: moment
    .optional()
    .meta({ description: '`untilUs` of the last answer for a worker lease, which needs it' }),
  drawn,
})
const listQuery = z.strictObject({
  match: z.string().max(256).optional().meta({ description: 'a glob pattern of names: * ? [a-z]' }),
  ...workersPageQuery,
})

const microseconds = z.number().meta({ description: 'Unix time in µs' })
const leaseShape = z
  .object({
    kind: z.string(),
    incarnation: z.string(),
    definition: definitionShape,
    nowUs: microseconds,
    drawnMax: z.number().meta({ description: 'the most ids of one report' }),
    lease: z.string().nullable().meta({ description: 'null: nothing is leased; ask for each id' }),
    worker: z.number().optional().meta({ description: 'the worker id' }),
    fromUs: microseconds.optional(),
    ranges: z
      .array(z.tuple([z.string(), z.string()]))
      .optional()
      .meta({ description: 'half-open, in raw values of the counter' }),
    ttlMs: z.number().optional().meta({ description: 'the caller drops the rest so long after its request' }),
    key: z.string().nullable().optional().meta({ description: 'of a scrambled generator' }),
    untilUs: microseconds
      .optional()
      .meta({ description: 'Unix time in µs; the first moment beyond the span' }),
  })
  .meta({ id: 'Lease' })
const returnedShape = z
  .object({ returned: z.boolean().meta({ description: 'false: it stays unused' }) })
  .meta({ id: 'LeaseReturned' })
const listShape = z
  .object({
    workers: z.array(
      z.object({
        worker: z.number(),
        by: z.enum(['node', 'caller']),
        holder: z.string(),
        generator: z.string().nullable(),
        user: z.string().nullable(),
        fromUs: microseconds.nullable(),
        untilUs: microseconds,
        state: z.enum(['held', 'resting']),
      }),
    ),
    next: nextWorker,
  })
  .meta({ id: 'WorkerLeases' })

/** The answer of `GET /v1/leases`. */
export type LeasesAnswer = z.output<typeof listShape>

/** Everything at `/v1/generators/{name}/leases`, and `GET /v1/leases`. */
export function leaseOperations(node: IssuingNode): Operation[] {
  return [lease(node), renew(node), giveBack(node), list(node)]
}

function lease(node: IssuingNode): Operation {
  const { server } = node
  const countMax = Number(server.incrByMax)
  const query = z.strictObject({
    count: wholeNumber(1, countMax, 'how many ids, where ranges are leased').optional(),
    ttl,
    drawn,
    holder: z.string().max(128).optional().meta({
      description: 'a name for lists, without control and format characters (default: the address)',
    }),
  })
  return {
    id: 'lease',
    command: 'id.lease',
    method: 'POST',
    path,
    tag: 'ids',
    summary: 'Leases ids of a generator to a caller that issues them in its own process.',
    notes:
      'Any node answers. Of a snowflake: a worker id, and the span of time in which the caller may stamp ids in whole units of time. Of a segment: ranges of raw values. Of a strict kind nothing is leased: `lease` is null, as it is of a scrambled generator unless the user has the permission `lease|scrambled`, and of a snowflake with units of time of more than 30 s, or in a namespace with LEASES 0, or with RATE or DAILY and no LEASES.',
    query,
    answers: { 200: jsonAnswer('The lease.', leaseShape) },
    errors: leaseErrors,
    example: { name: 'event', query: 'ttl=60s&holder=mail' },
    async handler(request) {
      refuseBody(request)
      const { ttl, count, holder, drawn } = readQuery(query, request)
      const generator = await openFor(node, request, nameOf(request))
      const caller = { access: request.access, address: clientAddress(request) }
      return leaseOf({ server }, generator, { ttlMs: ttl, count, holder, drawn }, caller)
    },
  }
}

function renew(node: IssuingNode): Operation {
  return {
    id: 'renewLease',
    command: 'id.renew',
    method: 'PATCH',
    path: leasePath,
    tag: 'ids',
    summary: 'Extends the span of a worker lease, or confirms it for another generator.',
    notes:
      '`until` is the `untilUs` of the last answer for this lease; where the span ends at another moment, NOLEASE. An answer permits time for the generator in the path, and for no other.',
    query: renewQuery,
    answers: { 200: jsonAnswer('The lease.', leaseShape) },
    errors: [...leaseErrors, 'NOLEASE', 'WORKERID'],
    example: { name: 'event', query: 'until=1793491220000000&ttl=60s' },
    async handler(request) {
      refuseBody(request)
      const { until, ttl, drawn = 0 } = readQuery(renewQuery, request)
      const renewal = { untilUs: until, ttlMs: ttl }
      const { workerLeases } = node.server
      const renewed = await workerLeases.renew(nameOf(request), leaseIdOf(request), renewal)
      await noteDrawn(node, nameOf(request), drawn)
      return workerAnswer(renewed)
    },
  }
}

function giveBack(node: IssuingNode): Operation {
  return {
    id: 'returnLease',
    command: 'id.return',
    method: 'DELETE',
    path: leasePath,
    tag: 'ids',
    summary: 'Gives back what a caller has not used of a lease, and does not use any more.',
    notes:
      'A worker lease needs `until`, the `untilUs` of the last answer for it: where the span ends at another moment, nothing is changed. A range has no `until`.',
    query: returnQuery,
    answers: { 200: jsonAnswer('Whether it was given back.', returnedShape) },
    errors: writeErrors,
    example: { name: 'event', query: 'from=1793491200000000&until=1793491220000000' },
    async handler(request) {
      refuseBody(request)
      const { from, until, drawn = 0 } = readQuery(returnQuery, request)
      const given = { from, untilUs: until }
      const returned = await returnOf(node, nameOf(request), leaseIdOf(request), given)
      await noteDrawn(node, nameOf(request), drawn)
      return { returned }
    },
  }
}

function list({ server }: IssuingNode): Operation {
  return {
    id: 'listLeases',
    command: 'id.leases',
    method: 'GET',
    path: '/v1/leases',
    tag: 'ids',
    summary: 'Lists the worker ids that nodes and callers hold, and those that rest.',
    notes:
      'Leases for generators that the user may not name are left out, and those of nodes too, unless it may name every generator. With `match` only leases for generators whose names match. Plain worker ids are not listed: `GET /v1/pools/{pool}/workers` has those of a pool.',
    query: listQuery,
    answers: { 200: jsonAnswer('The worker ids in ascending order.', listShape) },
    errors: ['ERR', 'UNAVAILABLE', 'SHUTDOWN'],
    example: { query: 'match=ev*' },
    async handler(request) {
      const { match, after, limit = listedMax } = readQuery(listQuery, request)
      const shown = await shownWorkers(server, request.access, { match, after, limit: limit + 1 })
      return workersPage(shown.map(listedAnswer), limit)
    },
  }
}
