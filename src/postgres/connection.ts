/**
 * One connection: takes bytes in, logs the client in, has its messages carried out in order, writes the replies in order.
 *
 * Invariants
 *  1. Nothing but the login is carried out before the login. What a client may send before it is short.
 *  2. The shared output is empty whenever no connection is being served, and holds one connection's replies only.
 *  3. Unread replies stay below `unreadMaxBytes` + one part of a result + one message: beyond it nothing is carried out.
 *  4. Messages that wait stay below `queuedMaxBytes` + one message + one chunk: beyond it nothing is read.
 *  5. Whether this node may issue is checked after the messages of a callback are in memory, and before they start.
 *  6. A connection that is closed carries nothing out.
 *  7. An error outside of every statement costs this connection, and neither another one nor the process: each callback
 *     of the socket, of a promise and of a timer runs in `contain`.
 *  8. A connection that has produced its share of replies continues in a later turn; one that a quota has refused, after a
 *     rest.
 *  9. What came before TLS, in the clear, does not count after it.
 */
import type { Socket } from 'node:net'
import type { FahaoError } from '../base/errors.ts'
import type { Admission } from '../listening/admission.ts'
import { ServedConnection, type ServedHost } from '../listening/served-connection.ts'
import { restMs, shareBytes } from '../listening/turns.ts'
import { type CallerFacts, CallerSession } from '../operations/caller-session.ts'
import { Arrivals } from './arrivals.ts'
import { ConnectionMessages, type LoginHost } from './connection-messages.ts'
import { closingErrors } from './errors.ts'
import type { PostgresLimits } from './limits.ts'
import type { Output } from './output.ts'
import type { Progress } from './session-messages.ts'
import { SqlError } from './sql-error.ts'

/** What the connections of a server share. */
export type ConnectionHost = LoginHost &
  ServedHost & {
    readonly limits: PostgresLimits
    readonly output: Output
    readonly admission: Pick<Admission<Connection>, 'setPending'>
    /** Called before messages are carried out, in every callback. */
    readonly mayIssue: () => boolean
    /** Sets up TLS on a socket, and calls `Connection.secure` once that has happened. */
    upgrade(connection: Connection, socket: Socket): void
  }

/** The longest messages that are short, in bytes: reading a statement takes a multiple of what its bytes would. */
const shortBytesMax = 1024

/** A connection of a client. */
export class Connection extends ServedConnection {
  override readonly session: CallerSession
  readonly #host: ConnectionHost
  readonly #messages: ConnectionMessages
  readonly #arrivals = new Arrivals()
  /** Why this server ends the connection, until the client is told. */
  #closingError: FahaoError | undefined

  constructor(
    socket: Socket,
    facts: Pick<CallerFacts, 'id' | 'address' | 'localAddress'>,
    host: ConnectionHost,
  ) {
    super(socket, host)
    this.#host = host
    this.session = new CallerSession(
      { ...facts, door: 'postgres', access: host.unauthenticated },
      { unreadBytes: () => this.unreadBytes, close: () => this.#closeAfterReply(closingErrors.killed) },
    )
    this.pendingSinceUs = this.session.startedMonoUs
    this.#messages = new ConnectionMessages(this.session, host)
    this.listen()
  }

  /** TLS is set up: continues on the socket that speaks it. @param certificate the name of the client's certificate. */
  secure(socket: Socket, certificate: string | undefined): void {
    if (this.phase === 'closed') return void socket.destroy()
    this.socket = socket
    this.#messages.secure(certificate)
    this.activity = 'idle'
    this.listen()
  }

  /** Ends the connection like `finish`, because the server stops, and tells the client why. */
  override shutDown(): void {
    this.#closingError = closingErrors.stopping
    super.shutDown()
  }

  /** Messages that are not carried out or not complete, statements, portals and results, unless all this is little. */
  protected override get heldBytes(): number {
    return this.#messages.heldBytes
  }

  protected override get pendingBytes(): number {
    return this.#messages.frames.pendingBytes
  }

  protected override get pendingBytesMax(): number {
    return this.#host.limits.queuedMaxBytes
  }

  protected override get isWaiting(): boolean {
    return this.activity === 'waiting'
  }

  protected override get isLight(): boolean {
    return this.share.isFresh && this.pendingBytes <= shortBytesMax
  }

  protected override takeRest(): number {
    return this.#messages.sessionMessages?.takeRefused() ? restMs : 0
  }

  protected override endSilence(): void {
    if (this.phase === 'open') this.#closeAfterReply(closingErrors.silent)
  }

  protected override forget(): void {
    this.#messages.frames.clear()
  }

  /** Takes the present permissions of its user; undefined: it may not connect any more. */
  override refreshAccess(
    present: (access: CallerSession['access']) => CallerSession['access'] | undefined,
  ): void {
    if (this.session.access.user === '') return
    const access = present(this.session.access)
    this.session.access = access ?? this.#host.unauthenticated
    if (access === undefined) this.#closeAfterReply(closingErrors.removed)
  }

  protected override receive(chunk: Buffer): void {
    this.#host.totals.bytesIn += chunk.length
    this.#messages.frames.push(chunk)
    const nowUs = this.#host.clock.monoUs()
    this.#arrivals.add(nowUs, chunk.length, this.activity !== 'idle' || this.blocked)
    this.session.lastCommandMonoUs = nowUs
    if (this.activity === 'waiting') this.adjustReading()
    else this.serve()
    if (this.queuedBytes > 0) this.#host.unread.update(this)
  }

  /** Carries out messages until all are done, the share of the connection is used up or a result is awaited. */
  protected override serveNow(): void {
    const { output, turns, totals } = this.#host
    this.#host.mayIssue()
    this.activity = 'serving'
    const { spent } = turns
    const counted = totals.commands
    const before = output.length
    this.#host.figures.begin()
    let more = true
    while (more && turns.spent + output.length - before - spent < shareBytes && this.#mayGoOn) {
      more = this.#advance()
      if (output.length > shareBytes) this.flush()
    }
    this.flush()
    this.share.use(turns.spent - spent)
    // The newest statement is measured when its result is here.
    this.#measure(totals.commands - counted - (this.#isAwaiting ? 1 : 0))
    // `#advance` may have changed `activity`.
    if (this.activity !== 'serving') return this.adjustReading()
    this.activity = 'idle'
    if (this.#messages.sessionMessages?.isRefused || (more && this.#mayGoOn)) return this.queue(false)
    if (!this.blocked && (this.phase === 'closing' || this.phase === 'finishing')) return this.close()
    if (this.blocked || this.socket.isPaused()) this.adjustReading()
  }

  /** Counts the statements that were answered in this callback: all of them at once, with one reading of the clock. */
  #measure(answered: number): void {
    const { figures, clock } = this.#host
    if (answered > 0) figures.took(clock.monoUs() - this.#arrivals.oldestUs, answered)
    this.#arrivals.carriedOut(this.#messages.frames.pendingBytes)
  }

  /** In `closing` only the current result is sent to its end. */
  get #mayGoOn(): boolean {
    if (this.blocked || this.socket.destroyed) return false
    return (
      this.phase === 'open' ||
      this.phase === 'finishing' ||
      this.#messages.sessionMessages?.isReplying === true
    )
  }

  /** Carries out the next message, or sends the next part of a result. False when there is nothing to do now. */
  #advance(): boolean {
    return this.#follow(this.#messages.advance())
  }

