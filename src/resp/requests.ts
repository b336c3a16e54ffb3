/**
 * The requests of one connection: finds out what each asks for, has it carried out, writes the reply.
 *
 * Invariants
 *  1. Each request gets one reply, after those before it.
 *  2. A request runs only if the permissions of its connection allow its command and every generator that it names; before
 *     authentication, only if its command is marked `no_auth`. Permissions are checked before the handler, and no id is drawn.
 *  3. What is answered in place is answered under the present permissions, in the order of the requests.
 *  4. A reply that fails half way leaves no byte behind; one of ids that has left in part ends the connection.
 *  5. Requests start in the order in which they arrived. Those of which one changes a name that both have do not wait together.
 *  6. A reply of many ids is written a part in each step, and no other reply before it is complete.
 *  7. Requests of a transaction run as those of a pipeline, with its checks and bounds; each writes its part of EXEC's reply.
 *  8. A request is counted once, in the step that writes its reply.
 */
import type { Access } from '../auth/access.ts'
import { adviceIn, clientMark, sayClientCall } from '../base/advice.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { accessWork, isPermitted } from '../commands/access.ts'
import { RepliesOf, type Reply } from '../commands/command.ts'
import type { CommandContext } from '../commands/context.ts'
import { demandRecorded, demandRecordedInTurns } from '../commands/recording.ts'
import type { ResolvedRequest } from '../commands/table.ts'
import { queued } from '../commands/transactions.ts'
import { longCheck, restsAfter, turnBytesMax } from '../listening/turns.ts'
import { IssuedTexts } from '../operations/issued-texts.ts'
import { encode, encodeError, TextsWriter } from './encoder.ts'
import type { Permitted } from './in-place.ts'
import { isHttp } from './inline.ts'
import { NamesUnderWay } from './names-under-way.ts'
import type { Decoded, Decoder, DecoderLimits } from './request-decoder.ts'
import { type RequestHost, workBytes } from './request-host.ts'
import { type Request, RequestReader } from './request-reader.ts'
import type { RespSession } from './session.ts'

/**
 * `answered`: there may be more requests. `more`: none before more bytes arrive. `broken`: the protocol error is the
 * last reply. `http`: the client must get no reply. A promise: pass its result to `answer` or `fail` before the next.
 */
export type Progress = 'answered' | 'more' | 'broken' | 'http' | Promise<Reply>

/** The requests of one connection. */
export class Requests {
  /** Whether others may start while the request whose promise was returned last waits. */
  isOverlapping = false
  readonly #session: RespSession
  readonly #host: RequestHost
  readonly #context: CommandContext
  readonly #reader: RequestReader
  readonly #underWay = new NamesUnderWay()
  /** What has been read, and must not start while the requests before it wait. */
  #deferred: (() => Progress) | undefined
  /** A reply that is written in part. */
  #unfinished: TextsWriter | undefined
  /** The permissions that the limits of #reader stand for, and what they permit to answer in place. */
  #access: Access
  #permitted: Permitted | undefined

  constructor(session: RespSession, host: RequestHost) {
    this.#session = session
    this.#host = host
    this.#context = host.context(session)
    this.#access = session.access
    this.#permitted = host.inPlace?.permitted(session.access)
    this.#reader = new RequestReader(this.#limits(), host.table)
  }

  /** The decoder of the bytes that the client sends. */
  get decoder(): Decoder {
    return this.#reader.input
  }

  /** Whether the newest reply is not complete; `advance` writes its next part. */
  get isReplying(): boolean {
    return this.#unfinished !== undefined || this.#reader.inTransaction
  }

