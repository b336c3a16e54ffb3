/**
 * One connection: takes bytes in, has requests carried out in order, writes the replies in order.
 *
 * Invariants
 *  1. Replies leave in the order of the requests. While a command waits, nothing after it starts; except that up to
 *     `overlapMax` commands that only draw ids, one after the other, start in order and wait together.
 *  2. The shared output is empty whenever no connection is being served, and holds one connection's replies only.
 *  3. Unread replies stay below `unreadBytesMax` + `flushBytes` + one reply (of many ids: a part of it), or
 *     `overlapMax` short ones: beyond it no command is carried out, and no reply goes on.
 *  4. Requests that wait, for a reply or for a turn of the event loop, stay below `queuedBytesMax` + one chunk: beyond it nothing is read.
 *  5. Whether this node may issue is checked after the requests of a callback are in memory, and before they start.
 *  6. A connection that is closed carries nothing out.
 *  7. An error outside of every request costs this connection, and neither another one nor the process: each callback
 *     of the socket, of a promise and of a timer runs in `#contain`.
 *  8. A connection that has produced its share of replies goes on in a later turn; one that a quota has refused, or that
 *     was refused several times before AUTH, after a rest.
 *  9. Before AUTH at most `unauthenticatedBytesMax` of its replies are unread; beyond it the connection is dropped.
 * 10. `UnreadBudget` counts replies in this process and requests of a transaction after each write, or those of a turn.
 */
import type { Socket } from 'node:net'
import { Access } from '../auth/access.ts'
import type { Clock } from '../base/clock.ts'
import type { Reply } from '../commands/command.ts'
import type { Admission } from '../node/admission.ts'
import { Share, shareBytes, type Taker } from '../node/turns.ts'
import type { Sender, UnreadBudget } from '../node/unread-budget.ts'
import type { RespLimits } from './limits.ts'
import type { RequestHost } from './request-host.ts'
import { Requests } from './requests.ts'
import { RespSession, type SessionFacts } from './session.ts'

/** What the connections of a server share. */
export type ConnectionHost = RequestHost & {
  readonly clock: Clock
  readonly limits: RespLimits
  readonly unread: UnreadBudget
  readonly admission: Pick<Admission<Connection>, 'setPending'>
  /** Calls `uncork` at the end of this turn of the event loop. */
  uncorkSoon(connection: Connection): void
  onGone(connection: Connection | Socket): void
}

const flushBytes = 65_536
/** How many commands of one connection wait at once. */
const overlapMax = 256

/**
 * From the first to the last. `open`. `finishing`: closes when all that was received is answered. `closing`: closes after
 * the current reply. `closed`: its side is ended.
 */
type Phase = 'open' | 'finishing' | 'closing' | 'closed'

/**
 * The reply to a command that waits. `sinceUs`: when the newest bytes arrived before it started. `write` is set when the
 * promise has settled.
 */
type PendingReply = { readonly sinceUs: number; write: (() => void) | undefined }

/** A connection of a client. */
export class Connection implements Taker, Sender {
  /** Bytes of replies written. */
  bytesOut = 0
  readonly session: RespSession
  readonly #socket: Socket
  readonly #host: ConnectionHost
  readonly #requests: Requests
  #phase: Phase = 'open'
  readonly #share: Share
  /** `serving`: in `#serveNow`. `queued`: goes on in a later turn. */
  #activity: 'idle' | 'serving' | 'queued' = 'idle'
  /** More than `unreadBytesMax` was unread, and not all of it has been read since. */
  #blocked = false
  /** Before AUTH: since when, in monotonic µs. */
  #pendingSinceUs: number | undefined
  /** In the order of the requests. */
  readonly #pending: PendingReply[] = []
  /** When the connection is dropped after it was closed. */
  #deadlineUs = Number.POSITIVE_INFINITY

