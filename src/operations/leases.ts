/** Leases: ids that a caller issues in its own process, and the list of worker ids. */
import { z } from 'zod'
import type { Access } from '../auth/access.ts'
import { FahaoError } from '../base/errors.ts'
import { globMatcher, matchWork } from '../base/glob.ts'
import type { Generator } from '../catalogue/catalogue.ts'
import { definitionJson, geneBitsOf } from '../catalogue/definition.ts'
import { shownTo } from '../catalogue/series.ts'
import { isStrict } from '../issuing/issuer.ts'
import type { ListedWorker } from '../leasing/listed-workers.ts'
import type { LeasedRange } from '../leasing/range-leases.ts'
import { idsIn } from '../leasing/range-token.ts'
import type { WorkerLease } from '../leasing/worker-lease-terms.ts'
import { isWorkerLease } from '../leasing/worker-lease-text.ts'
import { count, duration, integer, key, moment, optional, pattern, text, wholeNumber } from './argument.ts'
import type { OperationContext } from './context.ts'
import { operation } from './operation.ts'
import { definitionShape } from './shapes.ts'
import { listedMax, nextWorker, pageArgs, workersPage } from './worker-pages.ts'

/** The permission to lease ranges of scrambled generators: the reply has the key by which their ids are unscrambled. */
const scrambledLeases = 'lease|scrambled'
/** The most ids of one report, so that one request spoils no figure for all later reads. */
export const drawnMax = 1_000_000_000_000

const path = '/v1/generators/{name}/leases'
const leasePath = `${path}/{lease}`
const writeErrors = ['ERR', 'CONFLICT', 'UNAVAILABLE', 'UNKNOWN', 'REGRESSED', 'SHUTDOWN'] as const
const leaseErrors = [...writeErrors, 'NOGENERATOR', 'WRONGTYPE', 'EXHAUSTED', 'STALE'] as const

/** The time to list a worker id, as the bytes of a reply that take as long. */
const workerWork = 512

const [name, leaseId] = [key('name'), text('lease')]
const ttl = optional(
  duration(
    'TTL ms',
    'how long the span is: 1s to 15m (default 60s); how long ranges may be used: 1s to 1d (default 10m)',
  ),
)
const drawn = optional(
  wholeNumber('DRAWN n', [0, drawnMax], 'how many ids the caller has issued since its last report', {
    as: 'number',
    refusal: (value) =>
      value >= 0 && value <= drawnMax
        ? undefined
        : `DRAWN is ${value}; give the ids issued since the last report, 0 to ${drawnMax}`,
  }),
)

const microseconds = z.number().meta({ description: 'Unix time in µs' })
const leaseShape = z
  .object({
    kind: z.string(),
    incarnation: z.string(),
    definition: definitionShape,
    formKey: z.string().optional().meta({ description: 'of a generator whose format is of 128 bits, or 96' }),
    nowUs: microseconds,
    drawnMax: z.number().meta({ description: 'the most ids of one report' }),
    lease: z.string().nullable().meta({ description: 'null: nothing is leased; ask for each id' }),
    worker: z.number().optional().meta({ description: 'the worker id' }),
    fromUs: microseconds.optional(),
    ranges: z
      .array(z.tuple([z.string(), z.string()]))
      .optional()
      .meta({ description: 'half-open, in raw values of the counter' }),
    ttlMs: z
      .number()
      .optional()
      .meta({ description: 'how long after its request the caller drops the rest, in ms' }),
    key: z.string().nullable().optional().meta({ description: 'of a scrambled generator' }),
    untilUs: microseconds
      .optional()
      .meta({ description: 'Unix time in µs; the first moment beyond the span' }),
  })
  .meta({ id: 'Lease' })
type Lease = z.output<typeof leaseShape>
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

const issuing = { permission: 'issue', effect: 'write', anyNode: true } as const

const leased = {
  kind: 'snowflake',
  incarnation: '1',
  definition: {
    kind: 'snowflake',
    issueTimeout: '2s',
    layout: 'time:41,node:10,sequence:12;unit=ms;epoch=2010-11-04T01:42:54.657Z',
    sequenceStart: 'random',
    borrowMax: '10s',
  },
  nowUs: 1793491160000867,
  drawnMax: 1_000_000_000_000,
  lease: '99-1-7290c56fb3e2e2291f0f183bd80fb09e',
  worker: 99,
  fromUs: 1793491160000672,
  untilUs: 1793491220001000,
}

