/**
 * One connection's requests, from bytes to replies in the output.
 *
 * Invariants
 *  1. Each request gets one reply, after those before it.
 *  2. A request of a peer that must authenticate first runs only if its command is marked `no_auth`.
 *  3. What a request that was seen before means is remembered for one user only.
 *  4. A reply that fails half way leaves no byte behind; one of ids that has left in part ends the connection.
 *  5. Requests start in the order in which they came.
 *  6. A reply of many ids is written a part in each step, and no other reply before it is whole.
 */
import { FahaoError } from '../base/errors.ts'
import { type Direct, IssuedTexts, type Reply } from '../commands/command.ts'
import type { CommandContext, Session } from '../commands/context.ts'
import type { CommandTable, Resolved } from '../commands/table.ts'
import { Run } from '../ids/run.ts'
import { type Turns, turnBytesMax } from '../node/turns.ts'
import { type Decoded, Decoder, type DecoderLimits } from './decoder.ts'
import { encode, encodeError, encodeRun } from './encoder.ts'
import { isHttp } from './inline.ts'
import { TextsUnderWay } from './issued-texts.ts'
import { type KnownRequests, knownBytesMax, type RecentRequest, RecentRequests } from './known.ts'
import type { Output } from './output.ts'
import type { RespSession } from './session.ts'

/** What the requests of all connections share. */
export type RequestHost = {
  readonly table: CommandTable
  readonly known: KnownRequests
  /** In force for users, and for those who must become one first. */
  readonly userLimits: DecoderLimits
  readonly strangerLimits: DecoderLimits
  readonly output: Output
  readonly turns: Turns
  readonly totals: { commands: number }
  context(session: Session): CommandContext
  /** Told of what a handler threw that is no FahaoError. */
  onError(error: unknown, session?: Session): void
}

/**
 * `answered`: there may be more. `more`: not before more bytes come. `broken`: the protocol error is the last
 * reply. `http`: the peer may get no reply. A promise: pass what it says to `answer` or `fail` before the next.
 */
export type Step = 'answered' | 'more' | 'broken' | 'http' | Promise<Reply>

/** What it takes to draw an id of many at most: replies of so many bytes take as long. */
const drawnBytes = 8
/** What a command with a promise for an answer takes for each argument: replies of so many bytes take as long. */
const awaitedBytes = 256
/** Filled and emptied within one call. */
const run = new Run()

/** See the invariants at the top of the file. */
export class Requests {
  readonly decoder: Decoder
  /** Whether others may start while the request whose promise was returned last waits. */
  overlapping = false
  readonly #session: RespSession
  readonly #host: RequestHost
  readonly #context: CommandContext
  readonly #recent = new RecentRequests()
  /** What has been read and may not start while those before it wait. */
  #held: (() => Step) | undefined
  /** A reply of which a part is written. */
  #unfinished: TextsUnderWay | undefined
  /** Whom #recent and the decoder's limits are for. Empty: nobody yet. */
  #user: string

  constructor(session: RespSession, host: RequestHost) {
    this.#session = session
    this.#host = host
    this.#context = host.context(session)
    this.#user = session.user
    this.decoder = new Decoder(this.#limits())
  }

  /** Whether the reply written last is not whole: `step` goes on with it. */
  get replying(): boolean {
    return this.#unfinished !== undefined
  }

  /** Answers the next request, or several that are alike; or goes on with the reply to the one before. */
  step(): Step {
    if (this.#unfinished !== undefined) return this.#reply(this.#unfinished)
    if (this.#held !== undefined) return this.#letGo(this.#held)
    const { all } = this.#recent
    for (let index = 0; index < all.length; index++) {
      const request = all[index]!
      const count = this.decoder.countRepeats(request.bytes, request.direct ? Number.POSITIVE_INFINITY : 1)
      if (count > 0) return this.#again(request, count)
    }
    return this.#read(this.decoder.next())
  }

  /**
   * Starts the next request while those before it, which overlap as well, wait for their answers. Undefined: there is
   * none, or it is not for now.
   */
  stepBehind(): Promise<Reply> | undefined {
    if (this.#held !== undefined) return undefined
    const request = this.#next()
    if (request === undefined) return undefined
    const { command, args } = request.resolved
    if (this.#user === '' || !this.#overlaps(request.resolved)) {
      this.#held = () => this.#answerFirst(request)
      return undefined
    }
    this.#session.lastCommand = request.resolved.name
    this.#host.totals.commands++
    return startOf(() => command.handler!(this.#context, args))
  }

  /** Writes what a command answered. */
  answer(reply: Reply): void {
    this.#complete()
    const { output } = this.#host
    const before = output.length
    try {
      if (reply instanceof IssuedTexts) this.#begin(reply)
      else encode(output, reply, this.#session)
    } catch (error) {
      output.length = before
      this.#writeError(error)
    }
    this.#checkUser()
  }

  /** Writes why a command failed. */
  fail(error: unknown): void {
    this.#complete()
    this.#writeError(error)
    this.#checkUser()
  }

  /** Lets go of everything. */
  clear(): void {
    this.#held = undefined
    this.#unfinished = undefined
    this.decoder.clear()
    this.#recent.clear()
  }

  #begin(reply: IssuedTexts): void {
    const { output, turns } = this.#host
    const texts = new TextsUnderWay(output, reply)
    if (turns.over) this.#unfinished = texts
    else this.#reply(texts)
  }

  /** Writes the next part of a reply. */
  #reply(texts: TextsUnderWay): 'answered' {
    const { output, turns } = this.#host
    this.#unfinished = undefined
    turns.spend(texts.writePart(output))
    if (!texts.done) this.#unfinished = texts
    return 'answered'
  }

  /** Writes all that is left of the reply under way. */
  #complete(): void {
    while (this.#unfinished !== undefined) this.#reply(this.#unfinished)
  }

  #letGo(held: () => Step): Step {
    this.#held = undefined
    return held()
  }

  /** The next request; undefined when there is none, or what there is instead is held. */
  #next(): RecentRequest | undefined {
    const known = this.#recent.all.find(({ bytes }) => this.decoder.countRepeats(bytes, 1) > 0)
    if (known !== undefined) {
      this.decoder.consume(known.bytes.length)
      return known
    }
    const decoded = this.decoder.next()
    if (decoded === 'more') return undefined
    const request = decoded === 'frame' ? this.#first() : () => this.#read(decoded)
    if (typeof request !== 'function') return request
    this.#held = request
    return undefined
  }

  #read(decoded: Decoded): Step {
    if (decoded === 'frame') {
      const request = this.#first()
      return typeof request === 'function' ? request() : this.#answerFirst(request)
    }
    if (decoded !== 'error') return decoded
    encodeError(this.#host.output, 'ERR', this.decoder.failure)
    return 'broken'
  }

  /** A request that is not one of this connection's newest, or what to do about one that is none. */
  #first(): RecentRequest | (() => Step) {
    try {
      return this.#recognise()
    } catch (error) {
      if (isHttp(this.decoder.parts())) return () => 'http'
      return () => {
        this.#host.totals.commands++
        this.#writeError(error)
        return 'answered'
      }
    }
  }

  #answerFirst(request: RecentRequest): Step {
    this.#session.lastCommand = request.resolved.name
    if (this.#user !== '' && this.#answerDirectly(request, 1) > 0) return 'answered'
    return this.#run(request.resolved)
  }

  /** Finds what the request asks for, and remembers it where that is worth it. */
  #recognise(): RecentRequest {
    const { decoder } = this
    const { known, table } = this.#host
    const frame = decoder.frame()
    if (this.#user === '' || decoder.inline || frame.length > knownBytesMax) {
      return { bytes: frame, resolved: table.resolve(decoder.parts()), direct: undefined }
    }
    const text = frame.toString('latin1')
    let found = known.get(text)
    if (found === undefined) {
      const bytes = Uint8Array.from(frame)
      found = { bytes, resolved: table.resolve(decoder.partsIn(bytes)) }
      known.add(text, found)
    }
    const request = { ...found, direct: undefined }
    this.#recent.add(request)
    return request
  }

  /** `count` requests that are byte for byte one of before. */
  #again(request: RecentRequest, count: number): Step {
    this.#session.lastCommand = request.resolved.name
    const answered = this.#answerDirectly(request, count)
    this.decoder.consume((answered || 1) * request.bytes.length)
    return answered > 0 ? 'answered' : this.#run(request.resolved)
  }

