/** Requests for every operation, as bytes: valid, nearly valid, and hostile in their target, headers, body and framing. */
import fc from 'fast-check'
import { hostileText, type Schema, type Schemas, valuesOf } from './schema-values.ts'

/** A request. */
export type FuzzRequest = {
  /** The operation's id in the OpenAPI document, or the path of a compatible API. */
  readonly operation: string
  readonly isNative: boolean
  readonly bytes: Buffer
  /** Whether the client breaks off: no answer has to come then. */
  readonly isCut: boolean
}

/** The OpenAPI document, as far as it is read here. */
export type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Schemas }
}
type Parameter = { readonly name: string; readonly in: string; readonly schema: Schema }
type DocumentedOperation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

/** Where a request goes, and what it may contain. */
type Shape = {
  readonly operation: string
  readonly isNative: boolean
  readonly method: string
  readonly path: string
  readonly names: fc.Arbitrary<string>
  readonly parameters: Readonly<Record<string, fc.Arbitrary<string>>>
  readonly body?: fc.Arbitrary<unknown>
}

/** The generators whose ids are counted, and one that exists nowhere. */
const known = ['order', 'user', 'coupon', 'event', 'txn', 'sms', 'none']
const issuing = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...known) },
  { weight: 1, arbitrary: hostileText },
)
/** Requests that change something use other names, so that no generator whose ids are counted goes. */
const scratch = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('scratch1', 'scratch2', 'scratch3') },
  { weight: 1, arbitrary: hostileText.map((text) => `scratch${text}`) },
)
const token = fc.oneof(
  { weight: 9, arbitrary: fc.constant('t0ken-0123456789') },
  { weight: 1, arbitrary: hostileText },
)
/** Requests for every operation of the document and every compatible API. */
export function requestsFor(document: Document): fc.Arbitrary<FuzzRequest> {
  return fc.oneof(...[...nativeShapes(document), ...compatShapes()].map(requestOf))
}

function nativeShapes({ paths, components: { schemas } }: Document): Shape[] {
  // A live stream does not end.
  const ending = Object.entries(paths).filter(([path]) => path !== '/v1/live')
  return ending.flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId, tags, parameters, requestBody }]): Shape => {
      const queried = parameters.filter((each) => each.in === 'query')
      const schema = requestBody?.content['application/json']?.schema
      const changes = method !== 'get' && !tags.includes('ids')
      return {
        operation: operationId,
        isNative: true,
        method: method.toUpperCase(),
        path,
        names: changes ? scratch : issuing,
        parameters: Object.fromEntries(queried.map((each) => [each.name, parameterOf(each.schema, schemas)])),
        // A valid advance raises every bound, and ids are missing then.
        ...(schema && {
          body:
            path === '/v1/engine/advance'
              ? fc.constantFrom<unknown>({ by: 5 }, { by: '0' }, {}, null, { by: '-1' }, { by: '1', x: 1 })
              : valuesOf(schema, schemas),
        }),
      }
    }),
  )
}

function parameterOf(schema: Schema, schemas: Schemas): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 12, arbitrary: valuesOf(schema, schemas).map(String) },
    { weight: 2, arbitrary: fc.oneof(issuing, fc.constantFrom('5', '1888944671579078978')) },
    { weight: 1, arbitrary: hostileText },
  )
}

function compatShapes(): Shape[] {
  const shape = (path: string, parameters: Shape['parameters'] = {}): Shape[] =>
    ['GET', 'POST'].map((method) => ({
      operation: path,
      isNative: false,
      method,
      path,
      names: issuing,
      parameters,
    }))
  const batchSize = fc.oneof(fc.integer({ min: -2, max: 2000 }).map(String), hostileText)
  return [
    ...shape('/api/segment/get/{name}'),
    ...shape('/api/snowflake/get/{name}'),
    ...shape('/decodeSnowflakeId', { snowflakeId: hostileText }),
    ...shape('/cache', { from: hostileText }),
    ...shape('/db', { after: hostileText }),
    ...['increase-id', 'increase-id-str', 'increase-seq-id', 'increase-seq-id-str'].flatMap((each) =>
      shape(`/id-builder/${each}`, { code: issuing }),
    ),
    ...['nextId', 'nextIdSimple'].flatMap((each) =>
      shape(`/tinyid/id/${each}`, { token, bizType: issuing, batchSize }),
    ),
    ...['nextSegmentId', 'nextSegmentIdSimple'].flatMap((each) =>
      shape(`/tinyid/id/${each}`, { token, bizType: issuing }),
    ),
    ...cosidShapes(),
  ]
}