  /** Answers the next request, or several that are alike; or writes the next part of the current reply. */
  advance(): Progress {
    if (this.#unfinished !== undefined) return this.#writePart(this.#unfinished)
    if (this.#deferred !== undefined) return this.#startDeferred(this.#deferred)
    if (this.#answerInPlace()) return this.decoder.pendingBytes === 0 ? 'more' : 'answered'
    return this.#read(this.#reader.next())
  }

  /**
   * Starts the next request while earlier ones, which may overlap too, wait for their replies. Undefined: there is
   * none, or it may not overlap.
   */
  startOverlapping(): Promise<Reply> | undefined {
    if (this.#deferred !== undefined) return undefined
    const request = this.#next()
    if (request === undefined) return undefined
    const { command, args } = request.resolved
    if (!this.#mayOverlap(request.resolved)) {
      this.#deferred = () => this.#run(request)
      return undefined
    }
    this.#session.lastCommand = request.resolved.name
    this.#host.turns.spend(workBytes.awaited)
    const reply = startOf(() => command.handler!(this.#context, args))
    this.#wait(request.resolved, reply)
    return reply
  }

  /** Writes the reply of a command, which is counted: one that is queued when it runs. */
  answer(reply: Reply): void {
    if (reply !== queued) this.#host.totals.commands++
    this.#write(reply)
  }

  #write(reply: Reply): void {
    this.#complete()
    const { output } = this.#host
    const before = output.length
    try {
      const element = this.#reader.element(reply)
      if (element instanceof IssuedTexts) this.#begin(element)
      else encode(output, element, this.#session)
      if (element instanceof RepliesOf) this.#reader.enter(element)
    } catch (error) {
      output.length = before
      this.#writeError(error)
    }
    this.refreshAccess()
  }

  /** Writes the error of a command, which is counted. */
  fail(error: unknown): void {
    this.#host.totals.commands++
    this.#complete()
    this.#writeError(error)
    this.refreshAccess()
  }

  /** Drops input and the transaction. */
  clear(): void {
    this.#deferred = undefined
    this.#unfinished = undefined
    this.#reader.clear()
    this.#session.transaction.clear()
  }

  #begin(reply: IssuedTexts): void {
    const { output, turns } = this.#host
    const texts = new TextsWriter(output, reply)
    if (turns.over) this.#unfinished = texts
    else this.#writePart(texts)
  }

  /** Writes the next part of a reply. */
  #writePart(texts: TextsWriter): 'answered' {
    const { output, turns } = this.#host
    this.#unfinished = undefined
    turns.spend(texts.writePart(output))
    if (!texts.done) this.#unfinished = texts
    return 'answered'
  }

  /** Writes the rest of the current reply. */
  #complete(): void {
    while (this.#unfinished !== undefined) this.#writePart(this.#unfinished)
  }

  #startDeferred(deferred: () => Progress): Progress {
    this.#deferred = undefined
    return deferred()
  }

  /** The next request; undefined if there is none, or what is there instead is deferred. */
  #next(): Request | undefined {
    const decoded = this.#reader.next()
    if (decoded === 'more') return undefined
    const request = decoded === 'frame' ? this.#resolveFrame() : () => this.#read(decoded)
    if (typeof request !== 'function') return request
    this.#deferred = request
    return undefined
  }

  #read(decoded: Decoded): Progress {
    if (decoded === 'frame') {
      const request = this.#resolveFrame()
      return typeof request === 'function' ? request() : this.#run(request)
    }
    if (decoded === 'more' && this.#reader.inTransaction) return this.#endTransaction()
    if (decoded !== 'error') return decoded
    this.#host.figures.failed('ERR')
    encodeError(this.#host.output, 'ERR', this.decoder.failure)
    return 'broken'
  }

  /** The request of a frame, or what to do with a frame that asks for no command. */
  #resolveFrame(): Request | (() => Progress) {
    if (this.decoder.inline) this.#host.turns.spend(this.decoder.frame().length * workBytes.inline)
    try {
      return this.#reader.resolve()
    } catch (error) {
      const words = this.#reader.words()
      if (isHttp(words)) return () => 'http'
      const word = Buffer.from(words[0]!).toString('latin1').toLowerCase()
      return () => this.#refuse(error, word)
    }
  }

  /** Answers requests without their handlers. Returns whether there was one. */
  #answerInPlace(): boolean {
    const { inPlace, totals } = this.#host
    if (inPlace === undefined || this.#session.transaction.isOpen || this.#reader.inTransaction) return false
    try {
      const answered = inPlace.answer(this.decoder, this.#session, this.#permitted!)
      totals.commands += answered
      return answered > 0
    } catch (error) {
      // Its handler answers the request at which this happened.
      this.#host.onError(error, this.#session)
      return false
    }
  }

  #run(request: Request): Progress {
    const { args, name } = request.resolved
    this.#session.lastCommand = name
    const checking = this.#checkingWork(request)
    this.#host.turns.spend(workBytes.command + request.bytes.length + (checking > longCheck ? 0 : checking))
    if (checking > longCheck) {
      this.isOverlapping = false
      return this.#runChecked(request)
    }
    try {
      if (!isPermitted(this.#access, request.resolved))
        demandRecorded(this.#access, this.#context, request.resolved)
      request.permittedBy = this.#access
    } catch (error) {
      return this.#refuse(error, name)
    }
    try {
      const isQueued = this.#session.transaction.holds(name)
      const reply = isQueued ? this.#queue(request) : this.#start(request.resolved)
      if (reply instanceof Promise) {
        this.isOverlapping = this.#mayOverlap(request.resolved)
        if (this.isOverlapping) this.#wait(request.resolved, reply)
        else this.#host.turns.spend(args.length * workBytes.awaited)
        return reply
      }
      this.answer(reply)
    } catch (error) {
      this.fail(error)
    }
    return 'answered'
  }

  /** Runs a request whose names are many, or are compared with long patterns, once they have been checked in turns. */
  async #runChecked(request: Request): Promise<Reply> {
    const { session } = this.#context
    const { name } = request.resolved
    // The permissions may change meanwhile.
    while (request.permittedBy !== this.#access) {
      const access = this.#access
      try {
        await demandRecordedInTurns(access, this.#context, request.resolved)
      } catch (error) {
        throw this.#session.transaction.refused(error, name)
      }
      request.permittedBy = access
    }
    session.signal.throwIfAborted()
    this.#host.mayIssue()
    return this.#session.transaction.holds(name) ? this.#queue(request) : this.#start(request.resolved)
  }

  /** The time to find out whether the request may run, as the bytes of a reply that take as long. */
  #checkingWork({ permittedBy, resolved }: Request): number {
    return permittedBy === this.#access ? 0 : accessWork(this.#access, resolved)
  }

  /** Answers a request that may not run. */
  #refuse(error: unknown, word: string): 'answered' {
    this.fail(this.#session.transaction.refused(error, word))
    return 'answered'
  }

  #start(request: ResolvedRequest): Reply | Promise<Reply> {
    this.#spendInAdvance(request)
    return request.command.handler!(this.#context, request.args)
  }

  #queue({ bytes, resolved: { command, args } }: Request): Reply | Promise<Reply> {
    const queueing = this.#session.transaction.queue(bytes, () => command.placed?.(this.#context, args))
    return queueing === undefined ? queued : queueing.then(() => queued)
  }

  #endTransaction(): 'answered' {
    this.#session.transaction.clear()
    this.#write(this.#reader.leave())
    return 'answered'
  }

  /** Counts the ids that a command is about to draw, so that few such commands start in one turn. */
  #spendInAdvance({ command, args }: ResolvedRequest): void {
    const work = command.work?.(args) ?? 0n
    if (work > 1n) this.#host.turns.spend(Math.min(Number(work) * workBytes.drawn, turnBytesMax))
  }

  /** Has other requests wait for one that has started, or start while it waits: see `NamesUnderWay`. */
  #wait({ command, args }: ResolvedRequest, reply: Promise<Reply>): void {
    this.#underWay.start(args.text(0), command.change !== undefined, reply)
  }

