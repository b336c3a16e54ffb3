/**
 * The members of an etcd cluster, called as one server.
 *
 * Invariants
 *  1. Every call settles by its deadline.
 *  2. A write is sent again only after an answer which says that nothing was changed.
 *  3. One member is used until it fails or stops answering; then the next one.
 */
import { type Clock, sleep, systemRandom } from '../../base/clock.ts'
import { describe, FahaoError } from '../../base/errors.ts'
import type { EngineOptions } from '../engine-options.ts'
import { type Method, methods } from './api.ts'
import { CallFailure, Member, type MemberStream, type StreamListener } from './member.ts'
import type { EtcdAddress } from './url.ts'

/** The deadline and the progress of one call, shared with its caller. */
export type CallContext = {
  /** In µs of the monotonic clock. */
  readonly deadlineUs: number
  readonly writes: boolean
  /** Whether the call was sent, and no answer has shown that nothing was changed. */
  sent: boolean
}

const pauseMs = 50
const pauseMaxMs = 500

/** The members of one cluster. */
export class Members {
  readonly #address: EtcdAddress
  readonly #clock: Clock
  readonly #options: EngineOptions
  readonly #members: readonly Member[]
  #current = 0
  #token: Promise<string | undefined> | undefined
  #trouble: string | undefined

  constructor(address: EtcdAddress, options: EngineOptions) {
    this.#address = address
    this.#clock = options.clock
    this.#options = options
    this.#members = address.endpoints.map((endpoint) => new Member(endpoint, address.tls, options.clock))
  }

  /** The reason for which calls fail at present; undefined: they do not. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** Creates a call that begins now. */
  newCall(writes: boolean): CallContext {
    const deadlineUs = this.#clock.monoUs() + this.#options.callTimeoutMs * 1000
    return { deadlineUs, writes, sent: false }
  }

  /**
   * Calls members until one answers. Rejects with UNAVAILABLE if nothing was changed, UNKNOWN if a write may have been
   * carried out.
   */
  async call<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    call = this.newCall(false),
  ): Promise<Response> {
    let reason = 'no member could be reached'
    for (let tries = 0; ; tries++) {
      const member = this.#pick()
      try {
        const response = await this.#attempt(member, method, request, call)
        this.#setTrouble(undefined)
        return response
      } catch (error) {
        if (!(error instanceof CallFailure)) throw error
        reason = error.message
        const isOpen = error.outcome === 'lost' || error.outcome === 'full'
        if (isOpen && call.sent && call.writes) {
          this.#nextMember(member)
          throw this.#failed('UNKNOWN', `${reason}; the write may have been carried out`)
        }
        call.sent = false
        if (error.outcome === 'denied' || error.outcome === 'full') throw this.#failed('UNAVAILABLE', reason)
        if (error.outcome === 'token') this.#token = undefined
        else this.#nextMember(member)
      }
      const leftMs = this.#leftMs(call)
      if (leftMs <= 0) throw this.#failed('UNAVAILABLE', `${reason}; look at the etcd cluster`)
      if (tries < this.#members.length - 1) continue
      const round = Math.min(pauseMaxMs, pauseMs * 2 ** Math.floor(tries / this.#members.length))
      await sleep(this.#clock, Math.min(leftMs, round * (0.5 + systemRandom())))
    }
  }

  /** Opens a stream on a member that is connected. Rejects with UNAVAILABLE after the time. */
  async stream<Request, Response>(
    method: Method<Request, Response>,
    listener: StreamListener<Response>,
  ): Promise<{
    readonly stream: MemberStream<Request>
    readonly fail: (reason: string) => void
  }> {
    const call = this.newCall(false)
    for (let tries = 0; ; tries++) {
      const member = this.#pick()
      try {
        await this.#connect(member, call)
        const token = await this.#tokenOf(member, call)
        const fail = (reason: string) => {
          if (/token|auth/.test(reason)) this.#token = undefined
          this.#nextMember(member)
        }
        return { stream: member.stream(method, token, listener), fail }
      } catch (error) {
        this.#nextMember(member)
        if (this.#leftMs(call) <= 0) throw new FahaoError('UNAVAILABLE', describe(error))
        if (tries >= this.#members.length - 1) await sleep(this.#clock, Math.min(this.#leftMs(call), pauseMs))
      }
    }
  }

  /** Ends all connections. */
  close(): void {
    for (const member of this.#members) member.close()
  }

  async #attempt<Request, Response>(
    member: Member,
    method: Method<Request, Response>,
    request: Request,
    call: CallContext,
  ): Promise<Response> {
    if (!member.ready) await this.#connect(member, call)
    const token = this.#address.user && (await this.#tokenOf(member, call))
    const leftMs = this.#leftMs(call)
    if (leftMs <= 0) throw new CallFailure('refused', `${member.endpoint} was not ready in time`)
    call.sent = true
    // A read can be sent to another member, and leaves time for that.
    const timeoutMs = call.writes || this.#members.length === 1 ? leftMs : Math.max(50, leftMs / 3)
    return member.call(method, request, token, Math.min(timeoutMs, leftMs))
  }

  #connect(member: Member, call: CallContext): Promise<void> {
    const share = this.#members.length === 1 ? 1 : 3
    return member.connect(Math.max(1, this.#leftMs(call) / share))
  }

  /** Returns the token, which all members accept until one rejects it. */
  #tokenOf(member: Member, call: CallContext): Promise<string | undefined> {
    this.#token ??= this.#authenticate(member, call).catch((error) => {
      this.#token = undefined
      throw error
    })
    return this.#token
  }

  async #authenticate(member: Member, call: CallContext): Promise<string | undefined> {
    if (this.#address.user === undefined) return undefined
    const timeoutMs = Math.max(1, this.#leftMs(call) / 2)
    try {
      return (await member.call(methods.authenticate, this.#address.user, undefined, timeoutMs)).token
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      if (!/authentication is not enabled/.test(error.message)) throw asRefusal(error)
      this.#options.onEvent({
        level: 'warn',
        message:
          'the URL names a user, but this etcd has no authentication enabled: every client may write to it',
      })
      return undefined
    }
  }

  #leftMs({ deadlineUs }: CallContext): number {
    return (deadlineUs - this.#clock.monoUs()) / 1000
  }

  #pick(): Member {
    const silenceUs = Math.min(1000, this.#options.callTimeoutMs / 4) * 1000
    for (let each = 0; each < this.#members.length; each++) {
      const member = this.#members[this.#current]!
      if (!member.silentFor(silenceUs)) return member
      this.#nextMember(member)
    }
    return this.#members[this.#current]!
  }

  #nextMember(member: Member): void {
    if (member === this.#members[this.#current]) this.#current = (this.#current + 1) % this.#members.length
  }

  #failed(code: 'UNAVAILABLE' | 'UNKNOWN', message: string): FahaoError {
    this.#setTrouble(message)
    return new FahaoError(code, message)
  }

  #setTrouble(trouble: string | undefined): void {
    if ((trouble === undefined) !== (this.#trouble === undefined)) {
      this.#options.onEvent(
        trouble === undefined
          ? { level: 'info', message: `${this.#address.location} works again` }
          : { level: 'error', message: `${this.#address.location} failed: ${trouble}` },
      )
    }
    this.#trouble = trouble
  }
}

/** The failure of a call for which no token was fetched: the call itself was never sent. */
function asRefusal(error: CallFailure): CallFailure {
  return error.outcome === 'denied' ? error : new CallFailure('refused', error.message)
}
