/**
 * The connections of one engine, and the queue of calls that wait for one.
 *
 * Invariants
 *  1. A connection serves one call at a time. After any failure on it, and when a call on it passes its deadline, the
 *     connection is destroyed, so that the server rolls back its open transaction: no call meets the state of an earlier one.
 *  2. Every call settles by its deadline. It rejects with UNKNOWN only if a writing command was sent and not answered, or
 *     answered with an error that leaves its outcome open; any other failure has changed nothing: UNAVAILABLE.
 *  3. No command is sent twice.
 *  4. While no connection can be made, calls fail at once; only a probe tries to connect.
 *  5. Only calls that wait or run, and the closing of connections, keep the process alive.
 *  6. No call gets a connection that has been idle for a minute: a device in the network may have dropped it without
 *     notice to either side. Such a connection is closed. Once a call has waited for its answer for a second, every idle
 *     connection that has not answered since that call began is closed too: after a cut in the network, call after call
 *     would wait on such connections, until a lease expires that a new connection would have renewed.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import {
  type Ask,
  type DatabaseConnection,
  type Driver,
  DriverError,
  type Failure,
  type SqlCommand,
} from './driver.ts'

/** The driver, the limits of the pool, and its callback. */
export type ConnectionPoolOptions = {
  readonly clock: Clock
  readonly driver: Driver
  readonly sizeMax: number
  readonly timeoutMs: number
  /** Called when no connection can be made, with the reason. */
  readonly onDown: (failure: Failure) => void
}

/** The time of a call, and its exceptions from the rules of the pool. */
export type CallOptions = {
  /** Tries to connect even while no connection can be made. */
  readonly probe?: boolean
  /** Runs although the pool is draining. */
  readonly last?: boolean
  /** The rest of the call's time. Default: the timeout of every call. */
  readonly timeoutMs?: number
  /** The time for which the call has waited in a batch before. Default: 0. */
  readonly waitedMs?: number
}

/** An idle connection, and the monotonic time at which it became idle. */
type IdleConnection = { readonly connection: DatabaseConnection; readonly sinceUs: number }

const idleMaxMs = 60_000
/** After this time without an answer, a connection may be cut off. */
const suspectMs = 1000
const closeMaxMs = 1000

type QueuedCall = {
  readonly work: (connection: DatabaseConnection) => void
  readonly reject: (error: FahaoError) => void
  readonly probe: boolean
}