  /** Never throws: errors of permissions and arguments are reported when the request starts. */
  #mayOverlap(request: ResolvedRequest): boolean {
    if (this.#session.transaction.isOpen || accessWork(this.#access, request) > longCheck) return false
    if (!isPermitted(this.#access, request)) return false
    const { command, args } = request
    try {
      const overlaps = command.overlaps?.(this.#context, args) ?? false
      return overlaps && this.#underWay.mayStart(args.text(0), command.change !== undefined)
    } catch (error) {
      if (!(error instanceof FahaoError)) this.#host.onError(error, this.#session)
      return false
    }
  }

  #writeError(error: unknown): void {
    const { output, turns, figures } = this.#host
    figures.failed(error instanceof FahaoError ? error.code : 'ERR')
    turns.spend(workBytes.error)
    this.#session.refused ||= restsAfter(error)
    if (hasCode(error, 'NOAUTH')) this.#session.unauthenticated.count()
    if (error instanceof FahaoError) {
      const { access, libraryName } = this.#session
      const advice = libraryName.includes(clientMark) ? adviceIn(sayClientCall, error) : undefined
      const message = advice ?? error.messageFor((pattern) => access.reaches(pattern))
      return encodeError(output, error.code, message)
    }
    this.#host.onError(error, this.#session)
    encodeError(output, 'ERR', 'internal error')
  }

  /** Call it when the permissions of the session may have changed. */
  refreshAccess(): void {
    if (this.#session.access === this.#access) return
    this.#access = this.#session.access
    this.#permitted = this.#host.inPlace?.permitted(this.#access)
    this.#reader.input.limits = this.#limits()
  }

  #limits(): DecoderLimits {
    return this.#access.user === '' ? this.#host.unauthenticatedLimits : this.#host.userLimits
  }
}

/** What a handler returns or throws, as a promise. */
async function startOf(handler: () => Reply | Promise<Reply>): Promise<Reply> {
  return handler()
}
