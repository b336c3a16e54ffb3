/** The operations on generators themselves: list, show, create, alter, drop. */
import { z } from 'zod'
import { Moved } from '../../base/moved.ts'
import type { Catalogue, GeneratorChanges, ListedGenerator } from '../../catalogue/catalogue.ts'
import { definitionJson } from '../../catalogue/definition.ts'
import { floorOf, stillOut } from '../../catalogue/floor.ts'
import { type ListRequest, listedPart } from '../../catalogue/generator-lists.ts'
import { type GeneratorInput, generatorOptions } from '../../catalogue/generator-options.ts'
import { isStrict } from '../../issuing/issuer.ts'
import type { FahaoNode } from '../../node/node.ts'
import { wholeNumberSchema as wholeNumber } from '../../operations/argument.ts'
import { describedGenerator } from '../../operations/generator-info.ts'
import {
  alterOperation,
  createOperation,
  dropOperation,
  readErrors,
  writeErrors,
} from '../../operations/generators.ts'
import { generatorJson, generatorShape, pageShape } from '../../operations/shapes.ts'
import { type ApiRoute, jsonAnswer, nameOf, readBody, readQuery } from '../api-route.ts'
import { factsOf, routesOf } from './route.ts'

type Served = Pick<FahaoNode, 'catalogue' | 'server'>

const path = '/v1/generators/{name}'

const changes = generatorOptions
  .partial()
  .extend({
    floor: generatorOptions.shape.start.meta({
      description: 'sequence and segment: ranges reserved from now on start at or above it',
    }),
    now: z.boolean('must be true or false').optional().meta({
      description:
        'with floor, of a segment: a new incarnation starts there, and nodes drop what they have buffered',
    }),
    force: z.boolean('must be true or false').optional().meta({
      description: 'with floor: also where it gives up more than 2^40 ids, or half of what is left',
    }),
  })
  .meta({ id: 'GeneratorChanges' })

const listQuery = z.strictObject({
  match: z
    .string()
    .max(256)
    .optional()
    .meta({ description: 'a glob pattern of names: * ? [a-z] (default *)' }),
  after: z.string().max(256).optional().meta({ description: 'the `next` of the page before' }),
  limit: wholeNumber(1, 1000, 'how many at most (default 100)').optional(),
})

/** `GET /v1/generators` and everything at `/v1/generators/{name}`. */
export function generatorRoutes(node: Served): ApiRoute[] {
  const { catalogue } = node
  return [list(node), show(node), create(catalogue), alter(node), ...routesOf([dropOperation], node)]
}

const order = {
  name: 'order',
  kind: 'sequence',
  definition: {
    kind: 'sequence',
    issueTimeout: '2s',
    start: '1',
    increment: 1,
    offset: '0',
    max: '9223372036854775807',
    step: 1000,
    stepMax: 10_000_000_000,
    horizon: '10m',
    within: 'ordered',
    scramble: false,
  },
  incarnation: '1',
  mode: 'leader',
  leader: '10.0.0.1:7379',
  bound: '1001',
  lastIssued: '3',
  exhaustedAt: null,
  readers: 'ids are in the order of draws, and rows in that of commits: draw an id as a mark, …',
  notes: ['its ids outgrow an INT column (2^31−1) on 2051-05-07'],
  stats: {
    leased: 0,
    drawn: 0,
    returned: 0,
    gap: 0,
    callersPerSecond: 0,
    refills: 1,
    refillFailures: 0,
    refillSeconds: 0.0064,
    waits: 1,
    refillsFailing: 0,
    issued: 3,
    ratePerSecond: 0.28,
    peakPerSecond: 0.29,
    inHand: 997,
    inHandSeconds: 3524,
    reserved: 1000,
    released: 0,
    dropped: 0,
    lost: 0,
    drySeconds: 0.0075,
    waiting: 0,
  },
} as const
const { name, kind, definition } = order

function list(node: Served): ApiRoute {
  return {
    id: 'listGenerators',
    method: 'GET',
    path: '/v1/generators',
    tag: 'generators',
    command: 'id.list',
    summary: 'Lists generators in the order of their names, page by page.',
    notes:
      'A page can have fewer than `limit` generators, even none, and still not be the last: continue until `next` is null.',
    query: listQuery,
    answers: { 200: jsonAnswer('A page.', pageShape) },
    errors: ['ERR', 'UNAVAILABLE', 'SHUTDOWN'],
    example: { query: 'match=o*&limit=10', answer: { generators: [{ name, kind, definition }], next: null } },
    async handler(request) {
      const { match = '*', after, limit = 100 } = readQuery(listQuery, request)
      const { found, next } = await findPage(node, { access: request.access, pattern: match, after }, limit)
      const generators = found.map(({ name, definition }) => ({
        name,
        kind: definition.kind,
        definition: definitionJson(definition),
      }))
      return { generators, next: next ?? null }
    },
  }
}

