/** ID.LEASE, ID.RENEW, ID.RETURN, ID.LEASES: ids that a caller issues in its own process. */
import type { Access } from '../auth/access.ts'
import { FahaoError } from '../base/errors.ts'
import { globMatcher, matchWork } from '../base/glob.ts'
import type { CurrentGenerator, Generator } from '../catalogue/catalogue.ts'
import { type DefinitionJson, definitionJson } from '../catalogue/definition.ts'
import { isStrict } from '../issuing/issuer.ts'
import type { WorkerLease } from '../leasing/lease-terms.ts'
import { isWorkerLease } from '../leasing/lease-text.ts'
import type { ListedWorker } from '../leasing/listed-workers.ts'
import type { WorkersPage } from '../leasing/pool-view.ts'
import type { LeasedRange } from '../leasing/range-leases.ts'
import { idsIn } from '../leasing/range-token.ts'
import { mayUnscramble } from './access.ts'
import { type Arguments, notInteger, syntaxError } from './arguments.ts'
import { type Command, MapReply, type Reply } from './command.ts'
import type { CommandContext, ServerView } from './context.ts'
import { checkedCount } from './drawing.ts'

const name = { name: 'name', type: 'key' } as const
const issuing = {
  flags: ['write'],
  keys: [1, 1, 1],
  permission: 'issue',
  group: 'id',
  anyNode: true,
} as const
/** The page of a list of worker ids. */
export const pageArguments = [
  { name: 'worker', type: 'integer', token: 'AFTER', optional: true },
  { name: 'count', type: 'integer', token: 'COUNT', optional: true },
] as const
const ttl = { name: 'ms', type: 'integer', token: 'TTL', optional: true } as const
const leaseReply =
  'A map: kind, incarnation, definition (JSON), nowUs, drawnMax, lease; of a `snowflake` also worker, fromUs, untilUs; of a `segment` ranges, ttlMs, key. Times in Unix µs.'
/** The most worker ids of one page of a list. */
export const listedMax = 1000
/** The most ids of one report, so that one request spoils no figure for good. */
export const drawnMax = 1_000_000_000_000
const drawn = { name: 'n', type: 'integer', token: 'DRAWN', optional: true } as const

