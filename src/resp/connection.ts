/**
 * One connection: takes bytes in, carries commands out one after the other, writes the replies in order.
 *
 * Invariants
 *  1. Replies leave in the order of the requests: while a command waits, nothing after it is decoded.
 *  2. The shared output is empty whenever no connection is at work, and holds one connection's replies only.
 *  3. Unread replies stay below `unreadBytesMax` + one chunk's replies: beyond it no command is carried out.
 *  4. Requests that wait stay below `queuedBytesMax` + one chunk: beyond it nothing is read.
 *  5. Once it has said that it closes, it carries nothing out.
 *  6. A command of a peer that must authenticate first runs only if it is marked `no_auth`.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Direct, Reply } from '../commands/command.ts'
import type { CommandContext, Session } from '../commands/context.ts'
import type { CommandTable, Resolved } from '../commands/table.ts'
import { Run, safeHi } from '../ids/run.ts'
import { Decoder, type DecoderLimits } from './decoder.ts'
import { encode, encodeError } from './encoder.ts'
import { isHttp } from './inline.ts'
import type { RespLimits } from './limits.ts'
import { type Frame, FrameMemory } from './memory.ts'
import type { Output } from './output.ts'
import { RespSession, type SessionFacts } from './session.ts'

/** What the connections of a server share. */
export type ConnectionHost = {
  readonly table: CommandTable
  readonly limits: RespLimits
  /** Limits of requests, and those before AUTH. */
  readonly known: DecoderLimits
  readonly unknown: DecoderLimits
  readonly clock: Clock
  readonly output: Output
  readonly totals: Totals
  context(session: Session): CommandContext
  /** Told of what a handler threw that is no FahaoError. */
  onError(error: unknown, session: Session): void
  /** Calls `uncork` at the end of this turn of the event loop. */
  uncorkSoon(connection: Connection): void
  onGone(connection: Connection): void
}

/** Sums over all connections. */
export type Totals = {
  commands: number
  bytesIn: number
  bytesOut: number
  /** Unread bytes of connections that are beyond their limit. */
  blockedBytes: number
}

const flushBytes = 65_536
const nothing = new Uint8Array(0)
/** Filled and emptied within one call. */
const run = new Run()

/** See the invariants at the top of the file. */
export class Connection {
  readonly session: RespSession
  readonly #socket: Socket
  readonly #host: ConnectionHost
  readonly #context: CommandContext
  readonly #decoder: Decoder
  readonly #memory = new FrameMemory()
  /** Whom #memory and the decoder's limits are for. */
  #user: string
  /** In `#serve`. */
  #working = false
  /** For a handler's promise. */
  #waiting = false
  /** Bytes that were unread when it became too much; 0: not blocked. */
  #blockedBytes = 0
  #reading = true
  /** Closes once everything received is answered. */
  #finishing = false
  /** Closes after the reply under way. */
  #closeAsked = false
  /** Has said so. */
  #closed = false
  #corked = false
  /** It is dropped when it is still in this state by then. */
  #deadlineUs = Number.POSITIVE_INFINITY