  /** Answers up to `count` requests without their handler; 0 when only that knows the answer. */
  #answerDirectly(request: RecentRequest, count: number): number {
    let answered = 0
    try {
      request.direct ??= request.resolved.command.direct?.(this.#context, request.resolved.args)
      while (request.direct !== undefined && answered < count) {
        const taken = this.#take(request.direct, count - answered)
        // Dry, or dropped and made anew: the handler finds out, and the next request asks again.
        if (taken === 0) request.direct = undefined
        answered += taken
      }
    } catch (error) {
      request.direct = undefined
      this.#writeError(error)
      answered++
    }
    this.#host.totals.commands += answered
    return answered
  }

  #take(direct: Direct, count: number): number {
    const { wideIds } = this.#session
    // The handler refuses a generator past the line, and uses up no id.
    if (wideIds === 'refused' && !direct.nextIsSafe()) return 0
    const taken = direct.take(count, run)
    if (taken > 0) encodeRun(this.#host.output, run, wideIds)
    return taken
  }

  #run(request: Resolved): Step {
    const { command, args } = request
    this.#host.totals.commands++
    try {
      if (this.#user === '' && !command.flags.includes('no_auth')) {
        throw new FahaoError('NOAUTH', 'Authentication required.')
      }
      this.#announce(request)
      const reply = command.handler!(this.#context, args)
      if (reply instanceof Promise) {
        this.overlapping = this.#overlaps(request)
        if (!this.overlapping) this.#host.turns.spend(args.length * awaitedBytes)
        return reply
      }
      this.answer(reply)
    } catch (error) {
      this.fail(error)
    }
    return 'answered'
  }

  /** Counts what a command is about to draw, in advance, so that few of them start in one turn. */
  #announce({ command, args }: Resolved): void {
    const work = command.work?.(args) ?? 0n
    if (work > 1n) this.#host.turns.spend(Math.min(Number(work) * drawnBytes, turnBytesMax))
  }

  /** Never throws: what is wrong with the arguments is for the handler to say, in the turn of the request. */
  #overlaps({ command, args }: Resolved): boolean {
    try {
      return command.overlaps?.(this.#context, args) ?? false
    } catch (error) {
      if (!(error instanceof FahaoError)) this.#host.onError(error, this.#session)
      return false
    }
  }

  #writeError(error: unknown): void {
    if (error instanceof FahaoError) return encodeError(this.#host.output, error.code, error.message)
    this.#host.onError(error, this.#session)
    encodeError(this.#host.output, 'ERR', 'internal error')
  }

  /** A command may have changed who the peer is. */
  #checkUser(): void {
    if (this.#session.user === this.#user) return
    this.#user = this.#session.user
    this.decoder.limits = this.#limits()
    this.#recent.clear()
  }

  #limits(): DecoderLimits {
    return this.#user === '' ? this.#host.strangerLimits : this.#host.userLimits
  }
}

/** What a handler answers or throws, as a promise. */
async function startOf(handler: () => Reply | Promise<Reply>): Promise<Reply> {
  return handler()
}
