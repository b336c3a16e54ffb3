/**
 * One client and its connection to the server.
 *
 * Invariants
 *  1. When one side ends, what it has sent reaches the other side, which is ended then. A side that does not end within
 *     `lingerMs` is dropped.
 *  2. An error in a callback costs this connection alone.
 *  3. A connection that finishes ends as soon as every command has been answered outside of a transaction.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { describe, type ErrorCode } from '../base/errors.ts'
import type { AcceptedConnection, Totals } from '../listening/listener.ts'
import { outcomeOf, type RequestFigures } from '../listening/request-figures.ts'
import type { Sender, UnreadBudget } from '../listening/unread-budget.ts'
import { failed, noServer, shuttingDown, unclear, unreachable } from './errors.ts'
import type { ProxyLimits } from './limits.ts'
import { type LoggedIn, Login, type LoginHost } from './login.ts'
import { errorPacket, type MysqlError, quitPacket } from './protocol.ts'
import { Relay, type RelayHost } from './relay.ts'
import { dialUpstream, type PairHost, SocketPair, type Upstream } from './socket-pair.ts'
import type { Filling } from './statement-filler.ts'

/** What the connections of a proxy share. */
export type ConnectionHost = {
  readonly upstream: Upstream
  readonly limits: ProxyLimits
  readonly totals: Totals
  readonly figures: RequestFigures
  readonly clock: Clock
  readonly unread: UnreadBudget
  /** Undefined: no table is filled in. */
  readonly filling: Filling | undefined
  /** Undefined: clients get no TLS. */
  readonly secureClient: ((connection: Connection, socket: Socket) => void) | undefined
  onLoggedIn(connection: Connection): void
  onGone(connection: Connection): void
  /** The server could not be reached. */
  onUpstreamError(reason: string): void
  /** A connection was ended, because what was sent on it could not be understood. */
  onLost(reason: string): void
  /** An error that is no client's fault. */
  onError(error: unknown): void
}

/** Commands that a client may have on their way; it is not read while there are more. */
const outstandingMax = 4096

/** Replies that a client may leave unread until it is not read, in bytes. */
const unreadMaxBytes = 1_048_576

/** A connection through the proxy. Its parts call it by the interfaces that it implements. */
export class Connection implements AcceptedConnection, Sender, PairHost, LoginHost, RelayHost {
  /** Bytes that the client was sent. A socket computes its own count at each call, from all that waits in it. */
  bytesOut = 0
  readonly #host: ConnectionHost
  readonly #pair: SocketPair
  #login: Login | undefined
  /** Undefined before the login. */
  #relay: Relay | undefined
  /** Commands that are answered together, and when the first of them arrived. */
  #unmeasured = 0
  /** The errors among them. */
  readonly #errors: ErrorCode[] = []
  #sinceUs = 0
  #isFinishing = false
  #hasClientEnded = false
  /** The client's side has been ended, or is gone. */
  #isOver = false
  #isGone = false
  #deadlineUs: number
  /** The client has sent something since the last sweep; since when it has not. */
  #isActive = true
  #silentSinceUs: number

  constructor(client: Socket, host: ConnectionHost) {
    this.#host = host
    this.#silentSinceUs = this.#host.clock.monoUs()
    this.#deadlineUs = this.#silentSinceUs + host.limits.loginTimeoutMs * 1000
    this.#pair = new SocketPair(client, dialUpstream(host.upstream), this)
    this.#login = new Login(this)
    // The client is not read until it is greeted.
    client.pause()
  }

  /** How many bytes to the client have not left this process. */
  get unreadBytes(): number {
    const { client } = this.#pair
    return client.destroyed ? 0 : client.writableLength
  }

  /** Statements that are held, or prepared. */
  get queuedBytes(): number {
    return this.#pair.client.destroyed ? 0 : (this.#relay?.countedBytes ?? 0)
  }

  get offersTls(): boolean {
    return this.#host.secureClient !== undefined
  }

  get isUpstreamTls(): boolean {
    return this.#host.upstream.isTls
  }

  /** The connection of the client speaks TLS from now on. */
  secured(socket: Socket): void {
    this.#pair.replaceClient(socket)
    this.#login?.clientIsSecure()
  }

