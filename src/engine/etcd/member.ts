/** One member of an etcd cluster, over one connection that all calls share. */
import type { Clock } from '../../base/clock.ts'
import { describe } from '../../base/errors.ts'
import type { Method } from './api.ts'
import { type Call, type CallEnd, type CallListener, Channel } from './channel.ts'
import type { Tls } from './url.ts'

/** The outcome of a call that failed. */
export type CallOutcome =
  /** Nothing was changed; another member, or a later call, may succeed. */
  | 'refused'
  /** Nothing was changed: the member does not accept the token. */
  | 'token'
  /** Nothing was changed, and a retry would fail as well. */
  | 'denied'
  /** The database is full: the write may have been carried out. A retry would fail as well. */
  | 'full'
  /** No answer in time, or an answer that does not tell the outcome. */
  | 'lost'

/** A failed call. */
export class CallFailure extends Error {
  readonly outcome: CallOutcome

  constructor(outcome: CallOutcome, message: string) {
    super(message)
    this.outcome = outcome
  }
}

/** A stream under way. */
export type MemberStream<Request> = {
  readonly write: (request: Request) => void
  readonly cancel: () => void
}

/** What a stream reports. Nothing follows `end`. */
export type StreamListener<Response> = {
  readonly message: (response: Response) => void
  readonly end: (reason: string) => void
}

/** A connection that is made at its first use, and again after each loss. */
export class Member {
  readonly endpoint: string
  readonly #clock: Clock
  readonly #channel: Channel
  #waiting = 0
  /** The time of its last answer, or of the first unanswered call after that. */
  #heardUs = 0

  constructor(endpoint: string, tls: Tls | undefined, clock: Clock) {
    this.endpoint = endpoint
    this.#clock = clock
    this.#channel = new Channel(endpoint, tls, clock)
  }

  /** Whether a call would be sent at once. */
  get ready(): boolean {
    return this.#channel.ready
  }

  /** Whether calls have waited for an answer for this long. */
  silentFor(us: number): boolean {
    return this.#waiting > 0 && this.#clock.monoUs() - this.#heardUs > us
  }

  /** Connects. Rejects with CallFailure after the time, or as soon as connecting has failed. */
  connect(withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (reason: string) => reject(new CallFailure('refused', `${this.endpoint} ${reason}`))
      const failWith = (error: unknown) => fail(`cannot be reached: ${describe(error)}`)
      const timer = this.#clock.timer(withinMs, () => {
        const { failure } = this.#channel
        if (failure === undefined) fail('did not answer in time')
        else failWith(failure)
      })
      this.#channel
        .connect()
        .then(resolve, failWith)
        .finally(() => timer.cancel())
    })
  }

  /** Sends a call once. Rejects with CallFailure, `lost` after the time. */
  call<Request, Response>(
    { path, encode, decode }: Method<Request, Response>,
    request: Request,
    token: string | undefined,
    timeoutMs: number,
  ): Promise<Response> {
    if (this.#waiting++ === 0) this.#heardUs = this.#clock.monoUs()
    return new Promise<Response>((resolve, reject) => {
      let answer: Response | undefined
      let isLate = false
      const message = (bytes: Buffer) => {
        answer = decode(bytes)
      }
      const end = (end: CallEnd) => {
        timer.cancel()
        if (isLate) return
        this.#heardUs = this.#clock.monoUs()
        if (end.status === 0 && answer !== undefined) resolve(answer)
        else reject(failureOf(this.endpoint, end))
      }
      const call = this.#start(path, token, { message, end })
      const timer = this.#clock.timer(timeoutMs, () => {
        isLate = true
        call.cancel()
        reject(new CallFailure('lost', `${this.endpoint} did not answer in time`))
      })
      call.write(encode(request))
      call.finish()
    }).finally(() => this.#waiting--)
  }

  /** Opens a stream, which does not keep the process alive. Throws CallFailure if the connection is not ready. */
  stream<Request, Response>(
    { path, encode, decode }: Method<Request, Response>,
    token: string | undefined,
    listener: StreamListener<Response>,
  ): MemberStream<Request> {
    const call = this.#start(path, token, {
      message: (bytes) => listener.message(decode(bytes)),
      end: ({ details }) => listener.end(details || 'it ended the stream'),
    })
    return { write: (request) => call.write(encode(request)), cancel: call.cancel }
  }

  /** Closes the connection, with every call and stream on it. */
  close(): void {
    this.#channel.close()
  }

  #start(path: string, token: string | undefined, listener: CallListener): Call {
    // A member that is cut off from the leader then fails the call instead of waiting.
    const headers = { hasleader: 'true', ...(token !== undefined && { token }) }
    try {
      return this.#channel.call(path, headers, listener)
    } catch (error) {
      throw new CallFailure('refused', `${this.endpoint} cannot be reached: ${describe(error)}`)
    }
  }
}

/**
 * INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, OUT_OF_RANGE, UNAUTHENTICATED.
 */
const unchangedCodes: ReadonlySet<number> = new Set([3, 5, 7, 8, 9, 11, 16])
const tokenErrors = /invalid auth token|revision of auth store is old/
/** A member that reaches the quota while it applies a write has applied that write, and fails it with the same words. */
const full = /database space exceeded/
/** etcd raises these errors before it proposes a write. */
const passing = /no leader|too many requests/

/** The failure that the end of a call means. Only etcd's own words can show that nothing was changed. */
function failureOf(endpoint: string, { status, details }: CallEnd): CallFailure {
  const reason = status === 0 ? 'an empty answer' : details.replace(/\s+/g, ' ').trim()
  const message = `${endpoint}: ${reason}`
  if (status === undefined || !reason.startsWith('etcdserver: ')) return new CallFailure('lost', message)
  if (tokenErrors.test(reason)) return new CallFailure('token', message)
  if (full.test(reason)) return new CallFailure('full', message)
  if (passing.test(reason)) return new CallFailure('refused', message)
  return new CallFailure(unchangedCodes.has(status) ? 'denied' : 'lost', message)
}