const lease = operation({
  ...issuing,
  name: 'id.lease',
  permissions: { [scrambledLeases]: ['admin', 'dangerous'] },
  summary: 'Leases ids of a generator to a caller that issues them in its own process.',
  args: {
    name,
    count: optional(
      count('COUNT n', ({ incrByMax }) => Number(incrByMax), 'how many ids, where ranges are leased'),
    ),
    ttl,
    holder: optional(
      text(
        'HOLDER text',
        'a name for lists, without control and format characters (default: the address)',
        128,
      ),
    ),
    drawn,
  },
  reply:
    'A map: kind, incarnation, definition (JSON), nowUs, drawnMax, lease; of a wide format also formKey; of a `snowflake` also worker, fromUs, untilUs; of a `segment` ranges, ttlMs, key. Times in Unix µs.',
  notes:
    'Any node answers. Of a `snowflake`: a worker id; the caller may stamp ids in whole units of time within `[fromUs, untilUs)`, and nothing else decides, no clock either. {ttl}, 1,000 to 900,000 ms (default 60,000), is the length of the span; {holder} is a name for lists, at most 128 bytes without control and format characters (default: the address of the client). Of a `segment`: `ranges`, an array of `[start, end)` of raw values of its counter, with {count} ids in all (default 1,000; fewer where its space ends). A raw value that is ≡ offset (mod increment) is an id; of a scrambled generator it becomes one by the permutation of `[0, max]` with `key`, in hexadecimal digits, by which ids can be unscrambled too; of a shuffled one, the caller chooses the order. The caller drops what is left `ttlMs` after it sent the request ({ttl}: 1,000 to 86,400,000 ms, default 600,000), so that a drop or an alteration reaches it. Of a `sequence` and a `timestamp` nothing is leased: `lease` is {nil}, and the caller asks for each id; so it is with a generator that avoids words or has periods, bits for a gene or a random increment, with a scrambled one, unless the user has the permission `lease|scrambled`, and with a `snowflake` whose units of time are longer than 30 s, or in a namespace with LEASES 0, or with RATE or DAILY and no LEASES. `EXHAUSTED` says when a worker id is free again, or that the space of the segment is used up. {drawn}, here and with a renewal or a return: how many ids of the generator the caller has issued since it last reported; figures and metrics show them. A reply has `drawnMax`, the most ids of one report.',
  http: {
    id: 'lease',
    method: 'POST',
    path,
    tag: 'ids',
    answer: ['The lease.', leaseShape],
    errors: leaseErrors,
    example: { name: 'event', query: 'ttl=60s&holder=mail', answer: leased },
  },
  async run({ caller, catalogue, server }, { name, count, ttl, holder = caller.address, drawn = 0 }) {
    const generator = catalogue.find(name) ?? (await catalogue.open(name))
    const { kind, definition } = generator
    const { access } = caller
    const { timeline, rangeLeases, workerLeases } = server
    const isByRequest =
      isStrict(kind) ||
      geneBitsOf(definition) > 0 ||
      definition.incrementRange !== undefined ||
      definition.avoid !== undefined ||
      definition.period !== undefined ||
      (definition.scramble === true && !access.allows(scrambledLeases)) ||
      (kind === 'snowflake' && !workerLeases.mayLease(generator, access.user))
    if (isByRequest) {
      generator.noteDrawn(drawn)
      return { ...shown(name, generator, timeline.nowUs()), lease: null }
    }
    if (kind === 'segment') {
      const wanted = { ids: count, ttlMs: ttl, nowUs: timeline.nowUs() }
      const range = await rangeLeases.lease(generator, wanted)
      generator.noteDrawn(drawn)
      return rangeAnswer(name, range, timeline.nowUs())
    }
    const leased = await workerLeases.lease(name, { ttlMs: ttl, holder, user: access.user })
    generator.noteDrawn(drawn)
    return workerAnswer(name, leased)
  },
})