  constructor(socket: Socket, facts: SessionFacts, host: ConnectionHost) {
    this.#socket = socket
    this.#host = host
    this.session = new RespSession(facts, {
      unreadBytes: () => socket.writableLength,
      close: () => this.#closeAfterReply(),
    })
    this.#requests = new Requests(this.session, host)
    this.#share = new Share(host.turns)
    if (facts.access.user === '') this.#pendingSinceUs = facts.startedMonoUs
    socket.on('data', (chunk: Buffer) => this.#contain(() => this.#receive(chunk)))
    socket.on('drain', () => this.#contain(() => this.#unblock()))
    socket.on('end', () => this.finish())
    // `close` follows.
    socket.on('error', () => {})
    socket.on('close', () => this.#contain(() => this.#gone()))
  }

  /** Answers what has been received, then closes. */
  finish(): void {
    if (this.#phase === 'open') this.#phase = 'finishing'
    if (!this.#isBusy && !this.#blocked) this.#contain(() => this.#close())
  }

  /** Goes on in its turn. */
  takeTurn(): void {
    this.#activity = 'idle'
    if (this.#phase !== 'closed' && !this.#socket.destroyed) this.#contain(() => this.#serveNow())
  }

  /** Replies that have not left this process; 0 once the connection has ended. */
  get unreadBytes(): number {
    return this.#socket.destroyed ? 0 : this.#socket.writableLength
  }

  /** Requests of a transaction, and those that are not carried out or not complete, unless these are short. */
  get queuedBytes(): number {
    return this.#socket.destroyed ? 0 : this.session.transaction.bytes + this.#requests.decoder.longBytes
  }

  /** Ends the connection at once. */
  drop(): void {
    this.#socket.destroy()
  }

  /** See `RespServer.refreshAccess`. */
  refreshAccess(present: (access: Access) => Access | undefined): void {
    const { session } = this
    const access = session.access.user === '' ? session.access : present(session.access)
    // Without a user the rest of a transaction is refused.
    session.access = access ?? new Access(session.access.user, new Set(), [])
    this.#requests.refreshAccess()
    if (access === undefined) this.#closeAfterReply()
  }

  /** As `finish`, for a server that stops. */
  shutDown(): void {
    this.finish()
  }

  /** Ends the connection if one of its deadlines has passed. */
  sweep(nowUs: number): void {
    if (this.#isOverdue(nowUs)) this.drop()
  }

  #isOverdue(nowUs: number): boolean {
    const { idleTimeoutMs, unauthenticatedTimeoutMs } = this.#host.limits
    if (nowUs > this.#deadlineUs) return true
    if (nowUs - (this.#pendingSinceUs ?? nowUs) > unauthenticatedTimeoutMs * 1000) return true
    if (idleTimeoutMs === 0 || this.#isBusy || this.#blocked) return false
    return nowUs - this.session.lastCommandMonoUs > idleTimeoutMs * 1000
  }

  /** Runs a callback; what it throws ends this connection. */
  #contain(work: () => void): void {
    try {
      work()
    } catch (error) {
      // The rest of the current reply must not reach another client.
      this.#host.output.length = 0
      this.#activity = 'idle'
      this.drop()
      this.#host.onError(error, this.session)
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#phase === 'closed') return
    this.#host.totals.bytesIn += chunk.length
    this.#requests.decoder.push(chunk)
    this.session.lastCommandMonoUs = this.#host.clock.monoUs()
    this.#serve()
    if (this.#requests.decoder.longBytes > 0) this.#host.unread.update(this)
  }

  /** Carries out what has been received, now or in its turn. */
  #serve(): void {
    if (this.#activity === 'queued' || this.#host.turns.over)
      this.#queue(this.#share.isFresh && !this.#requests.isReplying)
    else this.#serveNow()
  }

  /** Goes on until everything is done, its share is used up or a reply is pending. */
  #serveNow(): void {
    const { output, mayIssue, turns } = this.#host
    mayIssue?.()
    this.#activity = 'serving'
    const { spent } = turns
    let more = true
    while (more && turns.spent - spent < shareBytes && this.#mayGoOn) {
      more = this.#advance()
      if (output.length > flushBytes) this.#flush()
    }
    this.#flush()
    this.#share.use(turns.spent - spent)
    this.#activity = 'idle'
    if (this.session.isRefused || (more && this.#mayGoOn)) return this.#queue(false)
    if (this.#isWaiting || (this.#blocked && this.#requests.isReplying)) return this.#adjustReading()
    if (this.#phase === 'closing' || (this.#phase === 'finishing' && !this.#blocked)) return this.#close()
    if (this.#socket.isPaused()) this.#adjustReading()
  }

  /** In `closing` only the current reply goes on. */
  get #mayGoOn(): boolean {
    if (this.#blocked || this.#socket.destroyed || this.session.mustRest) return false
    return this.#phase === 'open' || this.#phase === 'finishing' || this.#requests.isReplying
  }

  #queue(isFresh: boolean): void {
    this.#flush()
    if (this.#activity !== 'queued') this.#host.turns.wait(this, isFresh, this.session.takeRest())
    this.#activity = 'queued'
    this.#adjustReading()
  }

  /** Carries out the next request, or several that are alike. False when there is none. */
  #advance(): boolean {
    if (this.#isWaiting) return this.#startOverlapping()
    const progress = this.#requests.advance()
    if (progress === 'answered') return true
    if (progress === 'more') return false
    if (progress === 'http') {
      this.drop()
    } else if (progress === 'broken') {
      this.#phase = 'closing'
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

  get #isWaiting(): boolean {
    return this.#pending.length > 0
  }

  get #isBusy(): boolean {
    return this.#activity !== 'idle' || this.#isWaiting || this.#requests.isReplying
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
    queueMicrotask(() => this.#contain(() => this.#resume()))
  }

  #resume(): void {
    if (this.#socket.destroyed) return
    // More promises may settle in this turn of the event loop: one write for all their replies.
    this.#cork()
    const unsettled = this.#pending.findIndex(({ write }) => write === undefined)
    const settled = this.#pending.splice(0, unsettled < 0 ? this.#pending.length : unsettled)
    const { figures, clock } = this.#host
    const nowUs = clock.monoUs()
    for (const { write, sinceUs } of settled) {
      write!()
      figures.took(nowUs - sinceUs)
    }
    this.#serve()
  }

  #flush(): void {
    const { output, limits, totals, turns } = this.#host
    const isUnauthenticated = this.session.access.user === ''
    if (isUnauthenticated !== (this.#pendingSinceUs !== undefined)) {
      this.#pendingSinceUs = isUnauthenticated ? this.#host.clock.monoUs() : undefined
      this.#host.admission.setPending(this, isUnauthenticated)
    }
    if (output.length === 0) return
    totals.bytesOut += output.length
    this.bytesOut += output.length
    turns.spend(output.length)
    if (this.#isWaiting) this.#cork()
    const replies = output.take()
    if (typeof replies === 'string') this.#socket.write(replies, 'latin1')
    else this.#socket.write(replies, (error) => error ?? output.giveBack(replies))
    const unread = this.#socket.writableLength
    if (isUnauthenticated && unread > limits.unauthenticatedBytesMax) return this.drop()
    if (unread > limits.unreadBytesMax) this.#block()
    if ((unread > 0 || this.queuedBytes > 0) && this.#socket.writableCorked === 0)
      this.#host.unread.update(this)
  }

  /** Holds writes back until the end of this turn of the event loop. */
  #cork(): void {
    if (this.#socket.writableCorked > 0) return
    this.#socket.cork()
    this.#host.uncorkSoon(this)
  }

  /** Sends the writes of this turn. */
  uncork(): void {
    this.#contain(() => {
      this.#socket.uncork()
      if (this.#socket.writableLength > 0) this.#host.unread.update(this)
    })
  }

  #block(): void {
    this.#blocked = true
    this.#adjustReading()
  }

  #unblock(): void {
    if (!this.#blocked) return
    this.#blocked = false
    if (this.#phase !== 'closed' && !this.#isWaiting) this.#serve()
  }

  #adjustReading(): void {
    const isBehind = this.#isWaiting || this.#activity === 'queued'
    const { queuedBytesMax, unauthenticatedBytesMax } = this.#host.limits
    const bytesMax = this.session.access.user === '' ? unauthenticatedBytesMax : queuedBytesMax
    const tooMuch = isBehind && this.#requests.decoder.pendingBytes > bytesMax
    const mayRead = this.#phase === 'closed' || (!this.#blocked && !tooMuch)
    if (mayRead !== this.#socket.isPaused()) return
    if (mayRead) this.#socket.resume()
    else this.#socket.pause()
  }

  #closeAfterReply(): void {
    if (this.#phase !== 'closed') this.#phase = 'closing'
    if (!this.#isBusy) this.#close()
  }

  /**
   * Ends this side, and discards what the client sends until it ends its own: a socket that is closed with bytes unread
   * resets the connection, and the client might lose the last replies.
   */
  #close(): void {
    if (this.#phase === 'closed') return
    const { limits } = this.#host
    this.#phase = 'closed'
    this.#requests.clear()
    this.#deadlineUs = this.#host.clock.monoUs() + limits.unreadTimeoutMs * 1000
    this.#socket.end(() => {
      this.#deadlineUs = this.#host.clock.monoUs() + limits.lingerMs * 1000
    })
    this.#adjustReading()
  }

  #gone(): void {
    this.#phase = 'closed'
    this.#host.unread.update(this)
    this.#requests.clear()
    this.session.end()
    this.#host.onGone(this)
  }
}