  #follow(progress: Progress): boolean {
    if (this.#isLoggedIn && this.pendingSinceUs !== undefined) {
      this.pendingSinceUs = undefined
      this.#host.admission.setPending(this, false)
    }
    if (progress === 'answered') return true
    if (progress instanceof Promise) this.#wait(progress)
    else if (progress === 'tls') this.#upgrade()
    else if (progress === 'end') {
      this.phase = 'closing'
      this.#closingError = undefined
    }
    return false
  }

  /** Hands the socket over to TLS. What has been received after the request for TLS came in the clear, and is refused. */
  #upgrade(): void {
    const isDirect = this.#messages.isDirectTls
    const rest = this.#messages.frames.takeRest()
    const socket = this.socket
    if (rest.length > 0 && !isDirect) {
      this.#messages.fail(new SqlError('08P01', 'received unencrypted data after SSL request'))
      this.phase = 'closing'
      return
    }
    this.flush()
    this.activity = 'upgrading'
    socket.removeAllListeners('data').removeAllListeners('drain')
    socket.pause()
    if (rest.length > 0) socket.unshift(rest)
    this.#host.upgrade(this, socket)
  }

  get #isLoggedIn(): boolean {
    return this.#messages.sessionMessages !== undefined
  }

  /** Whether the result of a statement is awaited, and not the outcome of a login. */
  get #isAwaiting(): boolean {
    return this.activity === 'waiting' && this.#isLoggedIn
  }

  #wait(settled: Promise<() => Progress>): void {
    this.activity = 'waiting'
    const isStatement = this.#isLoggedIn
    const { oldestUs } = this.#arrivals
    void settled.then((write) =>
      this.contain(() => {
        this.activity = 'idle'
        if (this.socket.destroyed) return
        // More promises may settle in this turn of the event loop: one write for all their replies.
        this.cork()
        this.#host.figures.begin()
        this.#follow(write())
        if (isStatement) this.#host.figures.took(this.#host.clock.monoUs() - oldestUs)
        this.serve()
      }),
    )
  }

  #closeAfterReply(reason: FahaoError): void {
    this.#closingError = reason
    if (this.activity === 'idle' && !this.blocked) this.contain(() => this.close())
    else if (this.phase !== 'closed') this.phase = 'closing'
  }

  #sendClosingError(): void {
    if (this.#closingError === undefined || !this.#isLoggedIn) return
    this.#messages.fail(this.#closingError)
    this.flush()
  }

  protected override close(): void {
    if (this.phase !== 'closed') this.#sendClosingError()
    super.close()
  }

  protected override gone(): void {
    this.#messages.end()
    super.gone()
  }
}
