/**
 * Requests that nodes forward to each other over HTTP, as both sides see them. The sender presents no credentials of the
 * client: it proves which user it has checked, for this one request.
 *
 *     authorization: Fahao-Node USER:DIGEST:PROOF
 *
 * USER is the name of the user, and DIGEST the SHA-256 of the body, both in base64url; both are empty where there is none.
 *
 * Invariants
 *  1. No token, password or cookie of a client is passed on.
 *  2. A proof is taken on routes that nodes forward, and on no other.
 *  3. The request is carried out only if its method, path, query, content type, body and client are those that were proven.
 */
import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Access } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import { type ProvenRequest, type Proving, type Purpose, purposeOfHttp } from '../auth/node-proof.ts'
import { isTokenText } from '../auth/token.ts'
import { FahaoError } from '../base/errors.ts'

/** The header with the address of the client. */
export const forwardedHeader = 'fahao-forwarded'

/** What stands for a token in what is passed on. */
export const hiddenToken = 'fahao_***'

const scheme = 'fahao-node'

/** A request as it is passed on. */
export type PassedOn = {
  readonly path: string
  readonly body: string
  readonly headers: Readonly<Record<string, string | number>>
}

/** A request for a user, to another node. */
type SentRequest = Omit<ProvenRequest, 'digest'> & { readonly user: string; readonly body: string }

/** What goes to the node with this id. */
export function passOn(request: FastifyRequest, nodeId: string, proving: Proving): PassedOn {
  const { method, url, ip, headers, access } = request
  const at = url.indexOf('?')
  const path = at < 0 ? url : url.slice(0, at) + withoutTokens(url.slice(at))
  const body = bodyOf(request)
  const contentType = headers['content-type']
  const sent = { method, path, contentType, body, client: ip, user: access.user }
  const passed: Record<string, string | number> = {
    ...provenHeaders(sent, nodeId, proving),
    'content-length': Buffer.byteLength(body),
  }
  for (const name of ['accept', 'content-type', 'idempotency-key', 'traceparent', 'tracestate']) {
    const value = headers[name]
    if (typeof value === 'string') passed[name] = value
  }
  return { path, body, headers: passed }
}

/** The headers that prove to the node with this id who sends a request, and where it comes from. */
export function provenHeaders(
  { user, body, ...request }: SentRequest,
  nodeId: string,
  proving: Proving,
): Record<string, string> {
  const digest = digestOf(body)
  const proof = proving.proofFor(user, nodeId, purposeOfHttp({ ...request, digest }))
  return {
    authorization: `Fahao-Node ${Buffer.from(user).toString('base64url')}:${digest}:${proof}`,
    [forwardedHeader]: request.client,
  }
}

/** The permissions of a request that a node has forwarded; undefined: its Authorization header has another scheme. */
export function forwardedCaller(request: FastifyRequest, access: AccessControl): Promise<Access> | undefined {
  const given = credentialsOf(request)
  if (given === undefined) return undefined
  const [name = '', digest = '', proof = ''] = given
  const user = Buffer.from(name, 'base64url').toString()
  const purpose = purposeOf(request, digest)
  return access.loginByProof(user, proof, purpose, request.socket.remoteAddress ?? '')
}

/** Throws WRONGPASS unless the body, once it has come, is the one that was proven. */
export function checkForwardedBody(request: FastifyRequest): void {
  const digest = credentialsOf(request)?.[1]
  if (digest !== undefined && digest !== digestOf(bodyOf(request)))
    throw new FahaoError('WRONGPASS', 'the body is not the one that the node has proven')
}

function credentialsOf({ headers: { authorization } }: FastifyRequest): string[] | undefined {
  const [, given = '', value = ''] = /^(\S+) +(\S+)$/.exec(authorization ?? '') ?? []
  return given.toLowerCase() === scheme ? value.split(':') : undefined
}

function purposeOf({ method, url, headers }: FastifyRequest, digest: string): Purpose {
  const client = String(headers[forwardedHeader] ?? '')
  return purposeOfHttp({ method, path: url, contentType: headers['content-type'], digest, client })
}

/** The body as this node has parsed it, as text. Parsing that text gives the same text again. */
function bodyOf({ body }: FastifyRequest): string {
  if (body === undefined || body === null) return ''
  // A form.
  if (typeof body === 'string') return withoutTokens(body)
  return JSON.stringify(body)
}

function digestOf(body: string): string {
  return body === '' ? '' : createHash('sha256').update(body).digest('base64url')
}

/** A query or a form without the tokens that are values in it: the proof stands for them. */
function withoutTokens(pairs: string): string {
  if (!pairs.includes('=')) return pairs
  return pairs.replaceAll(/=([^&]*)/g, (pair, value) =>
    isTokenText(decoded(value)) ? `=${hiddenToken}` : pair,
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
