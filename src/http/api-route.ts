/**
 * A route with its documentation: one declarative record. Its part of the OpenAPI document, which /docs shows, and the check of
 * `docs/reference/http-api.md` come from it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { ChangeEvent } from '../audit/audit-entry.ts'
import { type ErrorCode, FahaoError } from '../base/errors.ts'
import { unknownWords } from '../base/nearest.ts'
import type { Example } from '../operations/operation.ts'
import type { Route } from './failures.ts'

/** One answer that a route can give, errors excepted. */
export type AnswerDoc = {
  readonly description: string
  /** By content type; absent: no body. */
  readonly content?: Readonly<Record<string, z.ZodType>>
}

/** An answer in JSON. */
export function jsonAnswer(description: string, shape: z.ZodType): AnswerDoc {
  return { description, content: { 'application/json': shape } }
}

/** A page for browsers. */
export const pageAnswer: AnswerDoc = {
  description: 'The page.',
  content: { 'text/html': z.string().meta({ examples: ['<!doctype html>\n'] }) },
}

/** One route. */
export type ApiRoute = Route & {
  /** OpenAPI's operationId. */
  readonly id: string
  readonly tag: 'ids' | 'generators' | 'workers' | 'namespaces' | 'users' | 'cluster' | 'engine' | 'server'
  /** The command whose permission it needs, for the generator in its path if there is one; `open`: none. */
  readonly command: string
  /** One sentence. */
  readonly summary: string
  /** Details. */
  readonly notes?: string
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly answers: Readonly<Record<number, AnswerDoc>>
  readonly errors: readonly ErrorCode[]
  /** What the audit trail records of a request that has succeeded; `object`: default the name in the path. */
  readonly change?: {
    readonly event: ChangeEvent
    readonly object?: (request: FastifyRequest, answer: unknown) => string
  }
  readonly example: Example
  /**
   * Answers, or throws what `problemOf` describes. Returns undefined if it has sent the answer itself, which saves the
   * fast path a promise.
   */
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown> | undefined
}

/** The errors of a route; every one that is not open has those of its caller. */
export function errorsOf({ command, errors }: ApiRoute): readonly ErrorCode[] {
  return command === 'open' ? errors : [...new Set([...errors, ...callerErrors])]
}

const callerErrors: readonly ErrorCode[] = ['NOAUTH', 'WRONGPASS', 'NOPERM', 'QUOTA']

/** The name in the path, as it was before it was percent-encoded. */
export function nameOf(request: FastifyRequest): string {
  return (request.params as { readonly name: string }).name
}

/** The pool in the path. */
export function poolOf(request: FastifyRequest): string {
  return (request.params as { readonly pool: string }).pool
}

/** The lease in the path. */
export function leaseIdOf(request: FastifyRequest): string {
  return (request.params as { readonly lease: string }).lease
}

/** The query as `schema` reads it; ERR names each parameter that is wrong or unknown. */
export function readQuery<Schema extends z.ZodObject>(
  schema: Schema,
  request: FastifyRequest,
): z.output<Schema> {
  for (const [name, value] of Object.entries(request.query as object))
    if (
      Array.isArray(value) &&
      Object.hasOwn(schema.shape, name) &&
      !schema.shape[name]!.safeParse([]).success
    )
      throw new FahaoError('ERR', `query parameter '${name}' is given ${value.length} times; give it once`)
  return checked(schema, request.query, 'query parameter')
}

/** The body as `schema` reads it; ERR names each member that is wrong or unknown. */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  request: FastifyRequest,
): z.output<Schema> {
  if (request.body === undefined) {
    throw new FahaoError('ERR', 'a body is wanted: JSON, with content-type: application/json')
  }
  return checked(schema, request.body, 'member')
}

/** ERR if there is a body, which would be ignored. */
export function refuseBody({ body }: FastifyRequest): void {
  if (body === undefined) return
  if (typeof body === 'object' && body !== null && Object.keys(body).length === 0) return
  throw new FahaoError('ERR', 'this request takes no body; options go into the query')
}

/** ERR if there are query parameters, which would be ignored. */
export function refuseParameters({ query }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const names = Object.keys(query as object)
  if (names.length > 0) {
    throw new FahaoError(
      'ERR',
      `unknown query parameter '${names[0]!.slice(0, 40)}'; this request takes none`,
    )
  }
  done()
}

function checked<Schema extends z.ZodType>(schema: Schema, input: unknown, what: string): z.output<Schema> {
  const read = schema.safeParse(input, { error: wording })
  if (read.success) return read.data
  throw new FahaoError('ERR', read.error.issues.map((issue) => issueText(issue, schema, what)).join('; '))
}

/** The whole of each part. */
const whole: Readonly<Record<string, string>> = { member: 'body', 'query parameter': 'query' }
const types: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
}

/** The error message, if the schema has none of its own. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    return issue.input === undefined ? 'is missing' : `must be ${types[issue.expected] ?? issue.expected}`
  }
  if (issue.code === 'too_big') return `must have at most ${issue.maximum} characters`
  return issue.code === 'unrecognized_keys' ? undefined : 'is not valid'
}

function issueText(issue: z.core.$ZodIssue, schema: z.ZodType, what: string): string {
  if (issue.code === 'unrecognized_keys') {
    return unknownWords(what, issue.keys, Object.keys((schema as z.ZodObject).shape))
  }
  if (issue.path.length === 0 && issue.code === 'invalid_type') return `the ${whole[what]} ${issue.message}`
  return issue.path.length === 0 ? issue.message : `${what} '${issue.path.join('.')}': ${issue.message}`
}