/** The pool; see the invariants above. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  /** The newest last: it is used next. */
  readonly #idle: IdleConnection[] = []
  /** The monotonic time in µs at which each began to serve its call. */
  readonly #busy = new Map<DatabaseConnection, number>()
  readonly #connecting = new Set<DatabaseConnection>()
  readonly #queue = new Set<QueuedCall>()
  #down: Failure | undefined
  #underWay = 0
  #ended = false
  readonly #drained: (() => void)[] = []
  /** Set while a connection is idle. */
  #retirement: Timer | undefined

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
  }

  /** The maximum number of connections. */
  get sizeMax(): number {
    return this.#options.sizeMax
  }

  /**
   * Gives `work` a connection while it runs. Rejects with the error of `work`, or as invariant 2 says. An error that `work`
   * throws by itself leaves the connection usable.
   */
  run<Value>(
    work: (ask: Ask) => Promise<Value>,
    { probe = false, last = false, timeoutMs = this.#options.timeoutMs, waitedMs = 0 }: CallOptions = {},
  ): Promise<Value> {
    if (this.#ended && !last) return Promise.reject(new FahaoError('UNAVAILABLE', 'the engine is closed'))
    this.#underWay++
    return new Promise<Value>((resolve, reject) => {
      const attempt = new Attempt(this.#options, timeoutMs + waitedMs, (connection, usable) =>
        this.#takeBack(connection, usable),
      )
      const call: QueuedCall = {
        probe,
        reject: (error) => settle(() => reject(error)),
        work: (connection) =>
          void attempt.run(connection, work).then(
            (value) => settle(() => resolve(value)),
            (error) => settle(() => reject(error)),
          ),
      }
      let open = true
      const settle = (how: () => void) => {
        if (!open) return
        open = false
        timer.cancel()
        how()
        this.#finish()
      }
      const timer = this.#options.clock.timer(timeoutMs, () => {
        this.#queue.delete(call)
        settle(() => reject(attempt.giveUp()))
      })
      this.#queue.add(call)
      this.#dispatch()
    })
  }

  /** Rejects further calls; resolves when none is in flight. */
  drain(): Promise<void> {
    this.#ended = true
    if (this.#underWay === 0) return Promise.resolve()
    return new Promise((resolve) => this.#drained.push(resolve))
  }

  /** Closes all connections. */
  async end(): Promise<void> {
    this.#ended = true
    this.#retirement?.cancel()
    for (const connection of [...this.#connecting, ...this.#busy.keys()]) connection.destroy()
    this.#connecting.clear()
    this.#busy.clear()
    const idle = this.#idle.splice(0).map(({ connection }) => connection)
    for (const connection of idle) connection.hold(true)
    const { clock, timeoutMs } = this.#options
    await new Promise<void>((resolve) => {
      const timer = clock.timer(Math.min(timeoutMs, closeMaxMs), resolve)
      void Promise.all(idle.map((connection) => connection.end())).then(() => {
        timer.cancel()
        resolve()
      })
    })
    for (const connection of idle) connection.destroy()
  }

  #finish(): void {
    if (--this.#underWay > 0) return
    for (const resolve of this.#drained.splice(0)) resolve()
  }

  #dispatch(): void {
    this.#retire()
    if (this.#queue.size > 0) this.#dropSuspects()
    for (const call of this.#queue) {
      const connection = this.#idle.pop()?.connection
      if (connection === undefined) break
      this.#queue.delete(call)
      this.#busy.set(connection, this.#options.clock.monoUs())
      connection.hold(true)
      call.work(connection)
    }
    if (this.#down !== undefined) this.#failFast(this.#down)
    const waiting = this.#queue.size - this.#connecting.size
    const room = this.#down ? 1 - this.#connecting.size : this.#options.sizeMax - this.#size
    for (let each = 0; each < Math.min(waiting, room); each++) this.#connect()
    for (const connection of this.#connecting) connection.hold(this.#queue.size > 0)
  }

  /** Closes idle connections that have not answered since a call began that still waits; see invariant 6. */
  #dropSuspects(): void {
    const nowUs = this.#options.clock.monoUs()
    const stuckUs = Math.max(
      ...[...this.#busy.values()].filter((sinceUs) => nowUs - sinceUs > suspectMs * 1000),
    )
    while (this.#idle.length > 0 && this.#idle[0]!.sinceUs <= stuckUs)
      this.#idle.shift()!.connection.destroy()
  }

  get #size(): number {
    return this.#idle.length + this.#busy.size + this.#connecting.size
  }

  #connect(): void {
    const connection = this.#options.driver.connect(() => this.#remove(connection))
    this.#connecting.add(connection)
    const timer = this.#options.clock.timer(this.#options.timeoutMs, () =>
      failed({ kind: 'lost', message: 'the server does not answer while connecting' }),
    )
    const failed = (failure: Failure) => {
      timer.cancel()
      if (!this.#connecting.delete(connection)) return
      connection.destroy()
      this.#connectFailed(failure)
    }
    connection.ready.then(
      () => {
        timer.cancel()
        if (!this.#connecting.delete(connection)) return
        this.#down = undefined
        this.#putBack(connection)
      },
      (error) => failed(this.#options.driver.failureOf(error)),
    )
  }

  /** If other connections work, waiting calls get one of those: the server may just have too many. */
  #connectFailed(failure: Failure): void {
    if (this.#idle.length + this.#busy.size > 0) return
    this.#down = failure
    this.#options.onDown(failure)
    this.#failFast(failure, true)
  }

  #failFast(failure: Failure, probes = false): void {
    for (const call of this.#queue) {
      if (call.probe && !probes) continue
      this.#queue.delete(call)
      call.reject(new DriverError('UNAVAILABLE', failure))
    }
  }

  #takeBack(connection: DatabaseConnection, usable: boolean): void {
    if (this.#busy.delete(connection) && usable) this.#putBack(connection)
    else {
      connection.destroy()
      this.#dispatch()
    }
  }

  #putBack(connection: DatabaseConnection): void {
    connection.hold(false)
    this.#idle.push({ connection, sinceUs: this.#options.clock.monoUs() })
    this.#dispatch()
  }

  /** Closes connections that have been idle for too long. Its timer may fire late, after a pause of the process. */
  #retire(): void {
    const { clock } = this.#options
    const nowUs = clock.monoUs()
    for (let oldest = this.#idle[0]; oldest !== undefined; oldest = this.#idle[0]) {
      const leftMs = idleMaxMs - (nowUs - oldest.sinceUs) / 1000
      if (leftMs > 0) {
        this.#retirement ??= clock.timer(leftMs, () => {
          this.#retirement = undefined
          this.#retire()
        })
        return
      }
      const { connection } = this.#idle.shift()!
      void connection.end()
      // The server may be unreachable.
      clock.timer(closeMaxMs, () => connection.destroy())
    }
  }

  /** Removes a connection that the server or the network has ended. A call on it fails by itself. */
  #remove(connection: DatabaseConnection): void {
    const at = this.#idle.findIndex((idle) => idle.connection === connection)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#busy.delete(connection)
  }
}

/** One call on one connection. */
class Attempt {
  readonly #options: ConnectionPoolOptions
  readonly #totalMs: number
  readonly #takeBack: (connection: DatabaseConnection, usable: boolean) => void
  #connection: DatabaseConnection | undefined
  #connectedUs = 0
  #sent: SqlCommand | undefined

  /** @param totalMs the time of the call, waiting in a batch included. */
  constructor(
    options: ConnectionPoolOptions,
    totalMs: number,
    takeBack: (connection: DatabaseConnection, usable: boolean) => void,
  ) {
    this.#options = options
    this.#totalMs = totalMs
    this.#takeBack = takeBack
  }

  async run<Value>(connection: DatabaseConnection, work: (ask: Ask) => Promise<Value>): Promise<Value> {
    this.#connection = connection
    this.#connectedUs = this.#options.clock.monoUs()
    let usable = true
    const ask: Ask = async (command) => {
      // A call past its deadline sends no further command.
      if (this.#connection === undefined)
        throw new FahaoError('UNAVAILABLE', 'the call has passed its deadline')
      this.#sent = command
      try {
        return await connection.ask(command)
      } catch (error) {
        usable = false
        const failure = this.#options.driver.failureOf(error)
        throw new DriverError(failure.kind === 'lost' && command.writes ? 'UNKNOWN' : 'UNAVAILABLE', failure)
      } finally {
        this.#sent = undefined
      }
    }
    try {
      return await work(ask)
    } finally {
      const held = this.#connection !== undefined
      this.#connection = undefined
      if (held) this.#takeBack(connection, usable)
    }
  }

  /** Ends the call at its deadline: its connection is given back as unusable, and no command follows. Returns the call's error. */
  giveUp(): FahaoError {
    const totalMs = this.#totalMs
    const connection = this.#connection
    this.#connection = undefined
    if (connection === undefined)
      return new FahaoError('UNAVAILABLE', `no connection was free within ${text(totalMs)}; nothing was sent`)
    const code = this.#sent?.writes ? 'UNKNOWN' : 'UNAVAILABLE'
    this.#takeBack(connection, false)
    return new FahaoError(code, lateText(totalMs, (this.#options.clock.monoUs() - this.#connectedUs) / 1000))
  }
}

/** The message of a timeout: it separates the time at the server from the time of waiting in this process. */
export function lateText(totalMs: number, atServerMs: number): string {
  const waitedMs = totalMs - atServerMs
  const remedy = 'look at its locks and disk'
  if (waitedMs < totalMs / 10) return `the server did not answer within ${text(totalMs)}; ${remedy}`
  const turn = `the call waited ${text(waitedMs)} in this process for its turn`
  return `${turn}, and the server did not answer within the ${text(atServerMs)} that were left; ${remedy}`
}

function text(ms: number): string {
  return `${Math.round(ms)} ms`
}
