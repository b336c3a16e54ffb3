/**
 * One connection: takes bytes in, has requests carried out in order, writes the replies in order.
 *
 * Invariants
 *  1. Replies leave in the order of the requests. While a command waits, nothing after it starts; except that up to
 *     `overlapMax` commands that only draw ids, one after the other, start in order and wait together.
 *  2. The shared output is empty whenever no connection is being served, and holds one connection's replies only.
 *  3. Unread replies stay below `unreadMaxBytes` + `flushBytes` + one reply (of many ids: a part of it), or
 *     `overlapMax` short ones: beyond it no command is carried out, and no part of a reply is written.
 *  4. Requests that wait, for a reply or for a turn of the event loop, stay below `queuedMaxBytes` + one chunk: beyond it nothing is read.
 *  5. Whether this node may issue is checked after the requests of a callback are in memory, and before they start.
 *  6. A connection that is closed carries nothing out.
 *  7. An error outside of every request costs this connection, and neither another one nor the process: each callback
 *     of the socket, of a promise and of a timer runs in `contain`.
 *  8. A connection that has produced its share of replies continues in a later turn; one that a quota has refused, or that
 *     was refused several times before AUTH, after a rest.
 *  9. Before AUTH at most `unauthenticatedMaxBytes` of its replies are unread; beyond it the connection is dropped.
 * 10. `UnreadBudget` counts replies in this process and requests of a transaction after each write, or those of a turn.
 */
import type { Socket } from 'node:net'
import { Access } from '../auth/access.ts'
import type { Reply } from '../commands/command.ts'
import type { Admission } from '../listening/admission.ts'
import { ServedConnection, type ServedHost } from '../listening/served-connection.ts'
import { shareBytes } from '../listening/turns.ts'
import type { RespLimits } from './limits.ts'
import type { Output } from './output.ts'
import type { RequestHost } from './request-host.ts'
import { Requests } from './requests.ts'
import { RespSession, type SessionFacts } from './session.ts'

/** What the connections of a server share. */
export type ConnectionHost = RequestHost &
  ServedHost & {
    readonly limits: RespLimits
    readonly output: Output
    readonly admission: Pick<Admission<Connection>, 'setPending'>
  }

const flushBytes = 65_536
/** How many commands of one connection wait at once. */
const overlapMax = 256

/**
 * The reply to a command that waits. `sinceUs`: when the newest bytes arrived before it started. `write` is set when the
 * promise has settled.
 */
type PendingReply = { readonly sinceUs: number; write: (() => void) | undefined }

/** A connection of a client. */
export class Connection extends ServedConnection {
  override readonly session: RespSession
  readonly #host: ConnectionHost
  readonly #requests: Requests
  /** In the order of the requests. */
  readonly #pending: PendingReply[] = []

  constructor(socket: Socket, facts: SessionFacts, host: ConnectionHost) {
    super(socket, host)
    this.#host = host
    this.session = new RespSession(facts, {
      unreadBytes: () => socket.writableLength,
      close: () => this.#closeAfterReply(),
    })
    this.#requests = new Requests(this.session, host)
    if (facts.access.user === '') this.pendingSinceUs = this.session.startedMonoUs
    this.listen()
  }

  /** Requests of a transaction, and those that are not carried out or not complete, unless these are short. */
  protected override get heldBytes(): number {
    return this.session.transaction.bytes + this.#requests.decoder.longBytes
  }

  protected override get pendingBytes(): number {
    return this.#requests.decoder.pendingBytes
  }

  protected override get pendingBytesMax(): number {
    const { queuedMaxBytes, unauthenticatedMaxBytes } = this.#host.limits
    return this.session.access.user === '' ? unauthenticatedMaxBytes : queuedMaxBytes
  }

  protected override get isLight(): boolean {
    return this.share.isFresh && !this.#requests.isReplying
  }

  protected override takeRest(): number {
    return this.session.takeRest()
  }

  protected override endSilence(): void {
    this.drop()
  }

  protected override forget(): void {
    this.#requests.clear()
  }

  /** See `RespServer.refreshAccess`. */
  override refreshAccess(present: (access: Access) => Access | undefined): void {
    const { session } = this
    const access = session.access.user === '' ? session.access : present(session.access)
    // Without a user the rest of a transaction is refused.
    session.access = access ?? new Access(session.access.user, new Set(), [])
    this.#requests.refreshAccess()
    if (access === undefined) this.#closeAfterReply()
  }

