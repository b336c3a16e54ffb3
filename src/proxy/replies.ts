/**
 * Follows the server's replies, so that it is known at each packet which command it answers.
 *
 * Invariants
 *  1. The replies come in the order of the commands. The first of `#expected` is being answered.
 *  2. A reply of our own leaves after the last packet of the reply before it, and before the next packet of the server.
 *  3. Bytes of the server that answer no command, or that fit no reply, make both directions opaque: they are passed on,
 *     and nothing is read any more.
 *  4. The packets of a reply with a filter do not reach the client, except for what the filter returns.
 *
 * The forms of replies: MySQL's manual, "Command Phase", and MariaDB's, "Server response packets".
 */
import { type Judgement, PacketWalker } from './packet-walker.ts'
import { headerBytes, lengthOfInteger, partBytesMax, readInteger, serverStatus } from './protocol.ts'

/** The form of the reply to a command. */
export type ReplyForm =
  /** One packet, whatever it says. */
  | 'packet'
  /** OK, ERR, the request for a local file, or results. */
  | 'results'
  /** Rows, or definitions of columns, until EOF. */
  | 'rows'
  | 'prepare'
  /** COM_CHANGE_USER's: packets of authentication, until OK or ERR. */
  | 'authentication'

/** Receives the packets of a reply in place of the client. */
export interface ReplyFilter {
  readonly form: ReplyForm
  /** A whole packet, with its headers. Returns what the client receives in its place; undefined: nothing. */
  packet(bytes: Buffer, isLast: boolean, isOk: boolean): Buffer | undefined
}

/** A reply that is expected: the server's, or one of our own. */
type Expected = ReplyForm | ReplyFilter | Uint8Array

/** What the replies need to know and to tell. */
export interface ReplyHost {
  /** Whether results end without an EOF packet behind the definitions of columns. */
  readonly deprecatesEof: boolean
  /** Whether the definitions of columns can be left out, as MariaDB does for a client that has them. */
  readonly cachesMetadata: boolean
  /** Sends to the client. `isAll`: nothing of this turn follows. */
  toClient(bytes: Uint8Array): void
  /** The server asks for a local file. */
  expectFile(): void
  /** The client's packets are answers to the server's authentication, or commands again. */
  setExchanging(isExchanging: boolean): void
  /** Makes both directions opaque. */
  becomeOpaque(): void
}

/** An EOF packet: 0xfe, the number of warnings, status. */
const eofBytes = 5
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

  /** A command is on its way to the server. */
  expect(reply: ReplyForm | ReplyFilter): void {
    this.#expected.push(reply)
  }

  /** Sends `reply` to the client, once the commands before it have been answered. */
  answer(reply: Buffer): void {
    this.#expected.push(reply)
    if (this.#expected.length === 1 && this.isBetweenPackets) this.insert()
  }

  protected judge(bytes: Buffer, at: number, length: number): Judgement {
    const expected = this.#expected[0]
    if (expected === undefined || expected instanceof Uint8Array || length === 0) return this.#lose()
    const isFiltered = typeof expected === 'object'
    const form = isFiltered ? expected.form : expected
    this.#isOk = this.#state === 'first' && form === 'results' && bytes[at + headerBytes] === 0
    this.#isLast = this.#follow(form, bytes, at, length)
    return isFiltered ? 'hold' : 'pass'
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
      this.#expected.shift()
    }
  }

  protected whole(bytes: Buffer): void {
    const filter = this.#expected[0] as ReplyFilter
    const isLast = this.#isLast
    if (isLast) this.#next()
    const given = filter.packet(bytes, isLast, this.#isOk)
    if (given !== undefined) this.#host.toClient(given)
    if (isLast) this.insert()
  }

  protected holding(): void {}

  #next(): void {
    this.#expected.shift()
    this.#isLast = false
    this.#state = 'first'
  }

  #lose(): Judgement {
    this.#isLast = false
    this.#host.becomeOpaque()
    return 'pass'
  }

  /** The packet is too short for what it says, so what follows cannot be known. */
  #isCut(): boolean {
    this.#lose()
    return false
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
      // The file would come where another command is on its way.
      if (this.#expected.length > 1) this.#lose()
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
    if (!isLast && this.#expected.length > 1) this.#lose()
    else this.#host.setExchanging(!isLast)
    return isLast
  }

  /** 0x00, the statement, how many columns and parameters it has. The definitions of both follow. */
  #prepared(first: number, bytes: Buffer, at: number, length: number): boolean {
    if (first !== 0) return true
    if (length < preparedBytes) return this.#isCut()
    const columns = bytes.readUInt16LE(at + headerBytes + 5)
    const parameters = bytes.readUInt16LE(at + headerBytes + 7)
    const end = this.#host.deprecatesEof ? 0 : 1
    this.#count = (columns > 0 ? columns + end : 0) + (parameters > 0 ? parameters + end : 0)
    this.#state = 'counted'
    return this.#count === 0
  }
}