/** Names of segments are no generators whose ids are counted. */
function cosidShapes(): Shape[] {
  const common = { isNative: false, names: scratch }
  const duration = fc.oneof(fc.constantFrom('PT5M', 'PT1S', 'P1D'), hostileText)
  const number = fc.oneof(fc.integer({ min: -1, max: 50 }).map(String), hostileText)
  const machine = {
    instanceId: hostileText,
    stable: fc.constantFrom('true', 'false'),
    safeGuardDuration: duration,
  }
  return [
    ...['POST', 'PATCH', 'DELETE'].map((method) => ({
      ...common,
      operation: '/machines/{namespace}',
      method,
      path: '/machines/{namespace}',
      parameters: { ...machine, machineBit: number },
    })),
    {
      ...common,
      operation: '/segments/distributor/{namespace}/{name}',
      method: 'POST',
      path: '/segments/distributor/{namespace}/{name}',
      parameters: { offset: number, step: number },
    },
    ...['/ids/{name}', '/ids/as-string/{name}'].map((path) => ({
      ...common,
      operation: path,
      method: 'GET',
      path,
      names: issuing,
      parameters: {},
    })),
  ]
}

function requestOf(shape: Shape): fc.Arbitrary<FuzzRequest> {
  const { operation, isNative, method } = shape
  return fc
    .record({ target: targetOf(shape), head: headOf(isNative), body: bodyOf(shape), framing })
    .map(({ target, head, body, framing }) => {
      const { headers, payload, isCut } = framed(framing, body)
      const lines = [
        `${method} ${target} HTTP/1.1`,
        'host: localhost',
        ...head,
        ...headers,
        'connection: close',
      ]
      const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), payload])
      const text = () => JSON.stringify(bytes.toString('latin1').slice(0, 1000))
      return { operation, isNative, bytes, isCut, [fc.toStringMethod]: text }
    })
}

