/** The OpenAPI 3.1 document, made from the operations and their schemas. */
import { z } from 'zod'
import { errorRegistry } from '../../base/error-texts.ts'
import type { ErrorCode } from '../../base/errors.ts'
import { type ApiRoute, errorsOf, jsonAnswer } from '../api-route.ts'
import { problemShape } from '../problem.ts'

type Json = { [member: string]: unknown }

/** `GET /openapi.json`. `operations` is asked when the document is. */
export function openApiRoute(version: string, operations: () => readonly ApiRoute[]): ApiRoute {
  /** Made once: the document is long, and asking for it needs no login. */
  let document: string | undefined
  return {
    id: 'openapi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'server',
    command: 'open',
    summary: 'This interface as an OpenAPI 3.1 document.',
    answers: { 200: jsonAnswer('The document.', z.record(z.string(), z.unknown())) },
    errors: [],
    example: { answer: { openapi: '3.1.0', info: {}, paths: {}, components: {} } },
    async handler(_, reply) {
      document ??= JSON.stringify(openApiDocument(version, operations()))
      reply.header('content-type', 'application/json; charset=utf-8')
      return document
    },
  }
}

/** The document that describes `operations`. */
function openApiDocument(version: string, operations: readonly ApiRoute[]): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    paths[operation.path] ??= {}
    paths[operation.path]![operation.method.toLowerCase()] = describeOperation(operation, schemas)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fahao',
      version,
      description: 'Unique 64-bit ids, handed out. Ids are strings. Errors are RFC 9457 problem details.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas,
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'A user and its password.' },
        bearer: { type: 'http', scheme: 'bearer', description: 'A token of POST /v1/tokens.' },
      },
    },
  }
}

function describeOperation(operation: ApiRoute, schemas: Json): Json {
  const { id, tag, summary, notes, body, example, change, command } = operation
  return {
    operationId: id,
    tags: [tag],
    summary,
    security: operation.command === 'open' ? [] : [{ basic: [] }, { bearer: [] }],
    ...(notes === undefined ? {} : { description: notes }),
    ...(change === undefined ? {} : { 'x-audit-event': change.event }),
    // What a user must be permitted; absent: no login is needed.
    ...(command === 'open' ? {} : { 'x-fahao-command': command }),
    parameters: [...pathParameters(operation), ...queryParameters(operation, schemas)],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: jsonSchema(body, schemas), example: example.body } },
          },
        }),
    responses: { ...answers(operation, schemas), ...failures(operation, schemas) },
  }
}

/** The parameter `{name}`, and its most bytes. */
const named: Partial<Record<ApiRoute['tag'], readonly [what: string, maxLength: number]>> = {
  namespaces: ['namespace', 64],
  users: ['user', 128],
  workers: ['pool', 256],
}

const generator = ['generator', 256] as const

function pathParameters({ path, tag, example }: ApiRoute): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ''], index) => {
    const [what, maxLength] = index > 0 ? [name, 128] : name === 'id' ? ['id', 16] : (named[tag] ?? generator)
    const description = `the ${what}: 1–${maxLength} bytes of UTF-8 without white space, percent-encoded`
    const schema = { type: 'string', minLength: 1, maxLength }
    const shown = index === 0 ? example.name : example.lease
    return { name, in: 'path', required: true, description, schema, example: shown }
  })
}

function queryParameters({ query, example }: ApiRoute, schemas: Json): Json[] {
  if (query === undefined) return []
  const shown = new URLSearchParams(example.query)
  const { properties, required = [] } = jsonSchema(query, schemas) as {
    properties: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description,
    schema,
    example: shown.get(name) ?? undefined,
  }))
}

function answers(operation: ApiRoute, schemas: Json): Json {
  const described = Object.entries(operation.answers).map(([status, { description, content }]) => {
    if (content === undefined) return [status, { description }]
    const types = Object.entries(content).map(([type, shape]) => [
      type,
      {
        schema: jsonSchema(shape, schemas),
        ...(type === 'application/json' && { example: operation.example.answer }),
      },
    ])
    return [status, { description, content: Object.fromEntries(types) }]
  })
  return Object.fromEntries(described)
}

function failures(operation: ApiRoute, schemas: Json): Json {
  const { answers, path } = operation
  const byStatus = Map.groupBy(errorsOf(operation), (code) => String(errorRegistry[code].status))
  const content = { 'application/problem+json': { schema: jsonSchema(problemShape, schemas) } }
  const entries = [...byStatus]
    .filter(([status]) => !(status in answers))
    .map(([status, codes]) => [status, { description: codes.map(meaningOf).join('\n\n'), content }])
  const none = path.includes('{') && { 404: { description: 'There is none.', content } }
  return { ...none, ...Object.fromEntries(entries), default: { description: 'Any other problem.', content } }
}

function meaningOf(code: ErrorCode): string {
  return `${code}: ${errorRegistry[code].meaning}`
}

/** A schema by itself; what it names goes into `schemas` and is referred to. */
function jsonSchema(shape: z.ZodType, schemas: Json): Json {
  const text = JSON.stringify(z.toJSONSchema(shape, { io: 'input' }))
  const {
    $defs = {},
    $schema: _,
    ...schema
  } = JSON.parse(text.replaceAll('#/$defs/', '#/components/schemas/'))
  for (const [name, definition] of Object.entries<Json>($defs)) {
    const { id: _, ...rest } = definition
    schemas[name] ??= rest
  }
  return schema
}
