/**
 * One connection: takes bytes in, logs the client in, has its messages carried out in order, writes the replies in order.
 *
 * Invariants
 *  1. Nothing but the login is carried out before the login. What a client may send before it is short.
 *  2. The shared output is empty whenever no connection is being served, and holds one connection's replies only.
 *  3. Unread replies stay below `unreadBytesMax` + one step of a result + one message: beyond it nothing is carried out.
 *  4. Messages that wait stay below `queuedBytesMax` + one message + one chunk: beyond it nothing is read.
 *  5. Whether this node may issue is checked after the messages of a callback are in memory, and before they start.
 *  6. A connection that is closed carries nothing out.
 *  7. An error outside of every statement costs this connection, and neither another one nor the process: each callback
 *     of the socket, of a promise and of a timer runs in `#contain`.
 *  8. A connection that has produced its share of replies goes on in a later turn; one that a quota has refused, after a
 *     rest.
 *  9. What came before TLS, in the clear, does not count after it.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { FahaoError } from '../base/errors.ts'
import { type CallerFacts, CallerSession } from '../commands/caller-session.ts'
import type { Admission } from '../node/admission.ts'
import { Arrivals } from '../node/arrivals.ts'
import { restMs, Share, shareBytes, type Taker } from '../node/turns.ts'
import type { Sender, UnreadBudget } from '../node/unread-budget.ts'
import type { Step } from './conversation.ts'
import { Deadlines } from './deadlines.ts'
import { Dialogue, type LoginHost } from './dialogue.ts'
import { farewells } from './errors.ts'
import { SqlError } from './sql-error.ts'

/** What the connections of a server share. */
export type ConnectionHost = LoginHost & {
  readonly clock: Clock
  readonly unread: UnreadBudget
  readonly admission: Pick<Admission<Connection>, 'setPending'>
  /** Called before messages are carried out, in every callback; undefined: there is nothing to check. */
  readonly mayIssue: (() => boolean) | undefined
  /** Sets up TLS on a socket, and calls `Connection.secure` once that has happened. */
  upgrade(connection: Connection, socket: Socket): void
  /** Calls `uncork` at the end of this turn of the event loop. */
  uncorkSoon(connection: Connection): void
  onGone(connection: Connection): void
}

/** Messages of so many bytes are short: reading a statement takes a multiple of what its bytes would. */
const shortBytesMax = 1024

/**
 * From the first to the last. `open`. `finishing`: closes when all that was received is answered. `closing`: closes after
 * the current result. `closed`: its side is ended.
 */
type Phase = 'open' | 'finishing' | 'closing' | 'closed'

/** A connection of a client. */
export class Connection implements Taker, Sender {
  /** Bytes of replies written. */
  bytesOut = 0
  readonly session: CallerSession
  readonly #host: ConnectionHost
  readonly #dialogue: Dialogue
  readonly #share: Share
  readonly #arrivals = new Arrivals()
  #socket: Socket
  #phase: Phase = 'open'
  /** `serving`: in `#serveNow`. `queued`: goes on in a later turn. `waiting`: for a promise. `upgrading`: to TLS. */
  #activity: 'idle' | 'serving' | 'queued' | 'waiting' | 'upgrading' = 'idle'
  /** More than `unreadBytesMax` was unread, and not all of it has been read since. */
  #blocked = false
  readonly #deadlines: Deadlines
  /** Why this server ends the connection, until the client is told. */
  #farewell: FahaoError | undefined

