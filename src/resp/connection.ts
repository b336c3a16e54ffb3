/**
 * One connection: takes bytes in, has requests carried out in order, writes the replies in order.
 *
 * Invariants
 *  1. Replies leave in the order of the requests. While a command waits, nothing after it starts; except that up to
 *     `overlapMax` commands that only draw ids, one after the other, start in order and wait together.
 *  2. The shared output is empty whenever no connection is at work, and holds one connection's replies only.
 *  3. Unread replies stay below `unreadBytesMax` + `flushBytes` + one reply (of many ids: a part of it), or
 *     `overlapMax` short ones: beyond it no command is carried out, and no reply goes on.
 *  4. Requests that wait, for a reply or for a turn of the event loop, stay below `queuedBytesMax` + one chunk: beyond it nothing is read.
 *  5. Whether this node may issue is looked at after the requests of a callback are in memory, and before they start.
 *  6. Once it has said that it closes, it carries nothing out.
 *  7. An error that no request is answered with costs this connection, and neither another one nor the process:
 *     each callback of the socket, of a promise and of a timer runs in `#contain`.
 *  8. One that has produced its share of replies goes on in a later turn of the event loop.
 *  9. `UnreadBudget` counts the replies that have not left this process when a write, or the writes of a turn, has been tried.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { Reply } from '../commands/command.ts'
import { shareBytes, type Taker } from '../node/turns.ts'
import type { Sender, UnreadBudget } from '../node/unread-budget.ts'
import type { RespLimits } from './limits.ts'
import { type RequestHost, Requests } from './requests.ts'
import { RespSession, type SessionFacts } from './session.ts'

/** What the connections of a server share. */
export type ConnectionHost = RequestHost & {
  readonly limits: RespLimits
  readonly clock: Clock
  readonly totals: Totals
  readonly unread: UnreadBudget
  /** Called before requests are carried out, in every callback; undefined: there is nothing to look at. */
  readonly mayIssue: (() => boolean) | undefined
  /** Calls `uncork` at the end of this turn of the event loop. */
  uncorkSoon(connection: Connection): void
  onGone(connection: Connection): void
}

/** Sums over all connections. */
export type Totals = {
  commands: number
  bytesIn: number
  bytesOut: number
}

const flushBytes = 65_536
/** How many commands of one connection wait at once. */
const overlapMax = 256

/** A reply to come; `write` when it is there. */
type Awaited = { write: (() => void) | undefined }

/** See the invariants at the top of the file. */
export class Connection implements Taker, Sender {
  /** Bytes of replies written. */
  bytesOut = 0
  readonly session: RespSession
  readonly #socket: Socket
  readonly #host: ConnectionHost
  readonly #requests: Requests
  /** In `#serve`. */
  #working = false
  /** Replies that handlers have promised, in the order of the requests. */
  readonly #awaited: Awaited[] = []
  #resuming = false
  /** Goes on in a later turn. */
  #queued = false
  /** More than `unreadBytesMax` is unread. */
  #blocked = false
  #reading = true
  /** Closes once everything received is answered. */
  #finishing = false
  /** Closes after the reply under way. */
  #closeAsked = false
  /** Has said so. */
  #closed = false
  #corked = false
  /** When it is dropped, once it closes. */
  #deadlineUs = Number.POSITIVE_INFINITY

