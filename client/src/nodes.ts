/**
 * The nodes of the service, and the way of a request to one that answers it.
 *
 * Invariants
 *  1. A request is sent again only after an answer that invites a retry, or after none. It may be carried out twice then;
 *     of ids that costs a gap, never a repetition. One with `once` is sent again only where it was not carried out.
 *  2. All tries of a request together take at most `timeoutMs`. It rejects with the last error that tells something,
 *     and with UNAVAILABLE where that says only that no node could answer.
 *  3. A redirection is followed at once, but no more than `redirectsMax` times in a row: nodes whose views differ for a
 *     moment must not send a request back and forth without a pause.
 *  4. A reply to a request that was sent before a copy of this memory was noticed is dropped: the copy may have it too. That of
 *     one with `once` carries no ids, and stays.
 */
import { type Clock, type Random, stayAlive } from '../../src/base/clock.ts'
import type { CopyDetector } from '../../src/base/copy-detector.ts'
import { describe, type ErrorCode, FahaoError, hasCode } from '../../src/base/errors.ts'
import { onAbort } from '../../src/base/on-abort.ts'
import type { ClientEvent } from './events.ts'
import { type Link, Redirected, Unsent } from './link.ts'
import { loginRequest, type Request, whoamiRequest } from './requests.ts'
import { unlessAborted } from './within.ts'

/** Options of one request. */
export type SendOptions = {
  readonly signal?: AbortSignal | undefined
  /** Instead of the client's. */
  readonly timeoutMs?: number
  readonly attemptTimeoutMs?: number
  /** Rejects with QUOTA once each node has answered so, without a pause: the caller asks for less. */
  readonly quotaEnds?: boolean
}

/** The parts of `Nodes`. */
export type NodesOptions = {
  readonly urls: readonly URL[]
  /** Makes the link to a node; it opens at its first request. */
  readonly link: (url: URL) => Link
  readonly timeoutMs: number
  readonly attemptTimeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly copies: CopyDetector
  readonly onEvent: (event: ClientEvent) => void
}

const redirectsMax = 3
/** Leaders that were learned from redirections; a cluster has fewer nodes. */
const leadersMax = 10_000
const pauseMinMs = 20
const pauseMaxMs = 1000

/** Sends requests to the nodes of one service. */
export class Nodes {
  readonly #options: NodesOptions
  readonly #links = new Map<string, Link>()
  readonly #urls: readonly URL[]
  /** The node that takes requests now; the next one after a failure. */
  #current: number
  /** Address of the leader, by name of a strict generator. */
  readonly #leaders = new Map<string, string>()
  #closed = false

  constructor(options: NodesOptions) {
    this.#options = options
    this.#urls = options.urls
    // Many clients with one list spread over its nodes.
    this.#current = Math.floor(options.random() * options.urls.length)
  }

