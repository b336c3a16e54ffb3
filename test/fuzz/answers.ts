/** What an answer to a generated request must be, and how many ids it has. */
import assert from 'node:assert/strict'
import { errorRegistry } from '../../src/base/error-texts.ts'
import type { ErrorCode } from '../../src/base/errors.ts'
import type { FuzzRequest } from './requests.ts'

/** An answer as it came. */
export type Answer = {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** The answer in all bytes of a connection; undefined: there is none. Throws if they are anything else. */
export function answerIn(bytes: Buffer): Answer | undefined {
  if (bytes.length === 0) return undefined
  const text = bytes.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  assert.ok(end > 0 && status > 0, `no answer of HTTP: ${text.slice(0, 200)}`)
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.replace(/^[^:]*: ?/, '')]),
  )
  const payload = bytes.subarray(end + 4)
  const body = headers.get('transfer-encoding') === 'chunked' ? dechunked(payload) : payload
  const length = headers.get('content-length')
  if (length !== undefined)
    assert.equal(body.length, Number(length), 'the body is as long as its header says')
  return { status, headers, body: body.toString('utf8') }
}

function dechunked(payload: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = payload.indexOf('\r\n', at)
    const size = Number.parseInt(payload.toString('latin1', at, lineEnd), 16)
    assert.ok(size >= 0, 'every chunk has a size')
    if (size === 0) return Buffer.concat(parts)
    parts.push(payload.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

/** Throws unless the answer is a success, or a refusal in the form of its API with a registered code. */
export function checkForm({ isNative }: FuzzRequest, { status, headers, body }: Answer): void {
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.doesNotMatch(body, /a bug in this server/)
  if (status < 300) return
  assert.ok(status >= 400, `no status of this server: ${status}`)
  const type = headers.get('content-type') ?? ''
  if (type.startsWith('application/problem+json')) checkProblem(status, body)
  else {
    assert.ok(!isNative, `${status} with ${type}`)
    checkSpring(status, type, headers.get('fahao-error'), body)
  }
}

function checkProblem(status: number, body: string): void {
  const problem = JSON.parse(body)
  const members = ['code', 'detail', 'instance', 'retryable', 'status', 'title', 'type']
  assert.deepEqual(Object.keys(problem).sort(), members)
  assert.equal(problem.status, status)
  assert.notEqual(status, 500)
  const registered = errorRegistry[problem.code as ErrorCode]
  assert.ok(Object.hasOwn(errorRegistry, problem.code), problem.code)
  if (problem.type !== 'about:blank') assert.equal(registered.status, status)
  assert.ok(problem.detail.length > 0 && problem.detail.length < 2000, problem.detail)
}

function checkSpring(status: number, type: string, error: string | undefined, body: string): void {
  assert.equal(type, 'application/json;charset=UTF-8')
  const failure = JSON.parse(body)
  if ('msg' in failure) return checkCosId(status, failure)
  assert.equal(failure.status, status)
  for (const member of ['timestamp', 'error', 'message', 'path']) assert.ok(member in failure, member)
  // The replaced services answer 500 to every refusal; the header has this server's own code.
  if (status === 500) assert.ok(Object.hasOwn(errorRegistry, error?.split(' ')[0] ?? ''), error)
}

function checkCosId(status: number, failure: Readonly<Record<string, unknown>>): void {
  assert.deepEqual(Object.keys(failure), ['code', 'msg', 'errors'])
  assert.ok(failure.code === String(status) || /^M-0[123]$/.test(`${failure.code}`), `${failure.code}`)
  assert.notEqual(status, 500)
}

/** How many ids an answer has. */
export function idsIn({ operation }: FuzzRequest, { status, headers, body }: Answer): number {
  if (status !== 200) return 0
  const type = headers.get('content-type') ?? ''
  if (operation === 'next') return type.startsWith('text/plain') ? lines(body) : JSON.parse(body).ids.length
  if (operation === 'range') return rangeCount(JSON.parse(body).ranges)
  if (operation === 'runs') return runsCount(JSON.parse(body).runs)
  if (/^\/(?:api|id-builder|ids)\//.test(operation)) return 1
  // Numbers of 64 bits lose digits here, which does not matter.
  if (operation === '/tinyid/id/nextId')
    return (JSON.parse(body).data ?? []).length || oneOf(JSON.parse(body).data)
  if (operation === '/tinyid/id/nextIdSimple') return body === '' ? 0 : body.split(',').length
  if (operation === '/tinyid/id/nextSegmentId') return segmentCount(JSON.parse(body).data)
  if (operation !== '/tinyid/id/nextSegmentIdSimple' || body === '') return 0
  const [currentId = '', , maxId = '', delta = ''] = body.split(',')
  return segmentCount({ currentId, maxId, delta })
}

type Segment = {
  readonly currentId: string | number
  readonly maxId: string | number
  readonly delta: string | number
}

/** Its first id follows `currentId`, its last one is `maxId`, and they are `delta` apart. */
function segmentCount(segment: Segment | null): number {
  if (segment === null) return 0
  const { currentId, maxId, delta } = segment
  return (Number(maxId) - Number(currentId) - 1) / Number(delta) + 1
}

function oneOf(data: unknown): number {
  return typeof data === 'number' || typeof data === 'string' ? 1 : 0
}

function lines(body: string): number {
  return body.split('\n').filter((line) => line !== '').length
}

function rangeCount(ranges: readonly { readonly start: string; readonly end: string }[]): number {
  return Number(ranges.reduce((sum, { start, end }) => sum + BigInt(end) - BigInt(start), 0n))
}

function runsCount(runs: readonly { readonly count: number }[]): number {
  return runs.reduce((sum, { count }) => sum + count, 0)
}