const renew = operation({
  ...issuing,
  name: 'id.renew',
  summary: 'Extends the span of a worker lease, or confirms it for another generator.',
  args: {
    name,
    lease: leaseId,
    until: moment('UNTIL us', '`untilUs` of the last answer for this lease'),
    ttl,
    drawn,
  },
  reply: 'A map as `ID.LEASE` replies it.',
  notes:
    '{until} is the `untilUs` of the last reply for this lease. If the span ends at another moment, another process has renewed it (a copy of the memory of its holder), or a reply was lost: `NOLEASE`, and nothing is changed. The generator may be another `snowflake` than that of `ID.LEASE`: one lease serves all whose layouts have room for the worker id (`WORKERID` elsewhere; `WRONGTYPE` where nothing is leased). A reply permits time for the generator that it was asked for, and for no other.',
  http: {
    id: 'renewLease',
    method: 'PATCH',
    path: leasePath,
    tag: 'ids',
    answer: ['The lease.', leaseShape],
    errors: [...leaseErrors, 'NOLEASE', 'WORKERID'],
    example: { name: 'event', lease: leased.lease, query: `until=${leased.untilUs}&ttl=60s`, answer: leased },
  },
  async run(context, { name, lease, until, ttl, drawn }) {
    const renewed = await context.server.workerLeases.renew(name, lease, { untilUs: until, ttlMs: ttl })
    await noteDrawn(context, name, drawn)
    return workerAnswer(name, renewed)
  },
})

const giveBack = operation({
  ...issuing,
  name: 'id.return',
  summary: 'Gives back what a caller has not used of a lease.',
  args: {
    name,
    lease: leaseId,
    from: integer(
      'FROM n',
      'what is unused begins here: of a worker lease Unix time in µs, of a range a raw value',
    ),
    until: optional(moment('UNTIL us', '`untilUs` of the last answer for a worker lease, which needs it')),
    drawn,
  },
  reply:
    '1, or 0 if it stays unused: a worker id then rests until its span has passed, and raw values are a gap.',
  notes:
    '{from} is the first unused moment of a worker lease, in Unix µs, for all generators that it served; of a range, its first unused raw value. {until} is the `untilUs` of the last reply for a worker lease, which needs it: if the span ends at another moment, another process has renewed it (a copy of the memory of its holder), or a reply was lost; it stays unused, and nothing is changed. A range has no {until}. It goes back if all that was reserved of its generator after it has gone back as a whole, and if the node that is asked has leased it; so return the newest range first. What does not go back is a gap, and counts as given back all the same. A range ends at {from} then, and may be returned again from a lower value on. The caller has stopped before it sends this, and does not go on whatever the reply. A caller that may be a copy, or may have been copied, returns nothing. May be repeated.',
  http: {
    id: 'returnLease',
    method: 'DELETE',
    path: leasePath,
    tag: 'ids',
    answer: ['Whether it was given back.', returnedShape],
    errors: writeErrors,
    example: {
      name: 'event',
      lease: leased.lease,
      query: `from=${leased.fromUs}&until=${leased.untilUs}`,
      answer: { returned: true },
    },
  },
  async run(context, { name, lease, from, until, drawn }) {
    const returned = isWorkerLease(lease)
      ? await returnWorker(context, lease, from, until)
      : await returnRange(context, { name, lease, from, until })
    await noteDrawn(context, name, drawn)
    return { returned }
  },
  replied: ({ returned }) => returned,
})

const list = operation({
  permission: 'read',
  effect: 'readonly',
  name: 'id.leases',
  summary: 'Lists the worker ids that nodes and callers hold, and those that rest.',
  args: {
    match: optional(pattern('MATCH pattern', 'a glob pattern of names: * ? [a-z]')),
    ...pageArgs,
  },
  reply:
    'An array of maps: worker, by (`node` or `caller`), holder, generator, user, fromUs, untilUs, state (`held` or `resting`). Times in Unix µs; nil where a node has none.',
  notes: `In ascending order of worker ids. For the next page, give the last worker id as {after}; a page with fewer than {limit} (default and maximum ${listedMax}) is the last. {match}: only leases for generators whose names match. Leases for generators that the user may not name are left out, and those of nodes too, unless it may name every generator. Plain worker ids are not listed: ID.WORKER LIST and \`GET /v1/pools/{pool}/workers\` have those of a pool.`,
  http: {
    id: 'listLeases',
    method: 'GET',
    path: '/v1/leases',
    tag: 'ids',
    answer: ['The worker ids in ascending order.', listShape],
    errors: ['ERR', 'UNAVAILABLE', 'SHUTDOWN'],
    example: {
      query: 'match=ev*',
      answer: {
        workers: [
          {
            worker: leased.worker,
            by: 'caller',
            holder: 'mail',
            generator: 'event',
            user: 'alice',
            fromUs: leased.fromUs,
            untilUs: leased.untilUs,
            state: 'held',
          },
        ],
        next: null,
      },
    },
  },
  async run({ caller: { access }, server }, { match, after, limit = listedMax }) {
    const matches = match === undefined ? undefined : globMatcher(match)
    const found: LeasesAnswer['workers'] = []
    const work = workerWork + access.work + (match === undefined ? 0 : matchWork(match))
    for await (const worker of server.workerLeases.list(after)) {
      await server.turns.take(work)
      if (isShown(worker, access, matches)) found.push(listed(worker))
      // One more tells whether the page is the last.
      if (found.length > limit) break
    }
    return workersPage(found, limit)
  },
  replied: ({ workers }) => workers,
})

