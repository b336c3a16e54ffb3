/**
 * One connection of a client, as every protocol has it: bytes in, replies out, waiting, closing.
 *
 * Invariants
 *  1. The shared output is empty whenever no connection is being served, and holds one connection's replies only.
 *  2. A connection with more than `unreadMaxBytes` of unread replies is blocked until all of them are read.
 *  3. Beyond `queuedMaxBytes` of requests that wait nothing is read.
 *  4. A connection that is closed carries nothing out.
 *  5. An error outside of every request costs this connection, and neither another one nor the process: each callback
 *     of the socket, of a promise and of a timer runs in `contain`.
 */
import type { Socket } from 'node:net'
import type { Access } from '../auth/access.ts'
import type { Clock } from '../base/clock.ts'
import type { Session } from '../operations/session.ts'
import type { Totals, UserConnection } from './listener.ts'
import { Share, type TurnQueue, type TurnTaker } from './turns.ts'
import type { Sender, UnreadBudget } from './unread-budget.ts'

/** What the connections of a listener share. */
export type ServedHost = {
  readonly clock: Clock
  readonly turns: TurnQueue
  readonly totals: Totals
  readonly unread: UnreadBudget
  readonly output: { length: number; take(): string | Buffer; clear(): void }
  readonly limits: {
    readonly unreadMaxBytes: number
    readonly unreadTimeoutMs: number
    readonly unauthenticatedTimeoutMs: number
    readonly idleTimeoutMs: number
    readonly lingerMs: number
  }
  onError(error: unknown, session?: Session): void
  /** Calls `uncork` at the end of this turn of the event loop. */
  uncorkSoon(connection: UserConnection): void
  onGone(connection: UserConnection | Socket): void
}

/**
 * From the first to the last. `open`. `finishing`: closes when all that was received is answered. `closing`: closes after
 * the current reply. `closed`: its side is ended.
 */
type Phase = 'open' | 'finishing' | 'closing' | 'closed'
/** `serving`: in `serveNow`. `queued`: continues in a later turn. `waiting`: for a promise. `upgrading`: to TLS. */
type Activity = 'idle' | 'serving' | 'queued' | 'waiting' | 'upgrading'

/** A connection of a client. */
export abstract class ServedConnection implements UserConnection, TurnTaker, Sender {
  /** Bytes of replies written. */
  bytesOut = 0
  abstract readonly session: Session & { end(): void }
  protected socket: Socket
  protected phase: Phase = 'open'
  protected activity: Activity = 'idle'
  /** More than `unreadMaxBytes` was unread, and not all of it has been read since. */
  protected blocked = false
  protected readonly share: Share
  /** Before the login: since when, in monotonic µs. */
  protected pendingSinceUs: number | undefined
  /** When the connection is dropped after it was closed. */
  #deadlineUs = Number.POSITIVE_INFINITY
  readonly #shared: ServedHost

  constructor(socket: Socket, host: ServedHost) {
    this.socket = socket
    this.#shared = host
    this.share = new Share(host.turns)
  }

  abstract refreshAccess(present: (access: Access) => Access | undefined): void
  /** Memory of what was received and is not carried out, and of what results from it, in bytes. */
  protected abstract readonly heldBytes: number
  /** How many bytes wait to be carried out, and how many may before reading pauses. */
  protected abstract readonly pendingBytes: number
  protected abstract readonly pendingBytesMax: number
  protected abstract readonly isWaiting: boolean
  protected abstract receive(chunk: Buffer): void
  protected abstract serveNow(): void
  /** Whether its next request is short, and it has had no share. */
  protected abstract readonly isLight: boolean
  /** How long it rests before its turn, in ms: a quota has refused it. Asked once for each refusal. */
  protected abstract takeRest(): number
  /** Ends the connection: its client has sent nothing for too long. */
  protected abstract endSilence(): void
  /** Forgets what was received. */
  protected abstract forget(): void

  /** Answers what has been received, then closes. */
  finish(): void {
    if (this.phase === 'open') this.phase = 'finishing'
    if (!this.isBusy && !this.blocked) this.contain(() => this.close())
  }

  /** Ends the connection like `finish`, because the server stops. */
  shutDown(): void {
    this.finish()
  }

  /** Goes on in its turn. */
  takeTurn(): void {
    if (this.activity === 'queued') this.activity = 'idle'
    if (this.phase !== 'closed' && !this.socket.destroyed) this.contain(() => this.serveNow())
  }

  /** Replies that have not left this process; 0 once the connection has ended. */
  get unreadBytes(): number {
    return this.socket.destroyed ? 0 : this.socket.writableLength
  }