  /** Ends as soon as every command has been answered outside of a transaction. */
  shutDown(): void {
    this.#isFinishing = true
    if (this.#login !== undefined) return this.refuse(this.#login.isGreeted ? 2 : 0, shuttingDown)
    this.#finishIfIdle()
  }

  /** Ends both sides at once. */
  drop(): void {
    this.#pair.destroy()
  }

  sweep(nowUs: number): void {
    if (this.#isOverdue(nowUs)) this.drop()
  }

  #isOverdue(nowUs: number): boolean {
    if (this.#login?.isGreeted === false && nowUs > this.#deadlineUs && !this.#isOver) {
      this.serverFailed('it does not answer')
      return false
    }
    if ((this.#login !== undefined || this.#isOver) && nowUs > this.#deadlineUs) return true
    const isBusy = this.#relay !== undefined && !this.#isAnswered(this.#relay)
    if (this.#isActive || isBusy) this.#silentSinceUs = nowUs
    this.#isActive = false
    return nowUs - this.#silentSinceUs > this.#host.limits.idleTimeoutMs * 1000
  }

  mayReadClient(): boolean {
    if (this.#relay === undefined) return this.#login?.isGreeted === true
    const isBehind = this.#relay.outstanding > outstandingMax || !this.#relay.mayRead
    return !isBehind && this.unreadBytes <= unreadMaxBytes
  }

  unreadChanged(): void {
    this.#host.unread.update(this)
  }

  fromClient(chunk: Buffer): void {
    if (this.#isOver) return
    this.#isActive = true
    this.#host.totals.bytesIn += chunk.length
    if (this.#relay !== undefined) this.#take(this.#relay, chunk)
    else this.#login?.fromClient(chunk)
  }

  fromServer(chunk: Buffer): void {
    if (this.#relay !== undefined) {
      this.#relay.fromServer(chunk)
      this.#measure(this.#relay)
    } else this.#login?.fromServer(chunk)
    if (this.#isFinishing) this.#finishIfIdle()
  }

  toClient(bytes: Uint8Array): void {
    this.#host.totals.bytesOut += bytes.length
    this.bytesOut += bytes.length
    this.#pair.toClient(bytes)
  }

  toServer(bytes: Uint8Array): void {
    this.#pair.toServer(bytes)
  }

  secureClient(rest: Buffer): void {
    this.#host.secureClient?.(this, this.#pair.releaseClient(rest))
  }

  secureServer(): void {
    this.#pair.secureServer(this.#host.upstream, () => this.#login?.serverIsSecure())
  }

  begin(session: LoggedIn): void {
    const relay = new Relay(session, this.#host.filling, this)
    this.#login = undefined
    this.#relay = relay
    this.#host.onLoggedIn(this)
    const { fromClient, fromServer } = session
    if (fromServer.length > 0) relay.fromServer(fromServer)
    if (fromClient.length > 0) this.#take(relay, fromClient)
  }

  counted(isAnswered: boolean): void {
    this.#host.totals.commands++
    if (isAnswered) this.#unmeasured++
  }

  refused({ registered = 'ERR' }: MysqlError): void {
    this.#host.figures.failed(registered)
    if (this.#errors.length < this.#unmeasured) this.#errors.push(registered)
  }

  holding(heldBytes: number): boolean {
    if (heldBytes > this.#host.limits.statementMaxBytes) return false
    this.weighed()
    return true
  }

  weighed(): void {
    if (this.queuedBytes > 0) this.#host.unread.update(this)
  }

  resumed(): void {
    if (this.#relay !== undefined) this.#measure(this.#relay)
    this.#host.unread.update(this)
    if (this.#isFinishing) this.#finishIfIdle()
    this.#pair.readClient()
    if (this.#hasClientEnded) this.clientEnded()
  }

  lost(sequence: number, cause: unknown): void {
    if (this.#isOver) return
    this.#host.onLost(cause === undefined ? unclear : `${unclear} (${describe(cause)})`)
    this.refuse(sequence, noServer(this.#host.upstream.address, unclear))
  }

  refuse(sequence: number, error: MysqlError, withState = true): void {
    if (this.#isOver) return
    this.refused(error)
    this.toClient(errorPacket(sequence, error, withState))
    this.end()
  }

  /** Ends both sides; what the client was sent reaches it. */
  end(): void {
    this.#pair.server.destroy()
    this.#endClient()
  }

  clientEnded(): void {
    if (this.#login !== undefined) return this.end()
    this.#hasClientEnded = true
    if (this.#relay?.isYielding) return
    // A statement that waits is not sent: its client would not learn of its row.
    this.#relay?.end()
    this.#pair.server.end()
  }

  serverEnded(): void {
    if (this.#login?.isGreeted === false) return this.serverFailed('it has ended the connection')
    this.#refuseHeld()
    this.#relay?.serverEnded()
    this.#pair.server.end()
    this.#endClient()
  }

  serverFailed(reason: string): void {
    const login = this.#login
    if (login === undefined || this.#isOver) return
    this.#host.onUpstreamError(reason)
    const { address } = this.#host.upstream
    const error = login.isGreeted ? failed(address, reason) : unreachable(address, reason)
    this.refuse(login.isGreeted ? 2 : 0, error, login.isGreeted)
  }

  /** What the client has sent still reaches the server, and its replies reach nothing. */
  clientClosed(): void {
    const { server } = this.#pair
    this.#host.unread.update(this)
    this.#relay?.end()
    this.#isOver = true
    this.#deadlineUs = this.#host.clock.monoUs() + this.#host.limits.lingerMs * 1000
    if (this.#login === undefined) server.end()
    else server.destroy()
    server.resume()
    this.#goneIfClosed()
  }

  serverClosed(): void {
    if (this.#login?.isGreeted === false) this.serverFailed('it has ended the connection')
    this.#refuseHeld()
    this.#relay?.end()
    this.#endClient()
    this.#goneIfClosed()
  }

  fail(error: unknown): void {
    this.drop()
    this.#host.onError(error)
  }

  #take(relay: Relay, chunk: Buffer): void {
    if (this.#isAnswered(relay)) {
      this.#sinceUs = this.#host.clock.monoUs()
      this.#unmeasured = 0
      this.#errors.length = 0
    }
    relay.fromClient(chunk)
    this.#measure(relay)
  }

  #isAnswered(relay: Relay): boolean {
    return relay.outstanding === 0 && !relay.isSuspended
  }

  /** Counts the commands since the connection was without one, once all of them are answered. */
  #measure(relay: Relay): void {
    if (this.#unmeasured === 0 || !this.#isAnswered(relay)) return
    const { figures, clock } = this.#host
    const us = clock.monoUs() - this.#sinceUs
    for (const code of this.#errors) figures.ended(outcomeOf(code), us)
    figures.ended('ok', us, this.#unmeasured - this.#errors.length)
    this.#unmeasured = 0
    this.#errors.length = 0
  }

  #finishIfIdle(): void {
    if (this.#isOver || this.#relay?.isIdle !== true) return
    const { server } = this.#pair
    // Half a command is none: the server drops it.
    if (this.#relay.isBetweenCommands) server.end(quitPacket())
    else server.end()
    this.#endClient()
  }

  #endClient(): void {
    if (this.#isOver) return
    const { lingerMs, unreadTimeoutMs } = this.#host.limits
    const { client } = this.#pair
    this.#isOver = true
    this.#deadlineUs = this.#host.clock.monoUs() + unreadTimeoutMs * 1000
    client.end(() => {
      this.#deadlineUs = this.#host.clock.monoUs() + lingerMs * 1000
    })
    // What the client still sends is discarded, until it ends its side.
    client.resume()
  }

  /** The server is gone while a statement waits. */
  #refuseHeld(): void {
    if (!this.#relay?.isSuspended) return
    this.refuse(1, noServer(this.#host.upstream.address, 'has ended the connection before its reply'))
  }

  #goneIfClosed(): void {
    const { client, server } = this.#pair
    if (this.#isGone || !client.destroyed || !server.destroyed) return
    this.#isGone = true
    this.#host.onGone(this)
  }
}