/** ID.LEASE, ID.RENEW, ID.RETURN, ID.LEASES. */
export const leaseOperations = [lease, renew, giveBack, list]

/** A user sees the worker ids of generators that it may name, and those of nodes if it may name every one. */
function isShown(
  { generator }: ListedWorker,
  access: Access,
  matches: ((name: string) => boolean) | undefined,
): boolean {
  if (generator === undefined) return access.reachesAll && matches === undefined
  return access.reaches(generator) && matches?.(generator) !== false
}

function listed(found: ListedWorker): LeasesAnswer['workers'][number] {
  const { worker, by, holder, generator = null, user = null, fromUs = null, untilUs, state } = found
  return { worker, by, holder, generator, user, fromUs, untilUs, state }
}

/** Counts what a holder reports with a renewal or a return. A generator that cannot be opened now counts nothing. */
async function noteDrawn(context: OperationContext, name: string, drawn = 0): Promise<void> {
  if (drawn > 0) (await openedFor(context, name))?.noteDrawn(drawn)
}

async function openedFor({ catalogue }: OperationContext, name: string): Promise<Generator | undefined> {
  return catalogue.find(name) ?? (await catalogue.open(name).catch(() => undefined))
}

async function returnWorker(
  { server }: OperationContext,
  lease: string,
  from: bigint,
  untilUs: number | undefined,
): Promise<boolean> {
  if (untilUs !== undefined) return server.workerLeases.giveBack(lease, { fromUs: Number(from), untilUs })
  throw new FahaoError(
    'ERR',
    'the return of a worker lease needs UNTIL: send the untilUs of the last reply for this lease',
  )
}

type ReturnedRange = { readonly name: string; readonly lease: string; readonly from: bigint; until?: unknown }

async function returnRange(
  context: OperationContext,
  { name, lease, from, until }: ReturnedRange,
): Promise<boolean> {
  if (until !== undefined)
    throw new FahaoError('ERR', 'UNTIL is for worker leases, and this lease is none: send FROM alone')
  const { rangeLeases, incrByMax } = context.server
  const { isBack, unknown } = await rangeLeases.giveBack(name, lease, from)
  const generator = unknown && (await openedFor(context, name))
  const ids = unknown && generator ? idsIn(unknown, generator) : 0
  // No caller has leased more ids at once: a larger report is wrong.
  if (ids <= incrByMax) generator?.noteReturned(ids)
  return isBack
}

function workerAnswer(name: string, given: WorkerLease): Lease {
  const { lease, worker, fromUs, untilUs, nowUs } = given
  return { ...shown(name, given, nowUs), lease, worker, fromUs, untilUs }
}

function rangeAnswer(name: string, range: LeasedRange, nowUs: number): Lease {
  const { lease, start, end, ttlMs, key = null } = range
  return { ...shown(name, range, nowUs), lease, ranges: [[String(start), String(end)]], ttlMs, key }
}

function shown(
  name: string,
  { definition, incarnation, formKey }: Pick<Generator, 'definition' | 'incarnation' | 'formKey'>,
  nowUs: number,
) {
  const { kind } = definition
  return {
    kind,
    incarnation: String(incarnation),
    definition: definitionJson(shownTo(definition, name)),
    ...(formKey !== undefined && { formKey }),
    nowUs,
    drawnMax,
  }
}
