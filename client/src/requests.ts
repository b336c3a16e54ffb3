/** The requests of a client, each as it goes over RESP and over HTTP, and the reading of its replies. */
import { FahaoError } from '../../src/base/errors.ts'
import { Run } from '../../src/ids/run.ts'
import type { Kind } from './generator.ts'

/** A request in both forms. */
export type Request<Reply> = {
  /** The generator or pool that it names. */
  readonly name: string
  /** Words of RESP. */
  readonly words: readonly string[]
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path and query. */
  readonly path: string
  /** Reads what either form replies: RESP's arrays and maps, or JSON. Throws UNKNOWN for anything else. */
  readonly read: (reply: unknown) => Reply
}

/** A generator as a node describes it. */
export type Description = {
  readonly kind: Kind
  readonly incarnation: string
  /** Options by name; all values as text. */
  readonly definition: Readonly<Record<string, string>>
}

/** Half-open: `[start, end)`. */
export type Range = { readonly start: bigint; readonly end: bigint }

/** `ID.INFO` */
export function describeRequest(name: string): Request<Description> {
  return {
    name,
    words: ['ID.INFO', name],
    method: 'GET',
    path: pathOf(name),
    read(reply) {
      const fields = fieldsOf(reply)
      const { kind, incarnation } = fields
      const inner = fields.definition === undefined ? fields : fieldsOf(fields.definition)
      const definition = Object.fromEntries(Object.entries(inner).map(([key, value]) => [key, String(value)]))
      return { kind: kind as Kind, incarnation: String(incarnation), definition }
    },
  }
}

/** `ID.RANGE` */
export function rangeRequest(name: string, count: number): Request<Range[]> {
  return {
    name,
    words: ['ID.RANGE', name, String(count)],
    method: 'POST',
    path: `${pathOf(name)}/range?count=${count}`,
    read: (reply) => listOf(reply, 'ranges').map(rangeOf),
  }
}

/** `ID.NEXT … COUNT` */
export function nextRequest(name: string, count: number): Request<string[]> {
  return {
    name,
    words: ['ID.NEXT', name, 'COUNT', String(count)],
    method: 'POST',
    path: `${pathOf(name)}/next?count=${count}`,
    read: (reply) => listOf(reply, 'ids').map(String),
  }
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

function pathOf(name: string): string {
  return `/v1/generators/${encodeURIComponent(name)}`
}

/** The fields of a map: an object, a Map, or RESP2's flat array. */
function fieldsOf(reply: unknown): Readonly<Record<string, unknown>> {
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
