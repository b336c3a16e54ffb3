/**
 * Follows the server's replies, so that it is known at each packet which command it answers.
 *
 * Invariants
 *  1. The replies come in the order of the commands. The first of `#expected` is being answered.
 *  2. A reply of our own leaves after the last packet of the reply before it, and before the next packet of the server.
 *  3. Bytes of the server that answer no command, or that fit no reply, end the connection if ids are filled in. Otherwise
 *     they make both directions opaque: they are passed on, and nothing is read any more.
 *  4. The packets that a filter receives do not reach the client, except for what the filter returns.
 *  5. The reply to a question of the proxy takes at most `bytesMax`.
 *
 * The forms of replies: MySQL's manual, "Command Phase", and MariaDB's, "Server response packets".
 */
import { readOk } from './ok-packet.ts'
import { type Judgement, PacketWalker } from './packet-walker.ts'
import { headerBytes, lengthOfInteger, partBytesMax, readInteger, serverStatus } from './protocol.ts'
import type { ReplyFilter, ReplyForm } from './reply-filter.ts'

/** A reply that is expected: the server's, or one of our own. */
type Expected = ReplyForm | (ReplyFilter & { readonly sequenceShift?: number }) | Uint8Array

/** What the replies need to know and to tell. */
export interface ReplyHost {
  /** Whether results end without an EOF packet behind the definitions of columns. */
  readonly deprecatesEof: boolean
  /** Whether the definitions of columns can be left out, as MariaDB does for a client that has them. */
  readonly cachesMetadata: boolean
  /** Whether OK packets tell of changes of the session. */
  readonly tracksSession: boolean
  /** Whether a stream that is not understood ends the connection, because ids are filled in. */
  readonly mustUnderstand: boolean
  /** Sends to the client. `isAll`: nothing of this turn follows. */
  toClient(bytes: Uint8Array): void
  /** The server asks for a local file. */
  expectFile(): void
  /** The client's packets are answers to the server's authentication, or commands again. */
  setExchanging(isExchanging: boolean): void
  /** The server has prepared a statement of the client, which has this number; or has refused it. */
  prepared(statement: number | undefined): void
  /** Makes both directions opaque. */
  becomeOpaque(): void
  /**
   * Nothing of the server can be understood any more.
   * @param sequence the number of the packet that the client waits for.
   * @param cause why a filter has not understood it.
   */
  lost(sequence: number, cause: unknown): void
}

/** An EOF packet: 0xfe, the number of warnings, status. */
const eofBytes = 5
/** What a packet of a reply to a question costs beside its bytes. */
const packetCostBytes = 128
/** The shortest reply to COM_STMT_PREPARE: 0x00, the statement, how many columns and parameters it has. */
const preparedBytes = 9

/** The next packet of the present reply. */
type State = 'first' | 'definitions' | 'definitionsEnd' | 'rows' | 'counted'

/** The server's direction. */
export class Replies extends PacketWalker {
  readonly #host: ReplyHost
  readonly #expected: Expected[] = []
  #state: State = 'first'
  /** Packets until the state changes. */
  #count = 0
  /** The present packet is the last one of its reply. */
  #isLast = false
  /** The present packet is an OK packet. */
  #isOk = false
  /** The present packet cannot be understood. */
  #isLost = false
  /** The sequence number of the packet that the client waits for. */
  #sequence = 0
  /** Bytes of the present reply, if the proxy has asked for it. */
  #answerBytes = 0
  /** Of the newest OK or EOF packet. */
  #status = 0

  constructor(host: ReplyHost) {
    super()
    this.#host = host
  }

  /** Commands that have not been answered completely. */
  get outstanding(): number {
    return this.#expected.length
  }