  constructor(socket: Socket, facts: SessionFacts, host: ConnectionHost) {
    this.#socket = socket
    this.#host = host
    this.session = new RespSession(facts, {
      unreadBytes: () => socket.writableLength,
      close: () => this.#askClose(),
    })
    this.#user = facts.user
    this.#decoder = new Decoder(facts.user === '' ? host.unknown : host.known)
    this.#context = host.context(this.session)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('drain', () => this.#unblock())
    socket.on('end', () => this.finish())
    // What follows an error is `close`.
    socket.on('error', () => {})
    socket.on('close', () => this.#gone())
  }

  /** Answers what has been received, then closes. */
  finish(): void {
    this.#finishing = true
    if (!this.#working && !this.#waiting && this.#blockedBytes === 0) this.#close()
  }

  /** Ends it at once. */
  drop(): void {
    this.#socket.destroy()
  }

  /** Whether it has used up its time. */
  overdue(nowUs: number): boolean {
    const { idleTimeoutMs, unknownTimeoutMs } = this.#host.limits
    if (nowUs > this.#deadlineUs) return true
    if (this.#user === '' && nowUs - this.session.startedMonoUs > unknownTimeoutMs * 1000) return true
    if (idleTimeoutMs === 0 || this.#waiting || this.#blockedBytes > 0) return false
    return nowUs - this.session.lastCommandMonoUs > idleTimeoutMs * 1000
  }

  #receive(chunk: Buffer): void {
    if (this.#closed) return
    this.#host.totals.bytesIn += chunk.length
    this.#decoder.push(chunk)
    if (this.#waiting || this.#blockedBytes > 0) return this.#adjustReading()
    this.session.lastCommandMonoUs = this.#host.clock.monoUs()
    this.#serve()
  }

  /** Carries out what has been received, until it is done or something has to be waited for. */
  #serve(): void {
    const { output } = this.#host
    this.#working = true
    while (!this.#waiting && !this.#closeAsked && this.#blockedBytes === 0 && this.#step()) {
      if (output.length > flushBytes) this.#flush()
    }
    this.#flush()
    this.#working = false
    if (!this.#waiting && (this.#closeAsked || (this.#finishing && this.#blockedBytes === 0))) this.#close()
    else if (!this.#reading || this.#waiting) this.#adjustReading()
  }

  /** Carries out the next request, or several that are alike. False when there is none. */
  #step(): boolean {
    const { frames } = this.#memory
    for (let index = 0; index < frames.length; index++) {
      const frame = frames[index]!
      const count = this.#decoder.countRepeats(frame.bytes, frame.direct ? Number.POSITIVE_INFINITY : 1)
      if (count > 0) {
        this.#again(frame, count)
        return true
      }
    }
    switch (this.#decoder.next()) {
      case 'frame':
        this.#first()
        return true
      case 'more':
        return false
      case 'error':
        encodeError(this.#host.output, 'ERR', this.#decoder.failure)
        this.#closeAsked = true
        return false
      case 'http':
        this.drop()
        return false
    }
  }

  /** A request that is not remembered. */
  #first(): void {
    const decoder = this.#decoder
    const wanted = !decoder.inline && this.#user !== '' && this.#memory.wants(decoder.frame().length)
    const frameBytes = wanted ? Uint8Array.from(decoder.frame()) : undefined
    const parts = frameBytes === undefined ? decoder.parts() : decoder.partsIn(frameBytes)
    let resolved: Resolved
    try {
      resolved = this.#host.table.resolve(parts)
    } catch (error) {
      if (isHttp(parts)) return this.drop()
      this.#host.totals.commands++
      return this.#fail(error)
    }
    this.session.lastCommand = resolved.name
    const frame: Frame = { bytes: frameBytes ?? nothing, resolved, direct: undefined }
    if (wanted) this.#memory.add(frame)
    if (this.#user === '' || this.#answerDirectly(frame, 1) === 0) this.#run(resolved)
  }

  /** `count` requests that are byte for byte one of before. */
  #again(frame: Frame, count: number): void {
    const { bytes, resolved } = frame
    this.#memory.hit()
    this.session.lastCommand = resolved.name
    const answered = this.#answerDirectly(frame, count)
    this.#decoder.skip((answered || 1) * bytes.length)
    if (answered === 0) this.#run(resolved)
  }

  /** Answers up to `count` requests without their handler; 0 when only that knows the answer. */
  #answerDirectly(frame: Frame, count: number): number {
    try {
      frame.direct ??= frame.resolved.command.direct?.(this.#context, frame.resolved.args)
      if (frame.direct === undefined) return 0
      const answered = this.#take(frame.direct, count)
      // Dry, or dropped and made anew: the handler finds out, and the next request asks again.
      if (answered === 0) frame.direct = undefined
      this.#host.totals.commands += answered
      return answered
    } catch (error) {
      frame.direct = undefined
      this.#host.totals.commands++
      this.#fail(error)
      return 1
    }
  }

  #take(direct: Direct, count: number): number {
    const { output } = this.#host
    const { wideIds } = this.session
    if (wideIds === 'integer') {
      let taken = 0
      for (let got = 1; got > 0 && taken < count; taken += got) {
        got = direct.take(count - taken, run)
        if (got > 0) output.run(run)
      }
      return taken
    }
    // Whether an id can be sent depends on the id: one at a time.
    if (wideIds === 'refused' && !direct.nextIsSafe()) return 0
    if (direct.take(1, run) === 0) return 0
    if (run.hi < safeHi) output.run(run)
    else output.bigNumber(run)
    return 1
  }

  #run({ command, args }: Resolved): void {
    this.#host.totals.commands++
    try {
      if (this.#user === '' && !command.flags.includes('no_auth')) {
        throw new FahaoError('NOAUTH', 'Authentication required.')
      }
      const answer = command.handler!(this.#context, args)
      if (answer instanceof Promise) return this.#wait(answer)
      this.#reply(answer)
    } catch (error) {
      this.#fail(error)
    }
    this.#afterCommand()
  }

  #wait(answer: Promise<Reply>): void {
    this.#waiting = true
    answer.then(
      (reply) => this.#resume(() => this.#reply(reply)),
      (error) => this.#resume(() => this.#fail(error)),
    )
  }

  #resume(answer: () => void): void {
    if (this.#socket.destroyed) return
    this.#waiting = false
    // Several promises may settle in this turn of the event loop: one write for all their replies.
    this.#cork()
    answer()
    this.#afterCommand()
    this.#serve()
  }

  /** A command may have changed who the peer is. */
  #afterCommand(): void {
    const { user } = this.session
    if (user === this.#user) return
    this.#user = user
    this.#decoder.limits = user === '' ? this.#host.unknown : this.#host.known
    this.#memory.clear()
  }

  #reply(reply: Reply): void {
    const { output } = this.#host
    const before = output.length
    try {
      encode(output, reply, this.session)
    } catch (error) {
      output.length = before
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (error instanceof FahaoError) return encodeError(this.#host.output, error.code, error.message)
    this.#host.onError(error, this.session)
    encodeError(this.#host.output, 'ERR', 'internal error')
  }

  #flush(): void {
    const { output, limits, totals } = this.#host
    if (output.length === 0) return
    totals.bytesOut += output.length
    if (this.#waiting) this.#cork()
    const replies = output.take()
    if (typeof replies === 'string') this.#socket.write(replies, 'latin1')
    else this.#socket.write(replies)
    if (this.#socket.writableLength > limits.unreadBytesMax) this.#block()
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
    this.#socket.uncork()
  }

  #block(): void {
    const { clock, limits, totals } = this.#host
    if (this.#blockedBytes > 0) return
    this.#blockedBytes = this.#socket.writableLength
    totals.blockedBytes += this.#blockedBytes
    if (totals.blockedBytes > limits.unreadTotalBytesMax) return this.drop()
    this.#deadlineUs = clock.monoUs() + limits.unreadTimeoutMs * 1000
    this.#adjustReading()
  }

  #unblock(): void {
    if (this.#blockedBytes === 0) return
    this.#host.totals.blockedBytes -= this.#blockedBytes
    this.#blockedBytes = 0
    if (this.#closed) return
    this.#deadlineUs = Number.POSITIVE_INFINITY
    if (!this.#waiting) this.#serve()
  }

  #adjustReading(): void {
    const tooMuch = this.#waiting && this.#decoder.pendingBytes > this.#host.limits.queuedBytesMax
    const wanted = this.#closed || (this.#blockedBytes === 0 && !tooMuch)
    if (wanted === this.#reading) return
    this.#reading = wanted
    if (wanted) this.#socket.resume()
    else this.#socket.pause()
  }

  #askClose(): void {
    this.#closeAsked = true
    if (!this.#working && !this.#waiting) this.#close()
  }

  /**
   * Ends our side and reads on, into nowhere, until the peer ends its own: a socket closed with bytes unread
   * resets the connection, and the peer might lose the last replies.
   */
  #close(): void {
    if (this.#closed) return
    const { clock, limits } = this.#host
    this.#closed = true
    this.#decoder.clear()
    this.#deadlineUs = clock.monoUs() + limits.lingerMs * 1000
    this.#socket.end()
    this.#adjustReading()
  }

  #gone(): void {
    this.#closed = true
    this.#unblock()
    this.#decoder.clear()
    this.#memory.clear()
    this.session.end()
    this.#host.onGone(this)
  }
}
