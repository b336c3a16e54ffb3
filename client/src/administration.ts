/** Generators themselves: create, alter, drop, describe, list. Loaded by the first call that needs it. */
import { hasCode } from '../../src/base/errors.ts'
import type {
  GeneratorDescription,
  ListedGenerator,
  ListOptions,
} from '../../src/ids/generator-description.ts'
import type { MomentInput } from '../../src/ids/moment.ts'
import type { GeneratorBounds } from '../../src/ids/moment-bounds.ts'
import { isScattered, scatteredMoments } from '../../src/ids/scatter.ts'
import type { Kind } from './generator.ts'
import type { Nodes } from './nodes.ts'
import { fieldsOf, isReturned, pathOf, query, type Request, textOf } from './requests.ts'

/** A number that may be above 2^53, or a duration in ms, may be a text: `'10m'`. */
type Whole = bigint | number | string

/** Options of a generator; see the page about generators. */
export type GeneratorOptions = {
  readonly kind: Kind
  readonly start?: Whole
  readonly increment?: Whole
  readonly offset?: Whole
  readonly max?: Whole
  readonly step?: Whole | 'adaptive'
  readonly stepMax?: Whole
  readonly horizon?: number | string
  readonly issueTimeout?: number | string
  readonly within?: 'ordered' | 'shuffled'
  readonly scramble?: boolean
  readonly format?: string
  readonly period?: 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year' | 'none'
  readonly zone?: string
  readonly yearStart?: string
  readonly width?: Whole
  readonly keep?: Whole
  /** The name of a preset, or fields as text: `time:41,node:10,sequence:12;epoch=2025-01-01T00:00:00Z`. */
  readonly layout?: string
  readonly epoch?: number | string
  readonly node?: Whole
  readonly past?: Whole
  readonly sequenceStart?: 'zero' | 'random'
  readonly borrowMax?: number | string
}

/** Changes of a generator; options that are left out stay. */
export type GeneratorChanges = Partial<GeneratorOptions> & {
  /** Of a sequence or a segment: ids from there on. */
  readonly floor?: bigint | string
  /** With `floor`, of a segment: also where nodes have buffered ids below. */
  readonly now?: boolean
  /** With `floor`: also where that gives up a large part of the space. */
  readonly force?: boolean
}

type Given = Readonly<Record<string, bigint | number | string | boolean | undefined>>

/** Creates a generator, or confirms that it is there with these options. Rejects with EXISTS, NOPERM, … */
export function createGenerator(nodes: Nodes, name: string, options: GeneratorOptions): Promise<unknown> {
  return nodes.send(changing('ID.CREATE', 'PUT', name, options))
}

/**
 * Changes options of a generator. Rejects with UNKNOWN where they may have been changed: a second time could undo what another
 * caller has changed since.
 */
export function alterGenerator(nodes: Nodes, name: string, changes: GeneratorChanges): Promise<unknown> {
  return nodes.send({ ...changing('ID.ALTER', 'PATCH', name, changes), once: true })
}

/**
 * Drops a generator. Resolves to whether there was one; rejects with UNKNOWN where it may have been dropped: a second drop could
 * take the generator that another caller has created since.
 */
export async function dropGenerator(nodes: Nodes, name: string): Promise<boolean> {
  const request = {
    name,
    words: ['ID.DROP', name],
    method: 'DELETE',
    path: pathOf(name),
    once: true,
  } as const
  try {
    return await nodes.send({ ...request, read: (reply) => reply === undefined || isReturned(reply) })
  } catch (error) {
    if (hasCode(error, 'NOGENERATOR')) return false
    throw error
  }
}

/** The description of a generator. */
export function describeGenerator(nodes: Nodes, name: string): Promise<GeneratorDescription> {
  return nodes.send({
    name,
    words: ['ID.INFO', name],
    method: 'GET',
    path: pathOf(name),
    read: descriptionOf,
  })
}

/** See `FahaoClient.bounds`. */
export function boundsOf(
  nodes: Nodes,
  name: string,
  from: MomentInput,
  to: MomentInput | undefined,
): Promise<GeneratorBounds> {
  const given = { from: textOf(from), ...(to !== undefined && { to: textOf(to) }) }
  return nodes.send({
    ...reading('ID.BOUNDS', '/v1/bounds', name, given),
    read(reply) {
      const { ranges, texts, where, notes } = fieldsOf(reply)
      return {
        ranges: endsOf(ranges).map(([start, end]) => ({
          start: BigInt(start!),
          end: end === undefined ? undefined : BigInt(end),
        })),
        texts:
          texts === undefined ? undefined : endsOf(texts).map(([start, end]) => ({ start: start!, end })),
        where: String(where),
        notes: notes as readonly string[],
      }
    },
  })
}

