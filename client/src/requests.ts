/** The requests of a client, each as it goes over RESP and over HTTP, and the reading of its replies. */
import { FahaoError } from '../../src/base/errors.ts'
import type { Format } from '../../src/ids/format.ts'
import { checkedKeys, type IdInput } from '../../src/ids/gene.ts'
import type { MomentInput } from '../../src/ids/moment.ts'
import type { PeriodDefinition } from '../../src/ids/period.ts'
import { type Range, Run } from '../../src/ids/run.ts'
import type * as clockCode from './clock-code.ts'
import type { Kind } from './generator.ts'
import type * as idOrder from './id-order.ts'

/** A request in both forms. */
export type Request<Reply> = {
  /** The strict generator that it names; empty where any node answers. */
  readonly name: string
  /** Words of RESP. */
  readonly words: readonly string[]
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path and query. */
  readonly path: string
  /** Sent as JSON over HTTP. */
  readonly body?: unknown
  /** The key of the request over HTTP. */
  readonly key?: string | undefined
  /** The request is not sent again where it may have been carried out: a second time would change more. */
  readonly once?: true
  /** Reads what either form replies: RESP's arrays and maps, or JSON; undefined for an empty answer. Throws UNKNOWN for anything else. */
  readonly read: (reply: unknown) => Reply | Promise<Reply>
}

/** Options by name, as `GET /v1/generators/{name}` shows them. */
type Options = Readonly<Record<string, string | number | boolean>>

/** A generator as a node describes it, with the code that only some generators need: it is loaded with the first of them. */
export type Description = {
  readonly kind: Kind
  readonly incarnation: string
  readonly definition: Options
  readonly format: Format | undefined
  /** For ids that are not issued as they are counted. */
  readonly orders: typeof idOrder | undefined
  /** For ids of leased time. */
  readonly clock: typeof clockCode | undefined
}

/** What `ID.LEASE` grants. Times in Unix µs of the service. */
export type Grant = Description & {
  readonly nowUs: number
  /** Undefined for strict kinds: nothing of them is leased. */
  readonly lease: string | undefined
  /** What a segment gets: raw values, the time to live in ms from when the request was sent, the key of a scrambled one in hex. */
  readonly ranges: readonly Range[]
  readonly ttlMs: number | undefined
  readonly key: string | undefined
  /** What a snowflake gets: the worker id and `[fromUs, untilUs)`. */
  readonly worker: number | undefined
  readonly fromUs: number | undefined
  readonly untilUs: number | undefined
  /** The most ids of one report; undefined: the service takes none. */
  readonly drawnMax: number | undefined
}

/** What to lease: `count` ids of a segment, a span of `ttlMs`. */
export type LeaseTerms = {
  readonly count: number
  readonly ttlMs: number
  readonly holder: string | undefined
  /** Ids that were drawn since the last report. */
  readonly drawn?: number
}

/** `ACL WHOAMI`, which every user may ask: a node answers it, and accepts the login. */
export const whoamiRequest: Request<string> = {
  name: '',
  words: ['ACL', 'WHOAMI'],
  method: 'GET',
  path: '/v1/whoami',
  read: (reply) => String(typeof reply === 'string' ? reply : fieldsOf(reply).user),
}

/** What nodes of earlier versions, which lack `/v1/whoami`, ask a login for. */
export const loginRequest: Request<unknown> = {
  ...whoamiRequest,
  path: '/v1/generators?limit=1',
  read: (reply) => reply,
}

/** `ID.LEASE` */
export function leaseRequest(name: string, { count, ttlMs, holder, drawn = 0 }: LeaseTerms): Request<Grant> {
  return {
    name: '',
    words: [
      ...['ID.LEASE', name, 'COUNT', String(count), 'TTL', String(ttlMs)],
      ...(holder === undefined ? [] : ['HOLDER', holder]),
      ...drawnWords(drawn),
    ],
    method: 'POST',
    path: `${pathOf(name)}/leases?${query({ count, ttl: `${ttlMs}ms`, holder, drawn: drawn || undefined })}`,
    read: grantOf,
  }
}

/** `ID.RENEW` */
export function renewRequest(
  name: string,
  lease: string,
  untilUs: number,
  ttlMs: number,
  drawn = 0,
): Request<Grant> {
  return {
    name: '',
    words: ['ID.RENEW', name, lease, 'UNTIL', String(untilUs), 'TTL', String(ttlMs), ...drawnWords(drawn)],
    method: 'PATCH',
    path: `${pathOf(name)}/leases/${encodeURIComponent(lease)}?${query({ until: untilUs, ttl: `${ttlMs}ms`, drawn: drawn || undefined })}`,
    read: grantOf,
  }
}

/** `ID.RETURN`; resolves to whether it was taken back. `untilUs`: of a worker lease, as its last grant had it. */
export function returnRequest(
  name: string,
  lease: string,
  from: bigint,
  untilUs?: number,
  drawn = 0,
): Request<boolean> {
  const until = untilUs === undefined ? [] : ['UNTIL', String(untilUs)]
  return {
    name: '',
    words: ['ID.RETURN', name, lease, 'FROM', String(from), ...until, ...drawnWords(drawn)],
    method: 'DELETE',
    path: `${pathOf(name)}/leases/${encodeURIComponent(lease)}?${query({ from: String(from), until: untilUs, drawn: drawn || undefined })}`,
    read: isReturned,
  }
}

function drawnWords(drawn: number): string[] {
  return drawn > 0 ? ['DRAWN', String(drawn)] : []
}

