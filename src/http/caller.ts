/**
 * Who sends a request, and whether the route permits it: Basic credentials of a user, a token, or none.
 *
 * Invariants
 *  1. Every route says which command it stands for, or that it is open. A request is checked before its body is read, and
 *     before its handler runs: one that is refused draws no id.
 *  2. Wrong credentials are refused on every route that is not open, also where none are needed.
 *  3. Credentials that this connection has proven are not checked again while nothing about their user or token changes.
 */
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import { type Access, demandPermission } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { certificateName } from '../listening/handshakes.ts'
import { longCheck, turns } from '../listening/turns.ts'
import { connectionOf } from './connection.ts'
import { checkForwardedBody, forwardedCaller, forwardedHeader } from './forwarded.ts'
import { ProvenCaller } from './proven-caller.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What the caller may do. */
    access: Access
  }
  interface FastifyContextConfig {
    access?: RouteAccess
    /** Whether nodes forward the request to the leader, which then accepts the proof of a node. */
    isForwardable?: boolean
  }
}

/** What a route demands of its caller. `open`: nothing. */
export type RouteAccess = 'open' | Demanded

type Demanded = {
  /** The command whose permission it needs: `id.next`, `http|metrics`. */
  readonly command: string
  /** The generator that a request names, if it can be told without the body. */
  readonly name?: (request: FastifyRequest) => string | undefined
  /** The token of a request without an Authorization header. */
  readonly token?: (request: FastifyRequest) => string | undefined
  /** The user of a request without credentials. */
  readonly user?: string | undefined
}

/** Checks the caller of every request to `app`. Call it before any route is added. */
export function checkCallers(app: FastifyInstance, access: AccessControl, audit: Audit): void {
  app.decorateRequest('access')
  app.addHook('onRequest', (request, _reply, done) => {
    const { access: demanded = 'open', isForwardable = false } = request.routeOptions.config
    // Without a route there is nothing to protect: the answer is 404.
    request.access = access.initial
    const permit = (caller: Access): Promise<void> | void => {
      request.access = caller
      if (demanded === 'open') return
      const check = () => demandRecorded(caller, demanded, request, audit)
      const work = demanded.name === undefined ? 0 : caller.work
      if (work > longCheck) return turns.take(work).then(check)
      turns.spend(work)
      return check()
    }
    try {
      const forwarded = isForwardable ? forwardedCaller(request, access) : undefined
      const caller = forwarded ?? (demanded === 'open' ? access.initial : callerOf(request, access, demanded))
      const permitted = caller instanceof Promise ? caller.then(permit) : permit(caller)
      if (permitted === undefined) return done()
      permitted.then(() => done(), done)
    } catch (error) {
      done(error as Error)
    }
  })
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.access.isForwarded) checkForwardedBody(request)
    done()
  })
}

/** `demand`; NOPERM is recorded. */
function demandRecorded(caller: Access, demanded: Demanded, request: FastifyRequest, audit: Audit): void {
  try {
    demand(caller, demanded, request)
  } catch (error) {
    const { command, name } = demanded
    const detail = caller.allows(command) ? name?.(request) : undefined
    if (hasCode(error, 'NOPERM')) recordDenied(audit, request, command, detail)
    throw error
  }
}

function demand(caller: Access, { command, name, token }: Demanded, request: FastifyRequest): void {
  if (caller.unrestricted) return
  if (caller.user === '') throw token === undefined ? noLogin : noLoginOrToken
  demandPermission(caller, command, name?.(request))
}

const header = 'send an Authorization header: Basic with a user and its password, or Bearer with a token'
const noLogin = new FahaoError('NOAUTH', `Authentication required: ${header}`)
const noLoginOrToken = new FahaoError(
  'NOAUTH',
  `Authentication required: add a token to the query of the URL, as access_token, or ${header}`,
)

/** Records that the caller's permissions refuse a request. @param detail the name that is refused, or the reason. */
export function recordDenied(
  audit: Audit,
  request: FastifyRequest,
  command: string,
  detail: string | undefined,
): void {
  const { user } = request.access
  audit.record({
    event: 'denied',
    user,
    address: clientAddress(request),
    door: 'http',
    object: command,
    detail,
  })
}

/** The IP address of the client, also of a request that another node has forwarded. */
export function clientAddress({ access, headers, ip }: FastifyRequest): string {
  const given = headers[forwardedHeader]
  return access.isForwarded && typeof given === 'string' && isIP(given) ? given : ip
}

function callerOf(
  request: FastifyRequest,
  access: AccessControl,
  { token, user }: Demanded,
): Access | Promise<Access> {
  const { authorization } = request.headers
  const address = request.socket.remoteAddress ?? ''
  if (authorization === undefined) {
    const text = token?.(request)
    if (text !== undefined) return access.loginWithToken(text, address)
    const bound = user === undefined ? undefined : access.withoutPassword(user)
    return bound ?? access.initialOf(certificateName(request.socket), { address, door: 'http' })
  }
  const connection = connectionOf(request.raw)
  const proven = connection?.caller?.access(authorization, access)
  if (proven !== undefined) return proven
  const remember = (caller: Access) => {
    if (connection !== undefined) connection.caller = new ProvenCaller(authorization, caller)
    return caller
  }
  const [, scheme = '', value = ''] = /^(\S+) +(\S+)$/.exec(authorization) ?? []
  if (scheme.toLowerCase() === 'basic') {
    const [user, password] = readBasic(value)
    return access.login(user, password, address, 'http').then(remember)
  }
  if (scheme.toLowerCase() === 'bearer') return remember(access.loginWithToken(value, address))
  throw new FahaoError(
    'WRONGPASS',
    'the Authorization header must be Basic, with a user and its password, or Bearer, with a token',
  )
}

function readBasic(value: string): readonly [user: string, password: string] {
  const text = Buffer.from(value, 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 0) throw new FahaoError('WRONGPASS', 'the Basic credentials have no colon')
  return [text.slice(0, colon), text.slice(colon + 1)]
}