  /** Whether the session was in a transaction when the server told so last. */
  get isInTransaction(): boolean {
    return (this.#status & serverStatus.inTransaction) !== 0
  }

  /** Takes the status flags that the server has sent. */
  set status(flags: number) {
    this.#status = flags
  }

  /** A command of the client is on its way to the server as it is. */
  expect(form: ReplyForm): void {
    this.#expected.push(form)
  }

  /** A command is on its way to the server. `sequenceShift` is added to the sequence numbers of its reply. */
  filter(reply: ReplyFilter, sequenceShift = 0): void {
    this.#expected.push(sequenceShift === 0 ? reply : { ...reply, sequenceShift })
  }

  /** Sends `reply` to the client, once the commands before it have been answered. */
  answer(reply: Buffer): void {
    this.#expected.push(reply)
    if (this.#expected.length === 1 && this.isBetweenPackets) this.insert()
  }

  protected judge(bytes: Buffer, at: number, length: number): Judgement {
    const expected = this.#expected[0]
    this.#sequence = bytes[at + 3]!
    if (expected === undefined || expected instanceof Uint8Array || length === 0)
      return this.#judgeUnexpected(bytes, at, length)
    const filter = typeof expected === 'object' ? expected : undefined
    const form = filter?.form ?? (expected as ReplyForm)
    this.sequenceShift = filter?.sequenceShift ?? 0
    this.#isOk = this.#state === 'first' && form === 'results' && bytes[at + headerBytes] === 0
    this.#isLast = this.#follow(form, bytes, at, length)
    const isHeld = filter !== undefined && this.#isReceived(filter, length)
    if (this.#isLost) return this.#lose()
    return isHeld ? 'hold' : 'pass'
  }

  protected pass(bytes: Buffer): void {
    this.#host.toClient(bytes)
  }

  protected passed(): boolean {
    if (!this.#isLast) return false
    this.#next()
    return this.#expected[0] instanceof Uint8Array
  }

  protected insert(): void {
    while (this.#expected[0] instanceof Uint8Array) {
      this.#host.toClient(this.#expected[0])
      this.#drop()
    }
  }

  protected whole(bytes: Buffer): void {
    const filter = this.#expected[0] as ReplyFilter
    const isLast = this.#isLast
    if (isLast) this.#next()
    let given: Buffer | undefined
    try {
      const ok = this.#isOk ? readOk(bytes, this.#host.tracksSession) : undefined
      given = filter.packet(bytes, isLast, ok)
    } catch (cause) {
      // The packet is cut, or is no answer to the question.
      this.stop()
      return this.#host.lost(this.#sequence, cause)
    }
    if (given !== undefined) this.#host.toClient(given)
    if (isLast) this.insert()
  }

  protected holding(): void {}

  protected stopped(): void {
    this.#host.lost(this.#sequence, undefined)
  }

  /** `shift` is a call out of compiled code, also for an array of one, which most are. */
  #drop(): void {
    if (this.#expected.length === 1) this.#expected.pop()
    else this.#expected.shift()
  }

  #next(): void {
    this.#drop()
    this.#isLast = false
    this.#state = 'first'
    this.#answerBytes = 0
  }

  /** A server may say why it ends a connection, although no command waits. */
  #judgeUnexpected(bytes: Buffer, at: number, length: number): Judgement {
    const isError = length > 0 && bytes[at + headerBytes] === 0xff && this.#expected.length === 0
    return isError && this.#host.mustUnderstand ? 'pass' : this.#lose()
  }

  /** Whether the filter receives the present packet. A longer one than any that it knows is never held. */
  #isReceived({ receives, bytesMax }: ReplyFilter, length: number): boolean {
    if (bytesMax !== undefined) {
      // The client waits for the reply to its own command.
      this.#sequence = 1
      this.#answerBytes += length + packetCostBytes
      if (this.#answerBytes > bytesMax) this.#isLost = true
    }
    const isHeld = receives === 'all' || (receives === 'ok' && this.#isOk)
    if (isHeld && length === partBytesMax) this.#isLost = true
    return isHeld
  }

  #lose(): Judgement {
    this.#isLast = false
    if (this.#host.mustUnderstand) return 'stop'
    this.#host.becomeOpaque()
    return 'pass'
  }

  /** The packet is too short for what it says, so what follows cannot be known. */
  #isCut(): boolean {
    this.#isLost = true
    return false
  }

  /** Whether the proxy itself waits for the present reply. */
  get #isQuestion(): boolean {
    const expected = this.#expected[0]
    return typeof expected === 'object' && 'bytesMax' in expected && expected.bytesMax !== undefined
  }

  /** Follows one packet of a reply. Returns whether it is the last one. */
  #follow(form: ReplyForm, bytes: Buffer, at: number, length: number): boolean {
    const first = bytes[at + headerBytes]!
    // A report of MariaDB on the progress of a statement has the form of an error with this number.
    if (first === 0xff && length >= 3 && bytes.readUInt16LE(at + headerBytes + 1) === 0xffff) return false
    if (form === 'packet') {
      if (first === 0) this.#endResult(bytes, at, length)
      return true
    }
    if (form === 'rows') return this.#isEnd(first, length) && this.#endRows(bytes, at, length)
    if (this.#state === 'rows') return this.#isEnd(first, length) && this.#endRows(bytes, at, length)
    if (this.#state === 'counted') return --this.#count === 0
    if (this.#state === 'definitions') return this.#countDefinition()
    if (this.#state === 'definitionsEnd') return this.#endDefinitions(bytes, at, length)
    if (form === 'authentication') {
      if (first === 0) this.#endResult(bytes, at, length)
      return this.#authenticate(first)
    }
    return form === 'prepare'
      ? this.#prepared(first, bytes, at, length)
      : this.#begin(first, bytes, at, length)
  }

  /** The first packet of a result. */
  #begin(first: number, bytes: Buffer, at: number, length: number): boolean {
    if (first === 0xff) return true
    if (first === 0) return this.#endResult(bytes, at, length)
    if (first === 0xfb) {
      // The file would come where another command is on its way, or the proxy has no file.
      if (this.#expected.length > 1 || this.#isQuestion) this.#isLost = true
      else this.#host.expectFile()
      return false
    }
    if (length < lengthOfInteger(first)) return this.#isCut()
    const payload = at + headerBytes
    const flag = payload + lengthOfInteger(first)
    const isBare = this.#host.cachesMetadata && flag < payload + length && bytes[flag] === 0
    this.#count = isBare ? 0 : readInteger(bytes, payload)
    this.#state = 'definitions'
    if (isBare) this.#leaveDefinitions()
    return false
  }

  #countDefinition(): boolean {
    if (--this.#count === 0) this.#leaveDefinitions()
    return false
  }

  #leaveDefinitions(): void {
    this.#state = this.#host.deprecatesEof ? 'rows' : 'definitionsEnd'
  }

  /** With a cursor the rows come with COM_STMT_FETCH. */
  #endDefinitions(bytes: Buffer, at: number, length: number): boolean {
    const first = bytes[at + headerBytes]!
    if (first === 0xff) return true
    if (length < eofBytes) return this.#isCut()
    this.#status = bytes.readUInt16LE(at + headerBytes + 3)
    if ((this.#status & serverStatus.cursorExists) !== 0) return this.#isLastResult()
    this.#state = 'rows'
    return false
  }

  /** Whether a packet among rows is none: a row can begin with 0xfe only if its first value needs a long packet. */
  #isEnd(first: number, length: number): boolean {
    if (first === 0xff) return true
    return first === 0xfe && length < (this.#host.deprecatesEof ? partBytesMax : 9)
  }

  #endRows(bytes: Buffer, at: number, length: number): boolean {
    if (bytes[at + headerBytes] === 0xff) return true
    if (this.#host.deprecatesEof && length >= 7) return this.#endResult(bytes, at, length)
    if (length < eofBytes) return this.#isCut()
    this.#status = bytes.readUInt16LE(at + headerBytes + 3)
    return this.#isLastResult()
  }

  /** An OK packet: 0x00 or 0xfe, affected rows, insert id, status. */
  #endResult(bytes: Buffer, at: number, length: number): boolean {
    let status = at + headerBytes + 1
    status += lengthOfInteger(bytes[status]!)
    status += lengthOfInteger(bytes[status]!)
    if (status + 2 <= at + headerBytes + length) this.#status = bytes.readUInt16LE(status)
    return this.#isLastResult()
  }

  #isLastResult(): boolean {
    this.#state = 'first'
    return (this.#status & serverStatus.moreResults) === 0
  }

  #authenticate(first: number): boolean {
    const isLast = first === 0 || first === 0xff
    if (!isLast && this.#expected.length > 1) this.#isLost = true
    else this.#host.setExchanging(!isLast)
    return isLast
  }

  /** 0x00, the statement, how many columns and parameters it has. The definitions of both follow. */
  #prepared(first: number, bytes: Buffer, at: number, length: number): boolean {
    if (first !== 0) {
      if (!this.#isQuestion) this.#host.prepared(undefined)
      return true
    }
    if (length < preparedBytes) return this.#isCut()
    if (!this.#isQuestion) this.#host.prepared(bytes.readUInt32LE(at + headerBytes + 1))
    const columns = bytes.readUInt16LE(at + headerBytes + 5)
    const parameters = bytes.readUInt16LE(at + headerBytes + 7)
    const end = this.#host.deprecatesEof ? 0 : 1
    this.#count = (columns > 0 ? columns + end : 0) + (parameters > 0 ? parameters + end : 0)
    this.#state = 'counted'
    return this.#count === 0
  }
}