  constructor(
    socket: Socket,
    facts: Pick<CallerFacts, 'id' | 'address' | 'localAddress'>,
    host: ConnectionHost,
  ) {
    this.#socket = socket
    this.#host = host
    this.session = new CallerSession(
      { ...facts, door: 'postgres', access: host.unauthenticated },
      { unreadBytes: () => this.unreadBytes, close: () => this.#closeAfterReply(farewells.killed) },
    )
    this.#deadlines = new Deadlines(host.limits, this.session.startedMonoUs, host.clock)
    this.#share = new Share(host.turns)
    this.#dialogue = new Dialogue(this.session, host)
    this.#listen()
  }

  /** TLS is set up: goes on with the socket that speaks it. @param certificate the name of the client's certificate. */
  secure(socket: Socket, certificate: string | undefined): void {
    if (this.#phase === 'closed') return void socket.destroy()
    this.#socket = socket
    this.#dialogue.secure(certificate)
    this.#activity = 'idle'
    this.#listen()
  }

  /** Answers what has been received, then closes. */
  finish(): void {
    if (this.#phase === 'open') this.#phase = 'finishing'
    if (this.#activity === 'idle' && !this.#blocked) this.#contain(() => this.#close())
  }

  /** As `finish`, for a server that stops: clients are told why. */
  shutDown(): void {
    this.#farewell = farewells.stopping
    this.finish()
  }

  /** Goes on in its turn. */
  takeTurn(): void {
    if (this.#activity === 'queued') this.#activity = 'idle'
    if (this.#phase !== 'closed' && !this.#socket.destroyed) this.#contain(() => this.#serveNow())
  }

  /** Replies that have not left this process; 0 once the connection has ended. */
  get unreadBytes(): number {
    return this.#socket.destroyed ? 0 : this.#socket.writableLength
  }

  /** Messages that are not carried out or not complete, statements, portals and results, unless all this is little. */
  get queuedBytes(): number {
    return this.#socket.destroyed ? 0 : this.#dialogue.heldBytes
  }

  /** Ends the connection at once. */
  drop(): void {
    this.#socket.destroy()
  }

  /** Takes the present permissions of its user; undefined: it may not connect any more. */
  refreshAccess(present: (access: CallerSession['access']) => CallerSession['access'] | undefined): void {
    if (this.session.access.user === '') return
    const access = present(this.session.access)
    this.session.access = access ?? this.#host.unauthenticated
    if (access === undefined) this.#closeAfterReply(farewells.removed)
  }

  /** Ends the connection if one of its deadlines has passed. */
  sweep(nowUs: number): void {
    if (this.#deadlines.isOver(nowUs)) return this.drop()
    const { idleTimeoutMs } = this.#host.limits
    const isQuiet = this.#phase === 'open' && this.#activity === 'idle' && !this.#blocked
    if (idleTimeoutMs === 0 || !isQuiet) return
    if (nowUs - this.session.lastCommandMonoUs > idleTimeoutMs * 1000) this.#closeAfterReply(farewells.silent)
  }

  /** Sends the writes of this turn. */
  uncork(): void {
    this.#contain(() => {
      this.#socket.uncork()
      if (this.#socket.writableLength > 0 || this.queuedBytes > 0) this.#host.unread.update(this)
    })
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('data', (chunk: Buffer) => this.#contain(() => this.#receive(chunk)))
    socket.on('drain', () => this.#contain(() => this.#unblock()))
    socket.on('end', () => socket === this.#socket && this.finish())
    // `close` follows.
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket === this.#socket) this.#contain(() => this.#gone())
    })
  }

  /** Runs a callback; what it throws ends this connection. */
  #contain(work: () => void): void {
    try {
      work()
    } catch (error) {
      // The rest of the current reply must not reach another client.
      this.#host.output.clear()
      this.#activity = 'idle'
      this.drop()
      this.#host.onError(error, this.session)
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#phase === 'closed') return
    this.#host.totals.bytesIn += chunk.length
    this.#dialogue.frames.push(chunk)
    const nowUs = this.#host.clock.monoUs()
    this.#arrivals.add(nowUs, chunk.length, this.#activity !== 'idle' || this.#blocked)
    this.session.lastCommandMonoUs = nowUs
    if (this.#activity === 'waiting') this.#adjustReading()
    else this.#serve()
    if (this.queuedBytes > 0) this.#host.unread.update(this)
  }

  /** Carries out what has been received, now or in its turn. */
  #serve(): void {
    if (this.#activity === 'queued' || this.#host.turns.over)
      this.#queue(this.#share.isFresh && this.#dialogue.frames.pendingBytes <= shortBytesMax)
    else this.#serveNow()
  }

  /** Goes on until everything is done, its share is used up or something is awaited. */
  #serveNow(): void {
    const { output, turns, totals } = this.#host
    this.#host.mayIssue?.()
    this.#activity = 'serving'
    const { spent } = turns
    const counted = totals.commands
    const before = output.length
    let more = true
    while (more && turns.spent + output.length - before - spent < shareBytes && this.#mayGoOn) {
      more = this.#advance()
      if (output.length > shareBytes) this.#flush()
    }
    this.#flush()
    this.#share.use(turns.spent - spent)
    // The newest statement is measured when its result is here.
    this.#measure(totals.commands - counted - (this.#isAwaiting ? 1 : 0))
    // `#advance` may have changed it.
    if (this.#activity !== 'serving') return this.#adjustReading()
    this.#activity = 'idle'
    const isRefused = this.#dialogue.conversation?.takeRefused() ?? false
    if (isRefused || (more && this.#mayGoOn)) return this.#queue(false, isRefused ? restMs : 0)
    if (!this.#blocked && (this.#phase === 'closing' || this.#phase === 'finishing')) return this.#close()
    if (this.#blocked || this.#socket.isPaused()) this.#adjustReading()
  }

  /** Counts the statements that were answered in this callback: all of them at once, with one reading of the clock. */
  #measure(answered: number): void {
    const { figures, clock } = this.#host
    if (answered > 0) figures.took(clock.monoUs() - this.#arrivals.oldestUs, answered)
    this.#arrivals.carriedOut(this.#dialogue.frames.pendingBytes)
  }

  /** In `closing` only the current result goes on. */
  get #mayGoOn(): boolean {
    if (this.#blocked || this.#socket.destroyed) return false
    return this.#phase === 'open' || this.#phase === 'finishing' || this.#dialogue.conversation?.isReplying === true
  }

  #queue(isFresh: boolean, restsMs = 0): void {
    this.#flush()
    if (this.#activity !== 'queued') this.#host.turns.wait(this, isFresh, restsMs)
    this.#activity = 'queued'
    this.#adjustReading()
  }

  /** Carries out the next message, or goes on with a result. False when there is nothing to do now. */
  #advance(): boolean {
    return this.#follow(this.#dialogue.advance())
  }

  #follow(step: Step): boolean {
    if (this.#isLoggedIn && this.#deadlines.loggedIn()) this.#host.admission.setPending(this, false)
    if (step === 'answered') return true
    if (step instanceof Promise) this.#wait(step)
    else if (step === 'tls') this.#upgrade()
    else if (step === 'end') {
      this.#phase = 'closing'
      this.#farewell = undefined
    }
    return false
  }

  /** Hands the socket over to TLS. What has been received after the request for TLS came in the clear, and is refused. */
  #upgrade(): void {
    const isDirect = this.#dialogue.isDirectTls
    const rest = this.#dialogue.frames.takeRest()
    const socket = this.#socket
    if (rest.length > 0 && !isDirect) {
      this.#dialogue.fail(new SqlError('08P01', 'received unencrypted data after SSL request'))
      this.#phase = 'closing'
      return
    }
    this.#flush()
    this.#activity = 'upgrading'
    socket.removeAllListeners('data').removeAllListeners('drain')
    socket.pause()
    if (rest.length > 0) socket.unshift(rest)
    this.#host.upgrade(this, socket)
  }

  get #isLoggedIn(): boolean {
    return this.#dialogue.conversation !== undefined
  }

  /** Whether the result of a statement is awaited, and not the outcome of a login. */
  get #isAwaiting(): boolean {
    return this.#activity === 'waiting' && this.#isLoggedIn
  }

  #wait(settled: Promise<() => Step>): void {
    this.#activity = 'waiting'
    const isStatement = this.#isLoggedIn
    const { oldestUs } = this.#arrivals
    void settled.then((write) =>
      this.#contain(() => {
        this.#activity = 'idle'
        if (this.#socket.destroyed) return
        // More promises may settle in this turn of the event loop: one write for all their replies.
        this.#cork()
        this.#follow(write())
        if (isStatement) this.#host.figures.took(this.#host.clock.monoUs() - oldestUs)
        this.#serve()
      }),
    )
  }

  #flush(): void {
    const { output, limits, totals, turns } = this.#host
    if (output.length === 0) return
    totals.bytesOut += output.length
    this.bytesOut += output.length
    turns.spend(output.length)
    const replies = output.take()
    if (typeof replies === 'string') this.#socket.write(replies, 'latin1')
    else this.#socket.write(replies)
    const unread = this.#socket.writableLength
    if (unread > limits.unreadBytesMax) this.#blocked = true
    if (this.#blocked) this.#adjustReading()
    if ((unread > 0 || this.queuedBytes > 0) && this.#socket.writableCorked === 0)
      this.#host.unread.update(this)
  }

  /** Holds writes back until the end of this turn of the event loop. */
  #cork(): void {
    if (this.#socket.writableCorked > 0) return
    this.#socket.cork()
    this.#host.uncorkSoon(this)
  }

  #unblock(): void {
    if (!this.#blocked) return
    this.#blocked = false
    if (this.#phase !== 'closed' && this.#activity !== 'waiting') this.#serve()
  }

  #adjustReading(): void {
    if (this.#activity === 'upgrading') return
    const isBehind = this.#activity === 'waiting' || this.#activity === 'queued'
    const tooMuch = isBehind && this.#dialogue.frames.pendingBytes > this.#host.limits.queuedBytesMax
    const mayRead = this.#phase === 'closed' || (!this.#blocked && !tooMuch)
    if (mayRead !== this.#socket.isPaused()) return
    if (mayRead) this.#socket.resume()
    else this.#socket.pause()
  }

  #closeAfterReply(reason: FahaoError): void {
    this.#farewell = reason
    if (this.#activity === 'idle' && !this.#blocked) this.#contain(() => this.#close())
    else if (this.#phase !== 'closed') this.#phase = 'closing'
  }

  #sayFarewell(): void {
    if (this.#farewell === undefined || !this.#isLoggedIn) return
    this.#dialogue.fail(this.#farewell)
    this.#flush()
  }

  /**
   * Ends this side, and discards what the client sends until it ends its own: a socket that is closed with bytes unread
   * resets the connection, and the client might lose the last replies.
   */
  #close(): void {
    if (this.#phase === 'closed') return
    this.#sayFarewell()
    this.#phase = 'closed'
    this.#dialogue.frames.clear()
    this.#deadlines.closing()
    this.#socket.end(() => this.#deadlines.lingering())
    this.#adjustReading()
  }

  #gone(): void {
    this.#phase = 'closed'
    this.#host.unread.update(this)
    this.#dialogue.end()
    this.session.end()
    this.#host.onGone(this)
  }
}
