/** The credentials of a request to tinyid's API: a token of tinyid or of Fahao, or none, for the user of such requests. */
import type { FastifyRequest } from 'fastify'
import type { Access } from '../../auth/access.ts'
import { isTokenText } from '../../auth/token.ts'
import { systemClock } from '../../base/clock.ts'
import { hasCode } from '../../base/errors.ts'
import { clientAddress, recordDenied } from '../caller.ts'
import { hiddenToken } from '../forwarded.ts'
import type { IssuingNode } from '../issuing-node.ts'
import { TokenGuesses } from './tinyid-guesses.ts'
import { TinyidTokens } from './tinyid-tokens.ts'

/** What requests may draw at one node. */
export class Credentials {
  readonly #node: IssuingNode
  readonly #own: TinyidTokens
  readonly #guesses = new TokenGuesses(systemClock)
  readonly #user: string | undefined

  constructor(node: IssuingNode) {
    this.#node = node
    this.#own = new TinyidTokens(node.engine, node.config.tinyidTokens)
    this.#user = node.config.compatUser.find(({ api }) => api === 'tinyid')?.user
  }

  /**
   * Whether the request may draw from `bizType`; undefined: call `load` first. Sets the caller of a request with a user. QUOTA
   * after too many wrong tokens.
   */
  permits(request: FastifyRequest, token: string, bizType: string): boolean | undefined {
    const access = this.#accessOf(request, token)
    if (access === undefined) return this.#ownPermits(request, token, bizType)
    request.access = access
    return access.allows('id.next') && access.reaches(bizType)
  }

  load(): Promise<void> {
    return this.#own.load()
  }

  /** Takes down that a request may not draw from `bizType`. */
  refused(request: FastifyRequest, token: string, bizType: string): void {
    const { access, audit } = this.#node.server
    if (request.access !== access.initial) {
      recordDenied(audit, request, 'id.next', request.access.allows('id.next') ? bizType : undefined)
      return
    }
    if (token === '' || bizType === '') return
    this.#guesses.failed(clientAddress(request), token)
    if (this.#own.knows(token)) recordDenied(audit, request, 'id.next', bizType)
    else if (!isTokenText(token)) this.#recordFailure(request, 'tinyid token')
  }

  close(): void {
    this.#own.close()
  }

  /** A token that another node has sent on was admitted there. */
  #ownPermits(request: FastifyRequest, token: string, bizType: string): boolean | undefined {
    if (token === '' || bizType === '') return false
    if (request.access.isForwarded) return this.#own.permits(token, bizType)
    const address = clientAddress(request)
    try {
      this.#guesses.admit(address, token)
    } catch (error) {
      this.#recordFailure(request, 'limited')
      throw error
    }
    const permitted = this.#own.permits(token, bizType)
    if (permitted) this.#guesses.succeeded(address, token)
    return permitted
  }

  #accessOf({ socket, access: caller }: FastifyRequest, token: string): Access | undefined {
    const { access } = this.#node.server
    // Another node has checked the token, or there was none.
    if (caller.isForwarded && caller.user !== '' && (token === '' || token === hiddenToken)) return caller
    if (token === '') return this.#user === undefined ? undefined : access.withoutPassword(this.#user)
    if (!isTokenText(token)) return undefined
    try {
      return access.loginWithToken(token, socket.remoteAddress ?? '')
    } catch (error) {
      if (hasCode(error, 'WRONGPASS')) return undefined
      throw error
    }
  }

  #recordFailure(request: FastifyRequest, detail: string): void {
    const address = clientAddress(request)
    const event = {
      event: 'login-failed',
      user: undefined,
      address,
      door: 'http',
      object: '',
      detail,
    } as const
    this.#node.server.audit.record(event)
  }
}
