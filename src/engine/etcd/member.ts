/** One member of an etcd cluster, over one connection that all calls share. */
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { type Method, methods } from './api.ts'
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

const channelOptions = {
  // A write whose outcome is unknown must not be sent again.
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
  // A fraction of a lease: the other nodes would declare a node dead that reconnects later than they do.
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.max_receive_message_length': -1,
  // etcd closes connections that ping more often than every 5 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5000,
}

/** The deadline of a call that only fetches the reason for a missing connection. */
const reasonMs = 50

/** A connection that is made at its first use, and again after each loss. */
export class Member {
  readonly endpoint: string
  readonly #clock: Clock
  readonly #client: Client
  #waiting = 0
  /** The time of its last answer, or of the first unanswered call after that. */
  #heardUs = 0

  constructor(endpoint: string, tls: Tls | undefined, clock: Clock) {
    this.endpoint = endpoint
    this.#clock = clock
    const secure = tls && credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null)
    this.#client = new Client(
      `dns:${endpoint}`,
      quiet(secure ?? credentials.createInsecure()),
      channelOptions,
    )
  }

  /** Whether a call would be sent at once. */
  get ready(): boolean {
    return this.#client.getChannel().getConnectivityState(true) === connectivityState.READY
  }

  /** Whether calls have waited for an answer for this long. */
  silentFor(us: number): boolean {
    return this.#waiting > 0 && this.#clock.monoUs() - this.#heardUs > us
  }

  /** Connects. Rejects with CallFailure after the time, or as soon as connecting has failed. */
  async connect(withinMs: number): Promise<void> {
    const state = await this.#untilSettled(withinMs)
    if (state === connectivityState.READY) return
    if (state === undefined) throw new CallFailure('refused', `${this.endpoint} did not answer in time`)
    // grpc-js gives the reason for a missing connection to calls only.
    const nothing = { key: Buffer.of(0) }
    await this.call(methods.range, nothing, undefined, reasonMs).catch(({ message }: CallFailure) => {
      throw new CallFailure('refused', message)
    })
  }

  /** Resolves to the state; undefined: still connecting after the time. */
  #untilSettled(withinMs: number): Promise<connectivityState | undefined> {
    const channel = this.#client.getChannel()
    return new Promise((resolve) => {
      let over = false
      const timer = this.#clock.timer(withinMs, () => settle(undefined))
      const settle = (state: connectivityState | undefined) => {
        over = true
        timer.cancel()
        resolve(state)
      }
      const look = () => {
        if (over) return
        const state = channel.getConnectivityState(true)
        if (state !== connectivityState.IDLE && state !== connectivityState.CONNECTING) return settle(state)
        channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look)
      }
      look()
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
    return new Promise((resolve, reject) => {
      let late = false
      const call = this.#client.makeUnaryRequest(
        path,
        encode,
        decode,
        request,
        metadata(token),
        (error: ServiceError | null, response?: Response) => {
          timer.cancel()
          this.#waiting--
          if (!late) this.#heardUs = this.#clock.monoUs()
          if (error === null && response !== undefined) resolve(response)
          else if (late) reject(new CallFailure('lost', `${this.endpoint} did not answer in time`))
          else reject(failureOf(this.endpoint, error))
        },
      )
      const timer = this.#clock.timer(timeoutMs, () => {
        late = true
        call.cancel()
      })
    })
  }

  /** Opens a stream, which does not keep the process alive. */
  stream<Request, Response>(
    { path, encode, decode }: Method<Request, Response>,
    token: string | undefined,
  ): ClientDuplexStream<Request, Response> {
    return this.#client.makeBidiStreamRequest(path, encode, decode, metadata(token))
  }

  /** Closes the connection, with every call and stream on it. */
  close(): void {
    this.#client.close()
  }
}

function metadata(token: string | undefined): Metadata {
  const entries = new Metadata()
  // A member that is cut off from the leader then fails the call instead of waiting.
  entries.set('hasleader', 'true')
  if (token !== undefined) entries.set('token', token)
  return entries
}

/**
 * Makes connections that do not keep the process alive: an open stream would do so forever. `CallsInFlight` does it during
 * calls. The connector is the only place where grpc-js exposes a socket.
 */
function quiet(from: ChannelCredentials): ChannelCredentials {
  assert(typeof from._createSecureConnector === 'function', 'grpc-js makes connectors as its 1.14 does')
  const create = from._createSecureConnector.bind(from)
  from._createSecureConnector = (...args) => {
    const connector = create(...args)
    const connect = connector.connect.bind(connector)
    connector.connect = async (plain) => {
      const result = await connect(plain)
      result.socket.unref()
      result.socket.ref = () => result.socket
      return result
    }
    return connector
  }
  return from
}

const unchangedCodes: ReadonlySet<status> = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.PERMISSION_DENIED,
  status.RESOURCE_EXHAUSTED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNAUTHENTICATED,
])
const tokenErrors = /invalid auth token|revision of auth store is old/
/** A member that reaches the quota while it applies a write has applied that write, and fails it with the same words. */
const full = /database space exceeded/
/** etcd raises these errors before it proposes a write. */
const passing = /no leader|too many requests/

/** The failure that an error means. Only etcd's own words can show that nothing was changed. */
function failureOf(endpoint: string, error: Pick<ServiceError, 'code' | 'details'> | null): CallFailure {
  const details = inOneLine(error?.details ?? 'an empty answer')
  const message = `${endpoint}: ${details}`
  if (error === null || !details.startsWith('etcdserver: ')) return new CallFailure('lost', message)
  if (tokenErrors.test(details)) return new CallFailure('token', message)
  if (full.test(details)) return new CallFailure('full', message)
  if (passing.test(details)) return new CallFailure('refused', message)
  return new CallFailure(unchangedCodes.has(error.code) ? 'denied' : 'lost', message)
}

/** Removes the text that grpc-js adds. */
function inOneLine(details: string): string {
  return details
    .replace(/^No connection established\. Last error: /, '')
    .replace(/ *Resolution note: *$/, '')
    .replace(/\s+/g, ' ')
    .trim()
}