function targetOf({ path, names, parameters }: Shape): fc.Arbitrary<string> {
  const filled = fc
    .tuple(names, encoding)
    .map(([name, encode]) => path.replaceAll(/\{\w+\}/g, () => encode(name)))
  const pairs = Object.entries(parameters).map(([name, values]) => fc.tuple(fc.constant(name), values))
  const usual = fc.tuple(...pairs)
  const some = usual.chain((all) => fc.subarray(all))
  const doubled = usual.map((all) => [...all, ...all.slice(0, 1)])
  const foreign = fc
    .tuple(some, hostileText, hostileText)
    .map(([all, name, value]) => [...all, [name, value] as [string, string]])
  const query = fc.oneof(
    { weight: 6, arbitrary: usual },
    { weight: 4, arbitrary: some },
    { weight: 1, arbitrary: doubled },
    { weight: 1, arbitrary: foreign },
  )
  const text = fc
    .tuple(query, encoding)
    .map(([all, encode]) => all.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&'))
  const odd = fc.constantFrom(
    '%',
    '%zz',
    'a=%ff',
    '&&&',
    '=',
    '?',
    '#',
    'count',
    'count[]=1',
    'count=1;count=2',
  )
  return fc
    .tuple(filled, fc.oneof({ weight: 9, arbitrary: text }, { weight: 1, arbitrary: odd }))
    .map(([before, after]) => (after === '' ? before : `${before}?${after}`))
}

/** Percent-encoding: as usual, of every byte, and hardly any. The name is the same, unless it is broken. */
const encoding: fc.Arbitrary<(text: string) => string> = fc.oneof(
  { weight: 8, arbitrary: fc.constant((text: string) => encodeURIComponent(text.toWellFormed())) },
  {
    weight: 1,
    arbitrary: fc.constant((text: string) =>
      [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
    ),
  },
  // What would end the line of the request, or the target, is encoded.
  { weight: 1, arbitrary: fc.constant((text: string) => text.replaceAll(/[^!-~]|[#?&]/g, '+')) },
)

function headOf(isNative: boolean): fc.Arbitrary<string[]> {
  const types = isNative
    ? [
        'application/json',
        'application/json; charset=utf-8',
        'text/plain',
        'application/xml',
        'application/json;;',
        '',
        'multipart/form-data; boundary=x',
      ]
    : ['application/x-www-form-urlencoded', 'application/json', 'text/plain', '']
  const type = fc.oneof(
    { weight: 8, arbitrary: fc.constant(types[0]!) },
    { weight: 2, arbitrary: fc.constantFrom(...types) },
  )
  const accept = fc.option(
    fc.constantFrom(
      'text/plain',
      '*/*',
      'text/plain;q=x',
      'application/json, text/plain;q=0.5',
      ',,;',
      'a'.repeat(500),
    ),
    { freq: 4 },
  )
  return fc
    .tuple(type, accept)
    .map(([content, accepted]) => [
      ...(content === '' ? [] : [`content-type: ${content}`]),
      ...(accepted === null ? [] : [`accept: ${accepted}`]),
    ])
}

const hostileBodies = [
  '{"__proto__":{"kind":"segment"}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"kind":"segment","kind":"sequence"}',
  '[',
  '{',
  '{"a":',
  'null',
  '0',
  '"x"',
  '\ufeff{}',
  '{"kind":"\\ud800"}',
  '{"step":1e400}',
  '{"step":-0}',
  'NaN',
  '{}{}',
  '['.repeat(5000),
  `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`,
  `{"kind":"${'x'.repeat(70_000)}"}`,
  ' '.repeat(1000),
  '\0',
].map((text) => Buffer.from(text))

function bodyOf({ body, method, isNative }: Shape): fc.Arbitrary<Buffer> {
  const hostile = fc.oneof(
    fc.constantFrom(...hostileBodies),
    fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  )
  const none = fc.constant(Buffer.alloc(0))
  const form = fc.tuple(issuing, hostileText).map(([name, text]) => {
    return Buffer.from(
      new URLSearchParams({
        batchSize: '3',
        token: 't0ken-0123456789',
        bizType: name,
        code: name,
        x: text,
      }).toString(),
    )
  })
  if (!isNative && method === 'POST') return fc.oneof(none, form, hostile)
  if (body === undefined) return fc.oneof({ weight: 9, arbitrary: none }, { weight: 1, arbitrary: hostile })
  const json = body.map((value) => Buffer.from(JSON.stringify(value) ?? ''))
  const broken = fc.tuple(json, fc.nat(200)).map(([bytes, at]) => bytes.subarray(0, at))
  return fc.oneof(
    { weight: 10, arbitrary: json },
    { weight: 1, arbitrary: broken },
    { weight: 1, arbitrary: hostile },
  )
}

type Framing = 'length' | 'chunked' | 'cut' | 'short' | 'bad chunks'
const framing: fc.Arbitrary<Framing> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Framing>('length') },
  { weight: 2, arbitrary: fc.constant<Framing>('chunked') },
  { weight: 1, arbitrary: fc.constantFrom<Framing>('cut', 'short', 'bad chunks') },
)

function framed(framing: Framing, body: Buffer): { headers: string[]; payload: Buffer; isCut: boolean } {
  const length = [`content-length: ${body.length}`]
  const chunk = (bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  const chunked = ['transfer-encoding: chunked']
  const half = body.subarray(0, body.length >> 1)
  const last = Buffer.from('0\r\n\r\n')
  switch (framing) {
    case 'length':
      return { headers: body.length === 0 ? [] : length, payload: body, isCut: false }
    case 'chunked': {
      const chunks = [half, body.subarray(half.length)].filter((each) => each.length > 0).map(chunk)
      return { headers: chunked, payload: Buffer.concat([...chunks, last]), isCut: false }
    }
    case 'cut':
      return { headers: [`content-length: ${body.length + 1}`], payload: body, isCut: true }
    case 'short':
      // The rest of the body follows a request that closes its connection, and is ignored.
      return { headers: [`content-length: ${half.length}`], payload: body, isCut: false }
    case 'bad chunks':
      return { headers: chunked, payload: Buffer.concat([Buffer.from('zz\r\n'), body]), isCut: false }
  }
}