/** ID.LEASE, ID.RENEW, ID.RETURN, ID.LEASES. */
export const leaseCommands: readonly Command[] = [
  {
    ...issuing,
    name: 'id.lease',
    arity: -2,
    summary: 'Leases ids of a generator to a caller that issues them in its own process.',
    reply: leaseReply,
    notes:
      'Any node answers. Of a `snowflake`: a worker id; the caller may stamp ids in whole units of time within `[fromUs, untilUs)`, and nothing else decides, no clock either. TTL, 1,000 to 900,000 ms (default 60,000), is the length of the span; HOLDER is a name for lists, at most 128 bytes without control and format characters (default: the address of the client). Of a `segment`: `ranges`, an array of `[start, end)` of raw values of its counter, with COUNT ids in all (default 1,000; fewer where its space ends). A raw value that is ≡ offset (mod increment) is an id; of a scrambled generator it becomes one by the permutation of `[0, max]` with `key`, in hexadecimal digits, by which ids can be unscrambled too; of a shuffled one, the caller chooses the order. The caller drops what is left `ttlMs` after it sent the request (TTL: 1,000 to 86,400,000 ms, default 600,000), so that a drop or an alteration reaches it. Of a `sequence` and a `timestamp` nothing is leased: `lease` is nil, and the caller asks for each id; so it is with a scrambled generator, unless the user has the permission `lease|scrambled`, and with a `snowflake` whose units of time are longer than 30 s, or in a namespace with LEASES 0, or with RATE or DAILY and no LEASES. `EXHAUSTED` says when a worker id is free again, or that the space of the segment is used up. DRAWN, here and with a renewal or a return: how many ids of the generator the caller has issued since it last reported; figures and metrics show them. A reply has `drawnMax`, the most ids of one report.',
    arguments: [
      name,
      { name: 'n', type: 'integer', token: 'COUNT', optional: true },
      ttl,
      { name: 'text', type: 'string', token: 'HOLDER', optional: true },
      drawn,
    ],
    handler: lease,
  },
  {
    ...issuing,
    name: 'id.renew',
    arity: -5,
    summary: 'Extends the span of a worker lease, or confirms it for another generator.',
    reply: 'A map as `ID.LEASE` replies it.',
    notes:
      'UNTIL is the `untilUs` of the last reply for this lease. If the span ends at another moment, another process has renewed it (a copy of the memory of its holder), or a reply was lost: `NOLEASE`, and nothing is changed. The generator may be another `snowflake` than that of `ID.LEASE`: one lease serves all whose layouts have room for the worker id (`WORKERID` elsewhere; `WRONGTYPE` where nothing is leased). A reply permits time for the generator that it was asked for, and for no other.',
    arguments: [
      name,
      { name: 'lease', type: 'string' },
      { name: 'us', type: 'integer', token: 'UNTIL' },
      ttl,
      drawn,
    ],
    handler: renew,
  },
  {
    ...issuing,
    name: 'id.return',
    arity: -5,
    summary: 'Gives back what a caller has not used of a lease.',
    reply:
      '1, or 0 if it stays unused: a worker id then rests until its span has passed, and raw values are a gap.',
    notes:
      'FROM is the first unused moment of a worker lease, in Unix µs, for all generators that it served; of a range, its first unused raw value. UNTIL is the `untilUs` of the last reply for a worker lease, which needs it: if the span ends at another moment, another process has renewed it (a copy of the memory of its holder), or a reply was lost; the reply is 0, and nothing is changed. A range has no UNTIL. It goes back if all that was reserved of its generator after it has gone back as a whole, and if the node that is asked has leased it; so return the newest range first. What does not go back is a gap, and counts as given back all the same. A range ends at FROM then, and may be returned again from a lower value on. The caller has stopped before it sends this, and does not go on whatever the reply. A caller that may be a copy, or may have been copied, returns nothing. May be repeated.',
    arguments: [
      name,
      { name: 'lease', type: 'string' },
      { name: 'n', type: 'integer', token: 'FROM' },
      { name: 'us', type: 'integer', token: 'UNTIL', optional: true },
      drawn,
    ],
    handler: giveBack,
  },
  {
    name: 'id.leases',
    arity: -1,
    flags: ['readonly'],
    permission: 'read',
    group: 'id',
    summary: 'Lists the worker ids that nodes and callers hold, and those that rest.',
    reply:
      'An array of maps: worker, by (`node` or `caller`), holder, generator, user, fromUs, untilUs, state (`held` or `resting`). Times in Unix µs; nil where a node has none.',
    notes: `In ascending order of worker ids. For the next page, give the last worker id as AFTER; a page with fewer than COUNT (default and maximum ${listedMax}) is the last. MATCH: only leases for generators whose names match. Leases for generators that the user may not name are left out, and those of nodes too, unless it may name every generator. Plain worker ids are not listed: ID.WORKER LIST has those of a pool.`,
    arguments: [{ name: 'pattern', type: 'pattern', token: 'MATCH', optional: true }, ...pageArguments],
    handler: leases,
  },
]

/** A lease as RESP and HTTP show it. `lease` null: nothing is leased, and the caller asks for each id. */
export type LeaseAnswer = {
  readonly kind: string
  readonly incarnation: string
  readonly definition: DefinitionJson
  readonly nowUs: number
  readonly lease: string | null
  readonly worker?: number
  readonly fromUs?: number
  readonly untilUs?: number
  /** Half-open, in raw values of the counter. */
  readonly ranges?: readonly (readonly [start: string, end: string])[]
  readonly ttlMs?: number
  /** Of a scrambled generator, in hexadecimal digits. */
  readonly key?: string | null
  /** The largest DRAWN of a request. */
  readonly drawnMax: number
}

/** What a caller asks for. */
export type LeaseOptions = {
  readonly ttlMs?: number | undefined
  readonly count?: number | undefined
  readonly holder?: string | undefined
  /** Ids that the caller has issued since its last report. */
  readonly drawn?: number | undefined
}

/** Who asks for a lease. */
export type LeaseCaller = {
  readonly access: Access
  /** Of the client. */
  readonly address: string
}

/**
 * Leases what the kind of the generator has for this caller. Rejects as `WorkerLeases.lease` and
 * `RangeLeases.lease`, and with QUOTA.
 */