function show(node: Served): ApiRoute {
  return {
    id: 'getGenerator',
    method: 'GET',
    path,
    tag: 'generators',
    command: 'id.info',
    summary: 'Shows a generator: its definition, its bound and newest id, its figures on this node.',
    notes:
      'A note says how many worker ids of the layout of a snowflake callers hold; a node counts them once a second at most, so the numbers can be a second or two old. Never creates one, and never opens one that is not in use. In a cluster the leader of a strict generator answers.',
    answers: { 200: jsonAnswer('The generator.', generatorShape) },
    errors: [...readErrors, 'CLUSTERDOWN', 'UNKNOWN'],
    example: { name, answer: order },
    async handler(request) {
      const info = await describedGenerator(node, nameOf(request), request.access)
      if (info.elsewhere !== undefined) throw new Moved(info.elsewhere)
      return generatorJson(info)
    },
  }
}

function create(catalogue: Catalogue): ApiRoute {
  return {
    ...factsOf(createOperation),
    id: 'createGenerator',
    method: 'PUT',
    path,
    tag: 'generators',
    summary: 'Creates a generator, or confirms that it is there with these options.',
    notes: 'Repeating it changes nothing. Big integers may be strings, durations are written 250ms, 3s, 10m.',
    body: generatorOptions,
    answers: {
      200: jsonAnswer('It was there already.', generatorShape),
      201: jsonAnswer('It was created.', generatorShape),
    },
    errors: [...writeErrors, 'EXISTS', 'LIMIT'],
    example: { name, body: { kind }, answer: order },
    async handler(request, reply) {
      const name = nameOf(request)
      readBody(generatorOptions, request)
      const existed = await catalogue.exists(name)
      await catalogue.create(name, request.body as GeneratorInput)
      if (!existed) reply.code(201).header('location', `/v1/generators/${encodeURIComponent(name)}`)
      return generatorJson(await catalogue.info(name))
    },
  }
}

function alter(node: Served): ApiRoute {
  return {
    ...factsOf(alterOperation),
    id: 'alterGenerator',
    method: 'PATCH',
    path,
    tag: 'generators',
    summary: 'Changes options of a generator, or moves it forward with `floor`.',
    notes:
      'Options that are left out stay. Changing what is fixed (kind, increment, layout, …) starts a new incarnation above every id of the old one.',
    body: changes,
    answers: { 200: jsonAnswer('The generator as it is now.', generatorShape) },
    errors: [...writeErrors, 'WRONGTYPE', 'STALE', 'LIMIT'],
    example: { name, body: { step: 5000 }, answer: { ...order, definition: { ...definition, step: 5000 } } },
    async handler(request) {
      const name = nameOf(request)
      readBody(changes, request)
      const asked = request.body as GeneratorChanges
      const { kind } = await node.catalogue.alter(name, asked)
      const info = await describedGenerator(node, name, request.access)
      if (asked.floor === undefined || asked.now || isStrict(kind)) return generatorJson(info)
      return generatorJson({ ...info, notes: [...info.notes, stillOut(name, floorOf(asked.floor))] })
    },
  }
}

/** The most parts that one request reads, so that a rare pattern over a million names does not take long. */
const partsMax = 50

/**
 * Up to `limit` matches after `after`, and the start of the next page; undefined on the last. The start is the name of a
 * match, or, for a caller that reaches every name, of any generator.
 */
async function findPage(
  { catalogue, server }: Served,
  request: ListRequest,
  limit: number,
): Promise<{ found: ListedGenerator[]; next: string | undefined }> {
  const { reachesAll } = request.access
  const found: ListedGenerator[] = []
  let { after } = request
  for (let parts = 0; parts < partsMax || !reachesAll; parts++) {
    const { found: more, next } = await listedPart(catalogue, server.turns, { ...request, after })
    found.push(...more)
    if (found.length > limit || (found.length === limit && next !== undefined)) {
      return { found: found.slice(0, limit), next: found[limit - 1]!.name }
    }
    if (next === undefined) return { found, next: undefined }
    after = next
  }
  return { found, next: after }
}
