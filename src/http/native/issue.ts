/** `next`, `range` and `runs`: the operations that issue ids. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { demandPermission } from '../../auth/access.ts'
import { FahaoError } from '../../base/errors.ts'
import type { Generator } from '../../catalogue/catalogue.ts'
import type { IdInput } from '../../ids/gene.ts'
import type { IdText } from '../../ids/id-text.ts'
import { mergedRuns, Run } from '../../ids/run.ts'
import { checkedCount, checkRuns, drawFor, drawRanges } from '../../operations/drawing.ts'
import { idsShape, rangesShape, runsShape } from '../../operations/shapes.ts'
import { type ApiRoute, jsonAnswer, nameOf, readQuery, refuseBody } from '../api-route.ts'
import { type Body, batchBody, type Frame } from '../batch.ts'
import { clientAddress } from '../caller.ts'
import { disconnectSignal } from '../connection.ts'
import { throwDirectFailure } from '../direct.ts'
import { findFor, type IssuingNode, openFor } from '../issuing-node.ts'
import { jsonFrame, jsonType, oneInJson } from './issued-json.ts'

const textType = 'text/plain; charset=utf-8'
const errors = [
  'ERR',
  'NOGENERATOR',
  'KEYUSED',
  'LIMIT',
  'QUOTA',
  'DRY',
  'BUSY',
  'EXHAUSTED',
  'CLOCK',
  'WORKERID',
  'NOTOWNER',
  'REGRESSED',
  'STALE',
  'UNAVAILABLE',
  'SHUTDOWN',
] as const

const lines = z.string().meta({ examples: ['101\n102\n103\n'] })
const thousand = { name: 'order', query: 'count=1000' }

/** `POST /v1/generators/{name}/next` */
export function nextRoute(node: IssuingNode): ApiRoute {
  const { server } = node
  const query = countQuery(server.countMax).extend(geneQuery)
  // Shared by all requests: it is read before other code can run.
  const run = new Run()

  async function waitForIds(
    request: FastifyRequest,
    reply: FastifyReply,
    count: number,
    given?: IdInput,
    isRaw = false,
  ): Promise<Body> {
    const name = nameOf(request)
    const { user, administers } = request.access
    if (given?.force) demandPermission(request.access, 'set', name)
    const generator = await openFor(node, request, name)
    const options = { ...given, signal: disconnectSignal(reply) }
    const { runs, text } = await drawFor(generator, count, options, user)
    if (given?.force) {
      const by = { user, address: clientAddress(request), isOrdinary: !administers, door: 'http' }
      server.audit.record({ event: 'set', ...by, object: name, detail: 'ABOVE with FORCE' })
    }
    return answerMany(request, reply, runs, isRaw ? undefined : text)
  }

  return {
    id: 'next',
    method: 'POST',
    path: '/v1/generators/{name}/next',
    tag: 'ids',
    command: 'id.next',
    summary: 'Issues one id, or `count` of them.',
    notes:
      'All or nothing. With `accept: text/plain` one id per line. Waits for at most the generator’s issueTimeout when ids are short. A generator that has bits for a gene needs `gene` or `by`, once for all ids or once for each; without `count` there are as many ids. With a header `Idempotency-Key` a repeated request of the same user gets the ids of the first one, and 422 with `KEYUSED` if it asks for others. A generator that does not exist is created where --auto-create matches.',
    query,
    answers: {
      200: { description: 'The ids.', content: { 'application/json': idsShape, 'text/plain': lines } },
    },
    errors,
    example: { name: 'order', query: 'count=3', answer: { ids: ['101', '102', '103'] } },
    handler(request, reply) {
      throwDirectFailure(request.raw)
      refuseBody(request)
      const { gene, by, at, above, force, raw, ...given } = readQueryIfAny(request, query)
      const ids = given.count ?? BigInt((gene ?? by)?.length ?? 1)
      const count = checkedCount(ids, server.countMax, 'count')
      const key = idempotencyKey(request.headers['idempotency-key'])
      const input = { gene, by, at, above, key, force: force === 'true' }
      if ((gene ?? by ?? at ?? above ?? force ?? raw ?? key) !== undefined)
        return waitForIds(request, reply, count, input, raw === 'true')
      const generator = findFor(node, request, nameOf(request))
      if (generator === undefined || count !== 1 || generator.take(1, run) === 0) {
        return waitForIds(request, reply, count)
      }
      reply.send(answerOne(request, reply, generator, run))
      return undefined
    },
  }
}