  protected override receive(chunk: Buffer): void {
    this.#host.totals.bytesIn += chunk.length
    this.#requests.decoder.push(chunk)
    this.session.lastCommandMonoUs = this.#host.clock.monoUs()
    this.serve()
    if (this.#requests.decoder.longBytes > 0) this.#host.unread.update(this)
  }

  /** Carries out requests until all are done, the share of the connection is used up or a reply is pending. */
  protected override serveNow(): void {
    const { output, mayIssue, turns, totals, figures } = this.#host
    mayIssue()
    this.activity = 'serving'
    const { spent } = turns
    const before = totals.commands
    figures.begin()
    let more = true
    while (more && turns.spent - spent < shareBytes && this.#mayGoOn) {
      more = this.#advance()
      if (output.length > flushBytes) this.flush()
    }
    this.flush()
    this.share.use(turns.spent - spent)
    this.#measure(totals.commands - before)
    this.activity = 'idle'
    if (this.session.isRefused || (more && this.#mayGoOn)) return this.queue(false)
    if (this.isWaiting || (this.blocked && this.#requests.isReplying)) return this.adjustReading()
    if (this.phase === 'closing' || (this.phase === 'finishing' && !this.blocked)) return this.close()
    if (this.socket.isPaused()) this.adjustReading()
  }

  /** Counts the requests that were answered in this callback: all of them at once, with one reading of the clock. */
  #measure(answered: number): void {
    const { figures, clock } = this.#host
    if (answered > 0) figures.took(clock.monoUs() - this.session.lastCommandMonoUs, answered)
  }

  /** In `closing` only the current reply is sent to its end. */
  get #mayGoOn(): boolean {
    if (this.blocked || this.socket.destroyed || this.session.mustRest) return false
    return this.phase === 'open' || this.phase === 'finishing' || this.#requests.isReplying
  }

  /** Carries out the next request, or several that are alike. False when there is none. */
  #advance(): boolean {
    if (this.isWaiting) return this.#startOverlapping()
    const progress = this.#requests.advance()
    if (progress === 'answered') return true
    if (progress === 'more') return false
    if (progress === 'http') {
      this.drop()
    } else if (progress === 'broken') {
      this.phase = 'closing'
    } else {
      this.#wait(progress)
      return true
    }
    return false
  }

  /** Starts the next request while others wait, if it may overlap with them. */
  #startOverlapping(): boolean {
    if (!this.#requests.isOverlapping || this.#pending.length >= overlapMax) return false
    const reply = this.#requests.startOverlapping()
    if (reply !== undefined) this.#wait(reply)
    return reply !== undefined
  }

  protected override get isWaiting(): boolean {
    return this.#pending.length > 0
  }

  protected override get isBusy(): boolean {
    return this.activity !== 'idle' || this.isWaiting || this.#requests.isReplying
  }

  #wait(reply: Promise<Reply>): void {
    const pending: PendingReply = { sinceUs: this.session.lastCommandMonoUs, write: undefined }
    this.#pending.push(pending)
    reply.then(
      (value) => this.#settle(pending, () => this.#requests.answer(value)),
      (error) => this.#settle(pending, () => this.#requests.fail(error)),
    )
  }

  #settle(pending: PendingReply, write: () => void): void {
    pending.write = write
    if (pending !== this.#pending[0]) return
    // Replies that wait together mostly settle together.
    queueMicrotask(() => this.contain(() => this.#resume()))
  }

  #resume(): void {
    if (this.socket.destroyed) return
    // More promises may settle in this turn of the event loop: one write for all their replies.
    this.cork()
    const unsettled = this.#pending.findIndex(({ write }) => write === undefined)
    const settled = this.#pending.splice(0, unsettled < 0 ? this.#pending.length : unsettled)
    const { figures, clock, totals } = this.#host
    const nowUs = clock.monoUs()
    for (const { write, sinceUs } of settled) {
      const before = totals.commands
      figures.begin()
      write!()
      figures.took(nowUs - sinceUs, totals.commands - before)
    }
    this.serve()
  }

  protected override flush(): void {
    const { output, limits } = this.#host
    const isUnauthenticated = this.session.access.user === ''
    if (isUnauthenticated !== (this.pendingSinceUs !== undefined)) {
      this.pendingSinceUs = isUnauthenticated ? this.#host.clock.monoUs() : undefined
      this.#host.admission.setPending(this, isUnauthenticated)
    }
    if (this.isWaiting && output.length > 0) this.cork()
    super.flush()
    if (isUnauthenticated && this.socket.writableLength > limits.unauthenticatedMaxBytes) this.drop()
  }

  protected override send(replies: Buffer): void {
    this.socket.write(replies, (error) => error ?? this.#host.output.giveBack(replies))
  }

  #closeAfterReply(): void {
    if (this.phase !== 'closed') this.phase = 'closing'
    if (!this.isBusy) this.close()
  }
}