export async function leaseOf(
  { server }: Pick<CommandContext, 'server'>,
  generator: Generator,
  { ttlMs, count, holder, drawn = 0 }: LeaseOptions,
  { access, address }: LeaseCaller,
): Promise<LeaseAnswer> {
  const { kind, definition } = generator
  const { user } = access
  const isByRequest =
    isStrict(kind) ||
    (definition.scramble === true && !mayUnscramble(access)) ||
    (kind === 'snowflake' && !server.workerLeases.mayLease(generator, user))
  if (isByRequest) {
    generator.noteDrawn(drawn)
    return { ...shown(generator, server.timeline.nowUs()), lease: null }
  }
  if (generator.kind === 'segment') {
    const range = await server.rangeLeases.lease(generator, {
      ids: count,
      ttlMs,
      nowUs: server.timeline.nowUs(),
    })
    generator.noteDrawn(drawn)
    return rangeAnswer(range, server.timeline.nowUs())
  }
  const leased = await server.workerLeases.lease(generator.name, { ttlMs, holder: holder ?? address, user })
  generator.noteDrawn(drawn)
  return workerAnswer(leased)
}

/** Counts what a holder reports with a renewal or a return. A generator that cannot be opened now counts nothing. */
export async function noteDrawn(
  { catalogue }: Pick<CommandContext, 'catalogue'>,
  generatorName: string,
  drawn: number,
): Promise<void> {
  if (drawn === 0) return
  const generator = await openedFor({ catalogue }, generatorName)
  generator?.noteDrawn(drawn)
}

async function openedFor(
  { catalogue }: Pick<CommandContext, 'catalogue'>,
  generatorName: string,
): Promise<Generator | undefined> {
  return catalogue.find(generatorName) ?? (await catalogue.open(generatorName).catch(() => undefined))
}

/** What a caller gives back. */
export type ReturnOptions = {
  /** What is unused begins here: of a worker lease Unix time in µs, of a range a raw value. */
  readonly from: bigint
  /** Of a worker lease: the `untilUs` of the last answer for it. */
  readonly untilUs: number | undefined
}

/**
 * Gives back what a caller has not used. ERR if a worker lease has no UNTIL or a range has one; and as `WorkerLeases.giveBack`
 * and `RangeLeases.giveBack`.
 */
export async function returnOf(
  { server, catalogue }: Pick<CommandContext, 'server' | 'catalogue'>,
  generatorName: string,
  lease: string,
  { from, untilUs }: ReturnOptions,
): Promise<boolean> {
  if (isWorkerLease(lease)) {
    if (untilUs === undefined)
      throw new FahaoError(
        'ERR',
        'the return of a worker lease needs UNTIL: send the untilUs of the last reply for this lease',
      )
    return server.workerLeases.giveBack(lease, { fromUs: Number(from), untilUs })
  }
  if (untilUs !== undefined)
    throw new FahaoError('ERR', 'UNTIL is for worker leases, and this lease is none: send FROM alone')
  const { isBack, unknown } = await server.rangeLeases.giveBack(generatorName, lease, from)
  const generator = unknown && (await openedFor({ catalogue }, generatorName))
  const ids = unknown && generator ? idsIn(unknown, generator) : 0
  // No caller has leased more.
  if (ids <= server.incrByMax) generator?.noteReturned(ids)
  return isBack
}

/** A worker lease as RESP and HTTP show it. */
export function workerAnswer(given: WorkerLease): LeaseAnswer {
  const { lease, worker, fromUs, untilUs, nowUs } = given
  return { ...shown(given, nowUs), lease, worker, fromUs, untilUs }
}

function rangeAnswer(range: LeasedRange, nowUs: number): LeaseAnswer {
  const { lease, start, end, ttlMs, key = null } = range
  return { ...shown(range, nowUs), lease, ranges: [[String(start), String(end)]], ttlMs, key }
}

function shown(
  { definition, incarnation }: Pick<CurrentGenerator, 'definition' | 'incarnation'>,
  nowUs: number,
) {
  const { kind } = definition
  return { kind, incarnation: String(incarnation), definition: definitionJson(definition), nowUs, drawnMax }
}

async function lease(context: CommandContext, args: Arguments): Promise<Reply> {
  const generatorName = args.text(0)
  const options = readOptions(context, args)
  const { catalogue, session } = context
  const generator = catalogue.find(generatorName) ?? (await catalogue.open(generatorName))
  return mapOf(await leaseOf(context, generator, options, session))
}

function readOptions({ server }: CommandContext, args: Arguments): LeaseOptions {
  const given: { ttlMs?: number; count?: number; holder?: string; drawn?: number } = {}
  for (const [token, value] of args.options(1)) {
    if (token === 'TTL') given.ttlMs = numberAt(args, value)
    else if (token === 'COUNT') given.count = checkedCount(args.integer(value), server.incrByMax, 'COUNT')
    else if (token === 'HOLDER') given.holder = args.text(value)
    else if (token === 'DRAWN') given.drawn = drawnAt(args, value)
    else throw syntaxError()
  }
  return given
}