/** `POST /v1/generators/{name}/range` */
export function rangeRoute(node: IssuingNode): ApiRoute {
  const form = {
    id: 'range',
    summary: 'Issues `count` ids as half-open ranges, for a client that issues them by itself.',
    notes:
      'All or nothing; usually there is one range. Raw ids, without the generator’s format. Only for kinds made of a counter whose ids are ordered and one apart; for others, use next with a count.',
    answers: { 200: jsonAnswer('The ranges.', rangesShape) },
    example: { ...thousand, answer: { ranges: [{ start: '101', end: '1101' }] } },
  }
  return rawRoute(node, form, async (generator, count, signal) => {
    const ranges = await drawRanges(generator, count, instead, signal)
    return { ranges: ranges.map(({ start, end }) => ({ start: String(start), end: String(end) })) }
  })
}

/** `POST /v1/generators/{name}/runs` */
export function runsRoute(node: IssuingNode): ApiRoute {
  const form = {
    id: 'runs',
    summary: 'Issues `count` ids as runs, for a client that counts through them by itself.',
    notes:
      'All or nothing. A run is `count` ids from `first` on, `stride` apart; the runs are in the order of issue, usually one. Raw ids, without the generator’s format. For every kind whose ids are ordered, those of the clock too: these give at most as many ids at once as the layout has in borrowMax. For shuffled, scrambled and scattered ids, use next with a count.',
    answers: { 200: jsonAnswer('The runs.', runsShape) },
    example: { ...thousand, answer: { runs: [{ first: '101', stride: '1', count: 1000 }] } },
  }
  return rawRoute(node, form, async (generator, count, signal) => {
    checkRuns(generator, count, instead)
    const runs = mergedRuns(await generator.draw(count, { signal }))
    return {
      runs: runs.map(({ first, stride, count }) => ({
        first: String(first),
        stride: String(stride),
        count,
      })),
    }
  })
}

const instead = 'POST …/next?count=n instead'

/** A route that issues ids as whole numbers, without the format of their generator. */
function rawRoute(
  node: IssuingNode,
  form: Pick<ApiRoute, 'id' | 'summary' | 'notes' | 'answers' | 'example'>,
  draw: (generator: Generator, count: number, signal: AbortSignal) => Promise<unknown>,
): ApiRoute {
  const countMax = Number(node.server.incrByMax)
  const query = countQuery(countMax)
  return {
    ...form,
    method: 'POST',
    path: `/v1/generators/{name}/${form.id}`,
    tag: 'ids',
    command: `id.${form.id}`,
    query,
    errors: [...errors, 'WRONGTYPE'],
    async handler(request, reply) {
      refuseBody(request)
      const { count: ids = 1n } = readQueryIfAny(request, query)
      const count = checkedCount(ids, countMax, 'count')
      const generator = await openFor(node, request, nameOf(request))
      return draw(generator, count, disconnectSignal(reply))
    },
  }
}

function countQuery(countMax: number) {
  const wanted = `must be a whole number from 1 to ${countMax}`
  return z.strictObject({
    count: z
      .string(wanted)
      .regex(/^[1-9]\d{0,39}$/, wanted)
      .meta({ type: 'integer', minimum: 1, maximum: countMax, description: 'how many (default 1)' })
      .transform(BigInt)
      .optional(),
  })
}

/** One for all ids, or one for each. */
const repeated = (type: 'integer' | 'string', description: string, item: z.ZodString) =>
  z
    .preprocess((value) => [value].flat(), z.array(item))
    .meta({ type: 'array', items: { type, ...(type === 'integer' && { minimum: 0 }) }, description })