  /** Memory of what waits, unless it is little. */
  get queuedBytes(): number {
    return this.socket.destroyed ? 0 : this.heldBytes
  }

  /** Ends the connection at once. */
  drop(): void {
    this.socket.destroy()
  }

  /** Ends the connection if one of its deadlines has passed. */
  sweep(nowUs: number): void {
    const { idleTimeoutMs, unauthenticatedTimeoutMs } = this.#shared.limits
    if (nowUs > this.#deadlineUs) return this.drop()
    if (nowUs - (this.pendingSinceUs ?? nowUs) > unauthenticatedTimeoutMs * 1000) return this.drop()
    if (this.isBusy || this.blocked) return
    if (nowUs - this.session.lastCommandMonoUs > idleTimeoutMs * 1000) this.endSilence()
  }

  /** Sends the writes of this turn. */
  uncork(): void {
    this.contain(() => {
      this.socket.uncork()
      this.#count()
    })
  }

  protected get isBusy(): boolean {
    return this.activity !== 'idle'
  }

  protected listen(): void {
    const { socket } = this
    socket.on('data', (chunk: Buffer) => this.contain(() => this.phase !== 'closed' && this.receive(chunk)))
    socket.on('drain', () => this.contain(() => this.#unblock()))
    socket.on('end', () => socket === this.socket && this.finish())
    // `close` follows.
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket === this.socket) this.contain(() => this.gone())
    })
  }

  /** Runs a callback; what it throws ends this connection. */
  protected contain(work: () => void): void {
    try {
      work()
    } catch (error) {
      // The rest of the current reply must not reach another client.
      this.#shared.output.clear()
      this.activity = 'idle'
      this.drop()
      this.#shared.onError(error, this.session)
    }
  }

  /** Carries out what has been received, now or in its turn. */
  protected serve(): void {
    if (this.activity === 'queued' || this.#shared.turns.over) this.queue(this.isLight)
    else this.serveNow()
  }

  protected queue(isFresh: boolean): void {
    this.flush()
    if (this.activity !== 'queued') this.#shared.turns.wait(this, isFresh, this.takeRest())
    this.activity = 'queued'
    this.adjustReading()
  }

  protected flush(): void {
    const { output, limits, totals, turns } = this.#shared
    if (output.length === 0) return
    totals.bytesOut += output.length
    this.bytesOut += output.length
    turns.spend(output.length)
    const replies = output.take()
    if (typeof replies === 'string') this.socket.write(replies, 'latin1')
    else this.send(replies)
    if (this.socket.writableLength > limits.unreadMaxBytes) this.blocked = true
    if (this.blocked) this.adjustReading()
    if (this.socket.writableCorked === 0) this.#count()
  }

  /** Writes replies to the socket. */
  protected send(replies: Buffer): void {
    this.socket.write(replies)
  }

  #count(): void {
    if (this.socket.writableLength > 0 || this.queuedBytes > 0) this.#shared.unread.update(this)
  }

  /** Holds writes back until the end of this turn of the event loop. */
  protected cork(): void {
    if (this.socket.writableCorked > 0) return
    this.socket.cork()
    this.#shared.uncorkSoon(this)
  }

  #unblock(): void {
    if (!this.blocked) return
    this.blocked = false
    if (this.phase !== 'closed' && !this.isWaiting) this.serve()
  }

  protected adjustReading(): void {
    if (this.activity === 'upgrading') return
    const isBehind = this.isWaiting || this.activity === 'queued'
    const tooMuch = isBehind && this.pendingBytes > this.pendingBytesMax
    const mayRead = this.phase === 'closed' || (!this.blocked && !tooMuch)
    if (mayRead !== this.socket.isPaused()) return
    if (mayRead) this.socket.resume()
    else this.socket.pause()
  }

  /**
   * Ends this side, and discards what the client sends until it ends its own: a socket that is closed with bytes unread
   * resets the connection, and the client might lose the last replies.
   */
  protected close(): void {
    if (this.phase === 'closed') return
    const { limits, clock } = this.#shared
    this.phase = 'closed'
    this.forget()
    this.#deadlineUs = clock.monoUs() + limits.unreadTimeoutMs * 1000
    this.socket.end(() => {
      this.#deadlineUs = clock.monoUs() + limits.lingerMs * 1000
    })
    this.adjustReading()
  }

  protected gone(): void {
    this.phase = 'closed'
    this.#shared.unread.update(this)
    this.forget()
    this.session.end()
    this.#shared.onGone(this)
  }
}