  constructor(socket: Socket, facts: SessionFacts, host: ConnectionHost) {
    this.#socket = socket
    this.#host = host
    this.session = new RespSession(facts, {
      unreadBytes: () => socket.writableLength,
      close: () => this.#askClose(),
    })
    this.#requests = new Requests(this.session, host)
    socket.on('data', (chunk: Buffer) => this.#contain(() => this.#receive(chunk)))
    socket.on('drain', () => this.#contain(() => this.#unblock()))
    socket.on('end', () => this.finish())
    // What follows an error is `close`.
    socket.on('error', () => {})
    socket.on('close', () => this.#contain(() => this.#gone()))
  }

  /** Answers what has been received, then closes. */
  finish(): void {
    this.#finishing = true
    if (!this.#busy && !this.#blocked) this.#contain(() => this.#close())
  }

  /** Goes on in its turn. */
  takeTurn(): void {
    this.#queued = false
    if (!this.#closed && !this.#socket.destroyed) this.#contain(() => this.#serveNow())
  }

  /** Replies that have not left this process; 0 once it has ended. */
  get unreadBytes(): number {
    return this.#socket.destroyed ? 0 : this.#socket.writableLength
  }

  /** Requests that wait are bounded by `queuedBytesMax`. */
  readonly queuedBytes = 0

  /** Ends it at once. */
  drop(): void {
    this.#socket.destroy()
  }

  /** Whether it has used up its time. */
  overdue(nowUs: number): boolean {
    const { idleTimeoutMs, strangerTimeoutMs } = this.#host.limits
    const { user, startedMonoUs, lastCommandMonoUs } = this.session
    if (nowUs > this.#deadlineUs) return true
    if (user === '' && nowUs - startedMonoUs > strangerTimeoutMs * 1000) return true
    if (idleTimeoutMs === 0 || this.#busy || this.#blocked) return false
    return nowUs - lastCommandMonoUs > idleTimeoutMs * 1000
  }

  /** Carries out what a callback is for: what it throws ends this connection. */
  #contain(work: () => void): void {
    try {
      work()
    } catch (error) {
      // What the reply under way has left in the output must not reach another peer.
      this.#host.output.length = 0
      this.#working = false
      this.drop()
      this.#host.onError(error, this.session)
    }
  }

  #receive(chunk: Buffer): void {
    if (this.#closed) return
    this.#host.totals.bytesIn += chunk.length
    this.#requests.decoder.push(chunk)
    this.session.lastCommandMonoUs = this.#host.clock.monoUs()
    this.#serve()
  }

  /** Carries out what has been received, now or in its turn. */
  #serve(): void {
    if (this.#queued || this.#host.turns.over) this.#leaveForLater(!this.#requests.replying)
    else this.#serveNow()
  }

  /** Goes on until everything is done, its share is used up or something has to be waited for. */
  #serveNow(): void {
    const { output, mayIssue, turns } = this.#host
    mayIssue?.()
    this.#working = true
    const { spent } = turns
    let more = true
    while (more && turns.spent - spent < shareBytes && this.#mayGoOn) {
      more = this.#step()
      if (output.length > flushBytes) this.#flush()
    }
    this.#flush()
    this.#working = false
    if (more && this.#mayGoOn) return this.#leaveForLater(false)
    if (this.#waiting) return this.#adjustReading()
    if (this.#blocked && this.#requests.replying) return this.#adjustReading()
    if (this.#closeAsked || (this.#finishing && !this.#blocked)) return this.#close()
    if (!this.#reading) this.#adjustReading()
  }

  /** Once it shall close, only the reply under way goes on. */
  get #mayGoOn(): boolean {
    return !this.#blocked && !this.#socket.destroyed && (!this.#closeAsked || this.#requests.replying)
  }

  #leaveForLater(fresh: boolean): void {
    this.#flush()
    if (!this.#queued) this.#host.turns.wait(this, fresh)
    this.#queued = true
    this.#adjustReading()
  }

  /** Carries out the next request, or several that are alike. False when there is none. */
  #step(): boolean {
    if (this.#waiting) return this.#stepBehind()
    const step = this.#requests.step()
    if (step === 'answered') return true
    if (step === 'more') return false
    if (step === 'http') {
      this.drop()
    } else if (step === 'broken') {
      this.#closeAsked = true
    } else {
      this.#wait(step)
      return true
    }
    return false
  }

  /** Starts the next request behind those that wait, if it may. */
  #stepBehind(): boolean {
    if (!this.#requests.overlapping || this.#awaited.length >= overlapMax) return false
    const reply = this.#requests.stepBehind()
    if (reply !== undefined) this.#wait(reply)
    return reply !== undefined
  }

  get #waiting(): boolean {
    return this.#awaited.length > 0
  }

  /** Has something under way. */
  get #busy(): boolean {
    return this.#working || this.#waiting || this.#queued || this.#requests.replying
  }

  #wait(reply: Promise<Reply>): void {
    const awaited: Awaited = { write: undefined }
    this.#awaited.push(awaited)
    reply.then(
      (value) => this.#settle(awaited, () => this.#requests.answer(value)),
      (error) => this.#settle(awaited, () => this.#requests.fail(error)),
    )
  }

  #settle(awaited: Awaited, write: () => void): void {
    awaited.write = write
    if (awaited !== this.#awaited[0] || this.#resuming) return
    this.#resuming = true
    // Those that wait together are mostly answered together.
    queueMicrotask(() => this.#contain(() => this.#resume()))
  }

  #resume(): void {
    this.#resuming = false
    if (this.#socket.destroyed) return
    // More promises may settle in this turn of the event loop: one write for all their replies.
    this.#cork()
    const waiting = this.#awaited.findIndex(({ write }) => write === undefined)
    const answered = this.#awaited.splice(0, waiting < 0 ? this.#awaited.length : waiting)
    for (const { write } of answered) write!()
    this.#serve()
  }

  #flush(): void {
    const { output, limits, totals, turns } = this.#host
    if (output.length === 0) return
    totals.bytesOut += output.length
    this.bytesOut += output.length
    turns.spend(output.length)
    if (this.#waiting) this.#cork()
    const replies = output.take()
    if (typeof replies === 'string') this.#socket.write(replies, 'latin1')
    else this.#socket.write(replies, (error) => error ?? output.giveBack(replies))
    const unread = this.#socket.writableLength
    if (unread > limits.unreadBytesMax) this.#block()
    if (unread > 0 && !this.#corked) this.#host.unread.update(this)
  }

  /** Holds writes back until the end of this turn of the event loop. */
  #cork(): void {
    if (this.#corked) return
    this.#corked = true
    this.#socket.cork()
    this.#host.uncorkSoon(this)
  }

  /** Lets the writes of this turn go. */
  uncork(): void {
    this.#corked = false
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
    if (!this.#closed && !this.#waiting) this.#serve()
  }

  #adjustReading(): void {
    const behind = this.#waiting || this.#queued
    const tooMuch = behind && this.#requests.decoder.pendingBytes > this.#host.limits.queuedBytesMax
    const wanted = this.#closed || (!this.#blocked && !tooMuch)
    if (wanted === this.#reading) return
    this.#reading = wanted
    if (wanted) this.#socket.resume()
    else this.#socket.pause()
  }

  #askClose(): void {
    this.#closeAsked = true
    if (!this.#busy) this.#close()
  }

  /**
   * Ends our side and reads on, into nowhere, until the peer ends its own: a socket closed with bytes unread
   * resets the connection, and the peer might lose the last replies.
   */
  #close(): void {
    if (this.#closed) return
    const { clock, limits } = this.#host
    this.#closed = true
    this.#requests.clear()
    this.#deadlineUs = clock.monoUs() + limits.unreadTimeoutMs * 1000
    this.#socket.end(() => {
      this.#deadlineUs = clock.monoUs() + limits.lingerMs * 1000
    })
    this.#adjustReading()
  }

  #gone(): void {
    this.#closed = true
    this.#host.unread.update(this)
    this.#requests.clear()
    this.session.end()
    this.#host.onGone(this)
  }
}
