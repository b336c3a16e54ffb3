/**
 * A connection to one server of gRPC, over Node's HTTP/2. It does not keep the process alive; `CallsInFlight` does it during
 * calls.
 *
 * Invariants
 *  1. At most one connection is in use. It is made when it is asked for, and after a failure not before a pause is over.
 *  2. A call is sent once, on a connection that is ready, or not at all.
 *  3. Every call ends: with its status, when it is cancelled, or when its connection ends. A connection that does not
 *     answer a ping while calls wait is ended.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  constants,
  type SecureClientSessionOptions,
} from 'node:http2'
import type { Clock, Timer } from '../../base/clock.ts'
import { Frames, frameOf } from './frames.ts'
import type { Tls } from './url.ts'

/** The end of a call: the status of gRPC, 0 for success; undefined: there was none. */
export type CallEnd = { readonly status: number | undefined; readonly details: string }

/** What a call reports. Nothing follows `end`. */
export type CallListener = {
  readonly message: (bytes: Buffer) => void
  readonly end: (end: CallEnd) => void
}

/** A call under way. */
export type Call = {
  readonly write: (message: Buffer) => void
  /** No message follows; the answer may. */
  readonly finish: () => void
  readonly cancel: () => void
}

const connectMs = 5000
const pauseMs = 100
/** A fraction of a lease: the other nodes would declare a node dead that reconnects later than they do. */
const pauseMaxMs = 500
/** etcd closes connections that ping more often than every 5 s, or without a call. */
const pingEveryMs = 10_000
const pingAnswerMs = 5000

const sessionOptions: ClientSessionOptions = {
  settings: { enablePush: false },
  // Ranges of any size are read, as far as etcd sends them.
  maxSessionMemory: Number.MAX_SAFE_INTEGER,
}

/** A connection that is made at its first use, and again after each loss. */
export class Channel {
  readonly #authority: string
  readonly #options: SecureClientSessionOptions
  readonly #clock: Clock
  /** The connection that is ready. */
  #session: ClientHttp2Session | undefined
  /** The connection that is being made. */
  #connecting: Promise<void> | undefined
  #pauseMs = pauseMs
  #pausedUntilUs = 0
  #failure: Error | undefined
  #calls = 0
  #closed = false
  #abandon: (() => void) | undefined

  constructor(endpoint: string, tls: Tls | undefined, clock: Clock) {
    this.#authority = `${tls ? 'https' : 'http'}://${endpoint}`
    this.#options = { ...sessionOptions, ...tls }
    this.#clock = clock
  }

  /** Whether a call would be sent at once. */
  get ready(): boolean {
    return this.#session !== undefined && !this.#session.closed && !this.#session.destroyed
  }

  /** The failure of the last attempt to connect, or of the connection; undefined: there was none since the last success. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Resolves once the connection is ready. Rejects when connecting has failed, also if that was a moment ago. */
  async connect(): Promise<void> {
    if (this.ready) return
    if (this.#closed) throw new Error('the connection is closed')
    if (this.#connecting === undefined && this.#clock.monoUs() < this.#pausedUntilUs) throw this.#failure!
    this.#connecting ??= this.#makeSession().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** Starts a call. Throws if the connection is not ready: nothing was sent then. */
  call(path: string, headers: Readonly<Record<string, string>>, listener: CallListener): Call {
    if (!this.ready) throw this.#failure ?? new Error('there is no connection')
    const stream = this.#session!.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    })
    this.#calls++
    follow(stream, {
      message: listener.message,
      end: (end) => {
        this.#calls--
        listener.end(end)
      },
    })
    return {
      write: (message) => {
        if (stream.writable) stream.write(frameOf(message))
      },
      finish: () => stream.end(),
      cancel: () => stream.close(constants.NGHTTP2_CANCEL),
    }
  }

  /** Ends the connection, with every call on it. */
  close(): void {
    this.#closed = true
    this.#abandon?.()
    this.#session?.destroy()
  }

  async #makeSession(): Promise<void> {
    const session = connect(this.#authority, this.#options)
    session.unref()
    try {
      await this.#untilReady(session)
    } catch (error) {
      session.destroy()
      this.#failure = error as Error
      this.#pausedUntilUs = this.#clock.monoUs() + this.#pauseMs * 1000
      this.#pauseMs = Math.min(pauseMaxMs, this.#pauseMs * 2)
      throw error
    }
    this.#pauseMs = pauseMs
    this.#failure = undefined
    this.#session = session
    const pings = this.#keepAlive(session)
    session.once('close', () => {
      pings.cancel()
      if (this.#session === session) this.#session = undefined
    })
  }

  /** The server's settings show that it speaks HTTP/2, and that it accepts this client's certificate. */
  #untilReady(session: ClientHttp2Session): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.timer(connectMs, () =>
        reject(new Error(`no connection within ${connectMs} ms`)),
      )
      this.#abandon = () => reject(new Error('the connection is closed'))
      const fail = (error: Error) => {
        timer.cancel()
        this.#failure = error
        reject(error)
      }
      let ended = new Error('the server ended the connection')
      const onError = (error: Error) => {
        ended = new Error(reasonOf(error))
        fail(ended)
      }
      session.on('error', onError)
      // A refused certificate: Node reports it here, and does not end the session.
      session.socket.on('error', onError)
      session.once('close', () => fail(ended))
      session.once('remoteSettings', () => {
        timer.cancel()
        resolve()
      })
    })
  }

  #keepAlive(session: ClientHttp2Session): Timer {
    let timer: Timer
    const wait = () => {
      timer = this.#clock.timer(pingEveryMs, ping)
    }
    const ping = () => {
      if (this.#calls === 0) return wait()
      timer = this.#clock.timer(pingAnswerMs, () => session.destroy(new Error('a ping was not answered')))
      session.ping((error) => {
        if (error !== null) return
        timer.cancel()
        wait()
      })
    }
    wait()
    return { cancel: () => timer.cancel() }
  }
}

/** Reports the messages of a stream, and its end. */
function follow(stream: ClientHttp2Stream, { message, end }: CallListener): void {
  const frames = new Frames()
  let status: number | undefined
  let details = 'the connection ended before the answer'
  const readStatus = (headers: Readonly<Record<string, unknown>>) => {
    if (headers['grpc-status'] === undefined) return
    status = Number(headers['grpc-status'])
    details = decoded(String(headers['grpc-message'] ?? ''))
  }
  stream.on('response', (headers) => {
    if (headers[':status'] !== 200) details = `it answered with the HTTP status ${headers[':status']}`
    readStatus(headers)
  })
  stream.on('trailers', readStatus)
  stream.on('data', (chunk: Buffer) => {
    try {
      for (const bytes of frames.push(chunk)) message(bytes)
    } catch (error) {
      stream.destroy(error as Error)
    }
  })
  stream.on('error', (error) => {
    if (status === undefined) details = reasonOf(error)
  })
  stream.once('close', () => end({ status, details }))
}

/** Node gives the failures of all addresses of a name as one error without a message. */
function reasonOf(error: Error): string {
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first.message
}

/** gRPC percent-encodes what is not printable ASCII. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