/** See `FahaoClient.smallestIdAt`. */
export function smallestIdAt(nodes: Nodes, name: string, moment: MomentInput): Promise<bigint> {
  return nodes.send({
    ...reading('ID.ENCODE', '/v1/encode', name, { at: textOf(moment) }),
    read: (reply) => {
      const { id, layout } = fieldsOf(reply)
      if (isScattered(String(layout))) throw scatteredMoments(name)
      return BigInt(String(id))
    },
  })
}

/** The generators that match, in byte order of their names, page by page. */
export async function* listGenerators(
  nodes: Nodes,
  { match = '*' }: ListOptions,
): AsyncGenerator<ListedGenerator> {
  let after: string | undefined
  do {
    const { found, next } = await nodes.send(pageRequest(match, after))
    yield* found
    after = next
  } while (after !== undefined)
}

function changing(
  command: string,
  method: 'PUT' | 'PATCH',
  name: string,
  { now, force, ...options }: Given,
): Request<unknown> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const texts = given.map(
    ([option, value]) => [option, typeof value === 'bigint' ? String(value) : value] as const,
  )
  const flags = Object.entries({ now, force }).filter(([, value]) => value === true)
  return {
    name,
    words: [
      command,
      name,
      ...texts.flatMap(([option, value]) => [option.toUpperCase(), String(value)]),
      ...flags.map(([flag]) => flag.toUpperCase()),
    ],
    method,
    path: pathOf(name),
    body: Object.fromEntries([...texts, ...flags]),
    read: (reply) => reply,
  }
}

function reading(
  command: string,
  path: string,
  generator: string,
  given: Readonly<Record<string, string>>,
): Omit<Request<unknown>, 'read'> {
  return {
    name: '',
    words: [
      command,
      generator,
      ...Object.entries(given).flatMap(([name, value]) => [name.toUpperCase(), value]),
    ],
    method: 'GET',
    path: `${path}?${query({ generator, ...given })}`,
  }
}

/** Pairs of RESP, or objects of JSON. */
function endsOf(ranges: unknown): (readonly [start: string | undefined, end: string | undefined])[] {
  return (ranges as readonly (readonly unknown[] | { readonly start: unknown; readonly end: unknown })[]).map(
    (each) => {
      const [start, end] = 'start' in each ? [each.start, each.end] : each
      return [String(start), end == null ? undefined : String(end)]
    },
  )
}

function pageRequest(
  match: string,
  after: string | undefined,
): Request<{ readonly found: readonly ListedGenerator[]; readonly next: string | undefined }> {
  return {
    name: '',
    words: ['ID.LIST', 'MATCH', match, ...(after === undefined ? [] : ['AFTER', after])],
    method: 'GET',
    path: `/v1/generators?${query({ match, after, limit: 1000 })}`,
    read(reply) {
      if (!Array.isArray(reply)) {
        const { generators, next } = fieldsOf(reply) as { generators: ListedGenerator[]; next: string | null }
        return { found: generators.map(({ name, kind }) => ({ name, kind })), next: next ?? undefined }
      }
      const found = reply.map(([name, kind]) => ({ name: String(name), kind: String(kind) as Kind }))
      return { found, next: found.at(-1)?.name }
    },
  }
}

/** Over RESP the options stand between the name and the incarnation. */
function descriptionOf(reply: unknown): GeneratorDescription {
  const fields = fieldsOf(reply)
  const entries = Object.entries(fields)
  const options = Object.entries(
    fields.definition ??
      Object.fromEntries(
        entries.slice(
          1,
          entries.findIndex(([field]) => field === 'incarnation'),
        ),
      ),
  ).map(([option, value]) => [option, typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value)])
  const id = (field: string) => (fields[field] == null ? undefined : BigInt(String(fields[field])))
  const text = (field: string) => (fields[field] == null ? undefined : String(fields[field]))
  return {
    name: String(fields.name),
    kind: fields.kind as Kind,
    options: Object.fromEntries(options),
    incarnation: BigInt(String(fields.incarnation)),
    mode: String(fields.mode),
    leader: text('leader'),
    bound: id('bound'),
    lastIssued: id('lastIssued'),
    ...(fields.presentPeriod != null && {
      presentPeriod: text('presentPeriod'),
      periodEnds: text('periodEnds'),
      leftInPeriod: id('leftInPeriod'),
    }),
    exhaustedAt: text('exhaustedAt'),
    notes: fields.notes as readonly string[],
  }
}