const geneWanted = 'must be a whole number, 0 or more'
const aboveWanted = 'must be a whole number, 0 or more'
const geneQuery = {
  gene: repeated(
    'integer',
    'the gene of all ids, or of each: their lowest bits',
    z.string(geneWanted).regex(/^\d{1,15}$/, geneWanted),
  )
    .transform((genes) => genes.map(Number))
    .optional(),
  at: z.string().max(64).optional().meta({
    description:
      'ids of this past moment, of a snowflake with `past`: ISO 8601 with a zone, or Unix milliseconds; of a generator with `period`: of the period of this moment, or of a day such as 2026-11-25',
  }),
  above: z
    .string(aboveWanted)
    .regex(/^\d{1,19}$/, aboveWanted)
    .meta({
      type: 'integer',
      minimum: 0,
      description:
        'each id is larger than this number, of a sequence or an ordered segment; what is skipped counts in quotas, and is at most what the option jump allows',
    })
    .transform(BigInt)
    .optional(),
  force: z.enum(['true', 'false']).optional().meta({
    description: 'true: `above` may skip more than the option jump allows; needs the permission manage',
  }),
  raw: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'true: raw ids, without the format of the generator' }),
  by: repeated('string', 'a key for all ids, or for each: the gene is its CRC-32', z.string()).optional(),
}

/** Most requests have none. */
function readQueryIfAny<Schema extends z.ZodObject>(
  request: FastifyRequest,
  query: Schema,
): Partial<z.output<Schema>> {
  return request.url.includes('?') ? readQuery(query, request) : {}
}

/**
 * The key of a request: a string of Structured Fields (RFC 9651) between quotes, as the draft of the IETF has it, or the plain text that
 * most clients send; `"a"` and `a` are the same. Undefined: it has none. Throws ERR for a header that is none, and for several.
 */
function idempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = String(header).trim()
  if (/^"(?:[ !#-[\]-~]|\\["\\])+"$/.test(text)) return text.slice(1, -1).replaceAll(/\\(["\\])/g, '$1')
  if (/^[!#-+\--~]+$/.test(text)) return text
  throw new FahaoError(
    'ERR',
    'the header Idempotency-Key must be one key of visible ASCII, or between quotes as "8e03-9abf"; send it once',
  )
}

const textFrame: Frame = { head: '', separator: '\n', tail: '\n' }

/** The body of one id. It ends with a line break, for terminals. */
function answerOne(request: FastifyRequest, reply: FastifyReply, generator: Generator, run: Run): string {
  if (!typedAsText(request, reply)) return oneInJson(generator, run)
  return `${generator.definition.format === undefined ? run.toString() : generator.text(run.first)}\n`
}

/** The body of many ids. */
function answerMany(
  request: FastifyRequest,
  reply: FastifyReply,
  runs: readonly Run[],
  text: IdText | undefined,
): Body | Promise<Body> {
  const inText = typedAsText(request, reply)
  const frame = inText ? textFrame : jsonFrame
  return batchBody(runs, frame, inText ? text : text?.inJson())
}

/** Whether the answer is plain text; sets its content type. */
function typedAsText(request: FastifyRequest, reply: FastifyReply): boolean {
  const inText = prefersText(request.headers.accept)
  reply.header('content-type', inText ? textType : jsonType)
  return inText
}

/** Whether an Accept header prefers text/plain to application/json (RFC 9110, 12.5.1). */
function prefersText(accept: string | undefined): boolean {
  if (accept === undefined || !accept.includes('text/')) return false
  const text = quality(accept, 'text/plain') ?? quality(accept, 'text/*') ?? 0
  const json =
    quality(accept, 'application/json') ?? quality(accept, 'application/*') ?? quality(accept, '*/*') ?? 0
  return text > 0 && text >= json
}

function quality(accept: string, type: string): number | undefined {
  for (const part of accept.toLowerCase().split(',')) {
    const [media, ...parameters] = part.split(';').map((piece) => piece.trim())
    if (media !== type) continue
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    return q === undefined ? 1 : Number(q.slice(2)) || 0
  }
  return undefined
}