/** `ID.NEXT … COUNT`; `isRaw`: of raw ids, as their format may be altered meanwhile. */
export function nextRequest(
  name: string,
  count: number,
  { gene = [], by = [], at, above, force, key }: IdInput = {},
  isRaw = false,
): Request<string[]> {
  const [genes, keys] = [[gene].flat().map(String), checkedKeys(by)]
  const moments = at === undefined ? [] : [textOf(at)]
  const numbers = above === undefined ? [] : [String(above)]
  const words = (token: string, values: readonly string[]) => (values.length > 0 ? [token, ...values] : [])
  const parameters = (parameter: string, values: readonly string[]) =>
    values.map((value) => `&${parameter}=${encodeURIComponent(value)}`).join('')
  return {
    name,
    words: [
      'ID.NEXT',
      name,
      'COUNT',
      String(count),
      ...(isRaw ? ['RAW'] : []),
      ...(key === undefined ? [] : ['KEY', key]),
      ...(force ? ['FORCE'] : []),
      ...words('AT', moments),
      ...words('ABOVE', numbers),
      ...words('GENE', genes),
      ...words('BY', keys),
    ],
    method: 'POST',
    path: `${pathOf(name)}/next?count=${count}${isRaw ? '&raw=true' : ''}${force ? '&force=true' : ''}${parameters('at', moments)}${parameters('above', numbers)}${parameters('gene', genes)}${parameters('by', keys)}`,
    key,
    read: (reply) => listOf(reply, 'ids').map(String),
  }
}

/** A moment as a request has it. */
export function textOf(moment: MomentInput): string {
  return moment instanceof Date ? moment.toISOString() : String(moment)
}

/** `ID.RUNS` */
export function runsRequest(name: string, count: number): Request<Run[]> {
  return {
    name,
    words: ['ID.RUNS', name, String(count)],
    method: 'POST',
    path: `${pathOf(name)}/runs?count=${count}`,
    read: (reply) => listOf(reply, 'runs').map(runOf),
  }
}

/** The path of a generator. */
export function pathOf(name: string): string {
  return `/v1/generators/${encodeURIComponent(name)}`
}

/** A query of what is given. */
export function query(given: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const pairs = Object.entries(given).filter(([, value]) => value !== undefined)
  return new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString()
}

async function grantOf(reply: unknown): Promise<Grant> {
  const fields = fieldsOf(reply)
  const { ranges, key } = fields
  const number = (name: string) => (fields[name] == null ? undefined : Number(fields[name]))
  const definition: Options =
    typeof fields.definition === 'string' ? JSON.parse(fields.definition) : fields.definition
  return {
    kind: fields.kind as Kind,
    incarnation: String(fields.incarnation),
    definition,
    format: definition.format === undefined ? undefined : await formatOf(definition, fields.formKey),
    orders:
      definition.scramble === true || definition.within === 'shuffled'
        ? await import('./id-order.ts')
        : undefined,
    clock: fields.worker == null ? undefined : await import('./clock-code.ts'),
    nowUs: Number(fields.nowUs),
    lease: fields.lease == null ? undefined : String(fields.lease),
    ranges: Array.isArray(ranges) ? ranges.map(rangeOf) : [],
    ttlMs: number('ttlMs'),
    key: key == null ? undefined : String(key),
    worker: number('worker'),
    fromUs: number('fromUs'),
    untilUs: number('untilUs'),
    drawnMax: number('drawnMax'),
  }
}

async function formatOf(definition: Options, key: unknown): Promise<Format> {
  const [{ compileFormat }, { parseLayout }, { periodsOf }] = await Promise.all([
    import('../../src/ids/format.ts'),
    import('../../src/ids/layout-text.ts'),
    import('../../src/ids/period.ts'),
  ])
  const { format, layout } = definition
  // How many digits the index of a node has counts only where a node formats.
  const compiled = compileFormat(String(format), {
    nodeWidth: 1,
    anyZone: true,
    layout: layout === undefined ? undefined : parseLayout(layout),
    periods: periodsOf(definition as PeriodDefinition),
  })
  return key == null ? compiled : compiled.withKey(String(key))
}

/** 1 and 0, or `{"returned": …}`. */
export function isReturned(reply: unknown): boolean {
  return typeof reply === 'number' ? reply === 1 : fieldsOf(reply).returned === true
}

/** The fields of a map: an object, a Map, or RESP2's flat array. */
export function fieldsOf(reply: unknown): Readonly<Record<string, unknown>> {
  if (reply instanceof Map) return Object.fromEntries(reply)
  if (Array.isArray(reply)) {
    const pairs = Array.from({ length: reply.length / 2 }, (_, at) => [
      String(reply[2 * at]),
      reply[2 * at + 1],
    ])
    return Object.fromEntries(pairs)
  }
  if (typeof reply !== 'object' || reply === null) throw unreadable(reply)
  return reply as Record<string, unknown>
}

/** An array, or what JSON has under `field`. */
function listOf(reply: unknown, field: string): readonly unknown[] {
  const list = Array.isArray(reply) ? reply : fieldsOf(reply)[field]
  if (!Array.isArray(list)) throw unreadable(reply)
  return list
}

function rangeOf(pair: unknown): Range {
  const [start, end] = Array.isArray(pair) ? pair : [fieldsOf(pair).start, fieldsOf(pair).end]
  return { start: BigInt(start as string), end: BigInt(end as string) }
}

function runOf(triple: unknown): Run {
  const { first, stride, count } = Array.isArray(triple)
    ? { first: triple[0], stride: triple[1], count: triple[2] }
    : fieldsOf(triple)
  const run = new Run()
  run.set(BigInt(first as string), Number(count), Number(stride))
  return run
}

function unreadable(reply: unknown): FahaoError {
  const shown = JSON.stringify(reply)?.slice(0, 100)
  return new FahaoError(
    'UNKNOWN',
    `the reply ${shown} is none of this service; check the URL and its version`,
  )
}