async function renew(context: CommandContext, args: Arguments): Promise<Reply> {
  let drawn = 0
  let untilUs: number | undefined
  let ttlMs: number | undefined
  for (const [token, value] of args.options(2)) {
    if (token === 'UNTIL') untilUs = numberAt(args, value)
    else if (token === 'TTL') ttlMs = numberAt(args, value)
    else if (token === 'DRAWN') drawn = drawnAt(args, value)
    else throw syntaxError()
  }
  if (untilUs === undefined) throw syntaxError()
  const { workerLeases } = context.server
  const renewed = await workerLeases.renew(args.text(0), args.text(1), { untilUs, ttlMs })
  await noteDrawn(context, args.text(0), drawn)
  return mapOf(workerAnswer(renewed))
}

async function giveBack(context: CommandContext, args: Arguments): Promise<Reply> {
  let from: bigint | undefined
  let untilUs: number | undefined
  let drawn = 0
  for (const [token, value] of args.options(2)) {
    if (token === 'FROM') from = args.integer(value)
    else if (token === 'UNTIL') untilUs = numberAt(args, value)
    else if (token === 'DRAWN') drawn = drawnAt(args, value)
    else throw syntaxError()
  }
  if (from === undefined) throw syntaxError()
  const isReturned = await returnOf(context, args.text(0), args.text(1), { from, untilUs })
  await noteDrawn(context, args.text(0), drawn)
  return isReturned ? 1 : 0
}

async function leases({ server, session }: CommandContext, args: Arguments): Promise<Reply> {
  let match: string | undefined
  let page: WorkersPage = {}
  for (const [token, value] of args.options(0)) {
    if (token === 'MATCH') match = args.pattern(value)
    else page = { ...page, ...pageOption(args, token, value) }
  }
  const found = await shownWorkers(server, session.access, { ...page, match })
  return found.map((each) => new MapReply(Object.entries(listedAnswer(each))))
}

/** An option of a list of worker ids. ERR. */
export function pageOption(args: Arguments, token: string, value: number): WorkersPage {
  if (token === 'AFTER') return { after: numberAt(args, value) }
  if (token === 'COUNT') return { limit: checkedCount(args.integer(value), listedMax, 'COUNT') }
  throw syntaxError()
}

/** The time to list a worker id, as the bytes of a reply that take as long. */
const workerWork = 512

/** A page of the worker ids that a user may see: those of generators that it may name, and of nodes if it may name every one. */
export async function shownWorkers(
  { workerLeases, turns }: Pick<ServerView, 'workerLeases' | 'turns'>,
  access: Access,
  { match, after, limit = listedMax }: WorkersPage & { readonly match: string | undefined },
): Promise<ListedWorker[]> {
  const matches = match === undefined ? undefined : globMatcher(match)
  const isShown = ({ generator }: ListedWorker) =>
    generator === undefined
      ? access.reachesAll && matches === undefined
      : access.reaches(generator) && matches?.(generator) !== false
  const shown: ListedWorker[] = []
  const work = workerWork + access.work + (match === undefined ? 0 : matchWork(match))
  for await (const worker of workerLeases.list(after)) {
    await turns.take(work)
    if (isShown(worker)) shown.push(worker)
    if (shown.length === limit) break
  }
  return shown
}

/** A listed worker id as RESP and HTTP show it. */
export function listedAnswer(listed: ListedWorker) {
  const { worker, by, holder, generator = null, user = null, fromUs = null, untilUs, state } = listed
  return { worker, by, holder, generator, user, fromUs, untilUs, state }
}

function mapOf({ definition, ...rest }: LeaseAnswer): MapReply {
  const { kind, incarnation, ...others } = rest
  return new MapReply(
    Object.entries({ kind, incarnation, definition: JSON.stringify(definition), ...others }),
  )
}

function drawnAt(args: Arguments, index: number): number {
  const drawn = numberAt(args, index)
  if (drawn >= 0 && drawn <= drawnMax) return drawn
  throw new FahaoError(
    'ERR',
    `DRAWN is ${drawn}; give the ids issued since the last report, 0 to ${drawnMax}`,
  )
}

function numberAt(args: Arguments, index: number): number {
  const value = Number(args.integer(index))
  if (Number.isSafeInteger(value)) return value
  throw notInteger()
}