  /**
   * Sends a request until a node answers it. Rejects with the error of a node, UNAVAILABLE, SHUTDOWN or the reason of the signal.
   * @param given the request, or a function that makes it for each try: copies of this memory have been looked for then.
   */
  async send<Reply>(
    given: Request<Reply> | (() => Request<Reply>),
    options: SendOptions = {},
  ): Promise<Reply> {
    const { signal } = options
    return signal === undefined
      ? this.#send(given, options)
      : unlessAborted(signal, () => this.#send(given, options))
  }

  async #send<Reply>(given: Request<Reply> | (() => Request<Reply>), options: SendOptions): Promise<Reply> {
    const { clock, copies } = this.#options
    const { signal, timeoutMs, attemptTimeoutMs, quotaEnds = false } = { ...this.#options, ...options }
    const deadlineUs = clock.monoUs() + timeoutMs * 1000
    const alive = stayAlive()
    try {
      let told: FahaoError | undefined
      for (let failures = 0; ; ) {
        const isCut = deadlineUs - clock.monoUs() < attemptTimeoutMs * 1000
        copies.check()
        const { count } = copies
        const request = typeof given === 'function' ? given() : given
        const outcome = await this.#attempt(request, deadlineUs, attemptTimeoutMs)
        if ('failure' in outcome) {
          copies.check()
          const { failure } = outcome
          if (request.once && isInDoubt(failure)) throw doubt(failure)
          if (quotaEnds && hasCode(failure, 'QUOTA') && failures >= this.#urls.length - 1) throw failure
          // That no answer came in the rest of the time tells less than the failure before.
          if (told === undefined || !isCut || !hasCode(failure, 'UNAVAILABLE')) told = failure
          await this.#pause(failure, told, failures++, deadlineUs, signal)
        } else {
          // Reading may load code: a copy that is noticed meanwhile counts too.
          const reply = await request.read(outcome.reply)
          copies.check()
          if (count === copies.count || request.once) return reply
        }
      }
    } finally {
      alive.cancel()
    }
  }

  /**
   * Resolves when a node has answered, and accepted the login; each is asked within `timeoutMs`. Rejects as `send` does, and with
   * UNAVAILABLE that names them all.
   */
  async reach(timeoutMs: number): Promise<void> {
    const urls = this.#urls
    try {
      const attemptTimeoutMs = Math.min(this.#options.attemptTimeoutMs, timeoutMs / urls.length)
      await this.send(whoamiRequest, { timeoutMs, attemptTimeoutMs }).catch((error: unknown) => {
        if (!lacksWhoami(error)) throw error
        return this.send(loginRequest, { timeoutMs, attemptTimeoutMs })
      })
    } catch (error) {
      // Who it is, a user without that permission may not ask; its login was accepted.
      if (hasCode(error, 'NOPERM')) return
      if (!hasCode(error, 'UNAVAILABLE')) throw error
      const nodes = urls.map(({ protocol, host }) => `${protocol}//${host}`).join(', ')
      throw new FahaoError(
        'UNAVAILABLE',
        `no node has answered for ${timeoutMs} ms of ${nodes} (${error.message}); start the service or correct the URL, or give lazyConnect: true to connect at the first request`,
        { cause: error },
      )
    }
  }

  /** Ends all connections; requests under way reject. */
  close(): void {
    this.#closed = true
    for (const link of this.#links.values()) link.close()
  }

  /** One try, with its redirections. Throws what no retry can change. */
  async #attempt(
    request: Request<unknown>,
    deadlineUs: number,
    attemptTimeoutMs: number,
  ): Promise<{ reply: unknown } | { failure: FahaoError }> {
    for (let redirects = 0; ; redirects++) {
      this.#checkOpen()
      const leader = this.#leaders.get(request.name)
      const link =
        leader === undefined ? this.#link(this.#urls[this.#current]!) : this.#link(this.#urlOf(leader))
      const leftMs = (deadlineUs - this.#options.clock.monoUs()) / 1000
      try {
        const limitMs = Math.max(1, Math.min(leftMs, attemptTimeoutMs))
        return { reply: await link.send(request, limitMs) }
      } catch (error) {
        this.#checkOpen()
        if (!(error instanceof FahaoError)) throw error
        if (error instanceof Redirected && redirects < redirectsMax) {
          this.#learn(request.name, error.address)
          continue
        }
        if (!this.#mayRetry(error)) throw error
        this.#options.onEvent({ type: 'node-failed', node: link.node, error })
        if (leader === undefined) this.#leave(link)
        else if (this.#leaders.get(request.name) === leader) this.#leaders.delete(request.name)
        return { failure: error }
      }
    }
  }

  #mayRetry(error: FahaoError): boolean {
    // Another process may own the store, where there are several.
    return error.retryable || (hasCode(error, 'NOTOWNER') && this.#urls.length > 1)
  }

  async #pause(
    failure: FahaoError,
    told: FahaoError,
    failures: number,
    deadlineUs: number,
    signal?: AbortSignal,
  ): Promise<void> {
    const { clock, random } = this.#options
    // Each node is tried once without delay.
    const rounds = failures - (this.#urls.length - 1)
    const limitMs = rounds < 0 ? 0 : Math.min(pauseMaxMs, pauseMinMs * 2 ** rounds)
    const pauseMs = Math.max(limitMs / 2 + (random() * limitMs) / 2, failure.retryAfterMs ?? 0)
    if (clock.monoUs() + pauseMs * 1000 >= deadlineUs) throw lateError(told)
    await new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const forget = onAbort(signal, (reason) => {
        timer.cancel()
        reject(reason)
      })
      const timer = clock.timer(pauseMs, () => {
        forget()
        resolve()
      })
    })
  }

  #learn(name: string, address: string): void {
    if (this.#leaders.size >= leadersMax) this.#leaders.clear()
    this.#leaders.set(name, address)
  }

  #urlOf(address: string): URL {
    const url = new URL(this.#urls[0]!)
    const colon = address.lastIndexOf(':')
    const host = address.slice(0, colon)
    url.hostname = host.includes(':') ? `[${host}]` : host
    url.port = address.slice(colon + 1)
    return url
  }

  #link(url: URL): Link {
    const { host } = url
    const known = this.#links.get(host)
    if (known !== undefined) return known
    const made = this.#options.link(url)
    this.#links.set(host, made)
    return made
  }

  /** Goes on with the next node, unless another request has done so already. */
  #leave(link: Link): void {
    if (this.#link(this.#urls[this.#current]!) === link)
      this.#current = (this.#current + 1) % this.#urls.length
  }

  #checkOpen(): void {
    if (this.#closed) throw closedError()
  }
}

/** Whether a node of an earlier version answered: it looks at no login where it has nothing. */
function lacksWhoami(error: unknown): boolean {
  return hasCode(error, 'ERR') && error.message.startsWith(`there is nothing at ${whoamiRequest.path};`)
}

/** What nodes say while a service has no node, or no leader, that could answer. */
const outageCodes: ReadonlySet<ErrorCode> = new Set(['MOVED', 'CLUSTERDOWN', 'SHUTDOWN'])

/** The error of a request whose time is over. Callers see one code for an outage, whatever node was asked last. */
function lateError(failure: FahaoError): FahaoError {
  if (!outageCodes.has(failure.code)) return failure
  return new FahaoError(
    'UNAVAILABLE',
    `no node can answer (${describe(failure)}); retry once the service is back`,
    {
      cause: failure,
    },
  )
}

/** Whether the request may have been carried out. */
function isInDoubt(failure: FahaoError): boolean {
  const { code } = failure
  return code === 'UNKNOWN' || (code === 'UNAVAILABLE' && !(failure instanceof Unsent))
}

function doubt(failure: FahaoError): FahaoError {
  const message = `the request may have been carried out (${describe(failure)}); look whether it was before you send it again`
  return new FahaoError('UNKNOWN', message, { cause: failure })
}

/** The error of calls after `close`. */
export function closedError(): FahaoError {
  return new FahaoError('SHUTDOWN', 'this client is closed; connect again')
}
