/**
 * Follows the server's replies, so that it is known at each packet which command it answers.
 *
 * Invariants
 *  1. The replies come in the order of the commands. The first of `#expected` is being answered.
 *  2. A reply of our own leaves after the last packet of the reply before it, and before the next packet of the server.
 *  3. Bytes of the server that answer no command, or that fit no reply, end the connection.
 *  4. The packets that a filter receives do not reach the client, except for what the filter returns.
 *  5. The reply to a question of the proxy takes at most `bytesMax`.
 *
 * The forms of replies: MySQL's manual, "Command Phase", and MariaDB's, "Server response packets".
 */
import type { ReplyFilter, ReplyForm } from './exchange.ts'
import { type Holding, type Judgement, PacketWalker } from './packet-walker.ts'
import { headerBytes, lengthOfInteger, partBytesMax, readInteger, serverStatus } from './protocol.ts'

/** A reply that is expected: the server's, or one of our own. */
type Expected = ReplyForm | (ReplyFilter & { readonly sequenceShift?: number }) | Uint8Array

/** What the replies need to tell. */
export interface ReplyHost {
  toClient(bytes: Uint8Array): void
  /** The client's next packets are a file's contents, answers to the server's authentication, or commands again. */
  clientSends(mode: 'file' | 'exchange' | 'commands'): void
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
  readonly #deprecatesEof: boolean
  readonly #host: ReplyHost
  readonly #expected: Expected[] = []
  #state: State = 'first'
  /** Packets until the state changes. */
  #count = 0
  /** The present packet is the last one of its reply. */
  #isLast = false
  /** The present packet is an OK or ERR packet of results. */
  #isOutcome = false
  /** The present packet cannot be understood. */
  #isLost = false
  /** The sequence number of the packet that the client waits for. */
  #sequence = 0
  /** Bytes of the present reply, if the proxy has asked for it. */
  #answerBytes = 0
  /** The status of the newest OK or EOF packet. */
  #status = 0

  /**
   * @param deprecatesEof whether results end without an EOF packet behind the definitions of columns.
   * @param status flags that the server has sent.
   */
  constructor(deprecatesEof: boolean, status: number, host: ReplyHost) {
    super()
    this.#deprecatesEof = deprecatesEof
    this.#status = status
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
    if (expected === undefined || expected instanceof Uint8Array || length === 0) {
      // A server may say why it ends a connection, although no command waits.
      const isError = length > 0 && bytes[at + headerBytes] === 0xff && expected === undefined
      return isError ? 'pass' : 'stop'
    }
    const filter = typeof expected === 'object' ? expected : undefined
    const form = filter?.form ?? (expected as ReplyForm)
    this.sequenceShift = filter?.sequenceShift ?? 0
    const first = bytes[at + headerBytes]
    this.#isOutcome = this.#state === 'first' && form === 'results' && (first === 0 || first === 0xff)
    this.#isLast = this.#follow(form, bytes, at, length)
    const isHeld = filter !== undefined && this.#isReceived(filter, length)
    if (this.#isLost) return 'stop'
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
      given = filter.packet(bytes, isLast)
    } catch (cause) {
      // The packet is cut, or is no answer to the question.
      this.stop()
      return this.#host.lost(this.#sequence, cause)
    }
    if (given !== undefined) this.#host.toClient(given)
    if (isLast) this.insert()
  }

  protected holding(): Holding {
    return 'hold'
  }

  protected dropped(): void {}

  protected stopped(): void {
    this.#host.lost(this.#sequence, undefined)
  }

  /** `shift` is a call out of compiled code, also for an array of one, which most are. */
  #drop(): void {
    if (this.#expected.length === 1) this.#expected.pop()
    else this.#expected.shift()
  }

  #next(): void {
    const [ended] = this.#expected
    this.#drop()
    if (typeof ended === 'object' && 'done' in ended) ended.done?.()
    this.#isLast = false
    this.#state = 'first'
    this.#answerBytes = 0
  }

  /** Whether the filter receives the present packet. A longer one than any that it knows is never held. */
  #isReceived({ receives, bytesMax }: ReplyFilter, length: number): boolean {
    if (bytesMax !== undefined) {
      // The client waits for the reply to its own command.
      this.#sequence = 1
      this.#answerBytes += length + packetCostBytes
      if (this.#answerBytes > bytesMax) this.#isLost = true
    }
    const isHeld = receives === 'all' || (receives === 'outcomes' && this.#isOutcome)
    if (isHeld && length === partBytesMax) this.#isLost = true
    return isHeld
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
      else this.#host.clientSends('file')
      return false
    }
    if (length < lengthOfInteger(first)) return this.#isCut()
    this.#count = readInteger(bytes, at + headerBytes)
    this.#state = 'definitions'
    return false
  }

  #countDefinition(): boolean {
    if (--this.#count === 0) this.#state = this.#deprecatesEof ? 'rows' : 'definitionsEnd'
    return false
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
    return first === 0xfe && length < (this.#deprecatesEof ? partBytesMax : 9)
  }

  #endRows(bytes: Buffer, at: number, length: number): boolean {
    if (bytes[at + headerBytes] === 0xff) return true
    if (this.#deprecatesEof && length >= 7) return this.#endResult(bytes, at, length)
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
    else this.#host.clientSends(isLast ? 'commands' : 'exchange')
    return isLast
  }

  /** After a prepare: 0x00, the statement's id, how many columns and parameters it has. The definitions of both follow. */
  #prepared(first: number, bytes: Buffer, at: number, length: number): boolean {
    if (first !== 0) return true
    if (length < preparedBytes) return this.#isCut()
    const columns = bytes.readUInt16LE(at + headerBytes + 5)
    const parameters = bytes.readUInt16LE(at + headerBytes + 7)
    const end = this.#deprecatesEof ? 0 : 1
    this.#count = (columns > 0 ? columns + end : 0) + (parameters > 0 ? parameters + end : 0)
    this.#state = 'counted'
    return this.#count === 0
  }
}
