/**
 * Follows the client's packets: commands, the contents of local files, and answers to the server's authentication.
 *
 * Invariants
 *  1. A command is expected to be answered before a byte of it is passed on.
 *  2. If ids are filled in, a command that is not understood is answered and not sent, and a packet that cannot be a
 *     command ends the connection. Otherwise both make both directions opaque.
 *  3. A statement that may need ids is held until it is whole. While it is filled in, nothing after it is judged.
 *  4. What the server has asked for is no command: a file until its empty packet, an authentication until OK or ERR.
 *  5. Once the turn of the event loop is over, at most one more packet of each client is taken in it.
 */
import { turnBytesMax, turns } from '../node/turns.ts'
import { type Judgement, lengthAt, PacketWalker } from './packet-walker.ts'
import { commands, headerBytes, type MysqlError, partBytesMax } from './protocol.ts'
import type { ReplyForm } from './reply-filter.ts'

/** ER_UNKNOWN_COM_ERROR. */
const unknownCommand: MysqlError = {
  code: 1047,
  state: '08S01',
  message:
    'fahao proxy: this command is not relayed, because statements behind it could not be read; send it to the MySQL server itself',
}

/** Commands whose body starts with the number of a prepared statement. */
const namesStatement: (true | undefined)[] = []
for (const command of [
  'statementExecute',
  'statementBulkExecute',
  'statementLongData',
  'statementClose',
  'statementReset',
  'statementFetch',
] as const)
  namesStatement[commands[command]] = true

/** What a command that is held takes of a turn, and a packet that passes: as long as so many bytes of replies. */
const [heldWorkBytes, packetWorkBytes] = [turnBytesMax / 32, 16]

const forms: (ReplyForm | 'none' | undefined)[] = []
forms[commands.quit] = 'none'
forms[commands.statementLongData] = 'none'
forms[commands.statementClose] = 'none'
for (const command of ['query', 'processInfo', 'statementExecute', 'statementBulkExecute'] as const)
  forms[commands[command]] = 'results'
for (const command of ['fieldList', 'statementFetch'] as const) forms[commands[command]] = 'rows'
forms[commands.statementPrepare] = 'prepare'
forms[commands.changeUser] = 'authentication'
for (const command of [
  'initDb',
  'createDb',
  'dropDb',
  'refresh',
  'shutdown',
  'statistics',
  'processKill',
  'debug',
  'ping',
  'statementReset',
  'setOption',
  'resetConnection',
] as const)
  forms[commands[command]] = 'packet'

/** Reads the statements of a client on their way. */
export interface StatementReader {
  /** Whether a text to execute or to prepare has to be held; undefined: it is not complete here. */
  holdsText(command: number, sql: Buffer | undefined): boolean
  /** The server's number of the prepared statement that a command names. */
  numberOf(statement: number): number
  /** Whether a command has to be held, because the server may be about to give the number that it names to a filled statement. */
  awaitsNumber(statement: number): boolean
  /** Whether an execution of a prepared statement has to be held. */
  holdsExecution(statement: number): boolean
  /** The server's number of a parameter, of which the client sends a piece of its value. */
  positionOfLongData(statement: number, parameter: number): number
  /** Another command passes. */
  passes(command: number, statement: number): void
  /** Takes a whole command, which `packet` has, and sends what takes its place. What it returns is waited for. */
  take(command: HeldCommand): Promise<void> | undefined
}

/** A command that was held. */
export type HeldCommand = {
  readonly command: number
  /** What follows the first byte. */
  readonly body: Buffer
  /** All its packets. */
  readonly packet: Buffer
  /** The form of the server's reply. */
  readonly form: ReplyForm | 'none'
  /** The sequence number of a reply. */
  readonly sequence: number
}

/** What the client's direction needs to tell. */
export interface CommandHost {
  /** Sends to the server. */
  toServer(bytes: Buffer): void
  /** Reads statements; undefined: no table is filled in. */
  readonly statements: StatementReader | undefined
  /** A command of which the server's reply will have this form. */
  expect(form: ReplyForm): void
  /** So many bytes of a statement are held. */
  holding(heldBytes: number): void
  /** Reads the client again, when a statement has been filled in. `rest`: as for `take`. */
  resumed(rest: Buffer | undefined): void
  fail(error: unknown): void
  /** Counts a command. `isAnswered`: it has a reply. */
  counted(isAnswered: boolean): void
  /** Makes both directions opaque. */
  becomeOpaque(): void
  /** Replies to a command that is not sent. */
  answer(sequence: number, error: MysqlError): void
  /** The client has sent what can be no command. `sequence`: the number of the packet that it waits for. */
  lost(sequence: number): void
}

/** The client's direction. */
export class ClientCommands extends PacketWalker {
  readonly #host: CommandHost
  #mode: 'commands' | 'file' | 'exchange' = 'commands'
  #isFileEnd = false
  /** The sequence number of the present packet. */
  #sequence = 0
  /** The walk is suspended for the sake of other connections. */
  #isYielding = false

  constructor(host: CommandHost) {
    super()
    this.#host = host
  }

  /** Takes bytes of the client. Returns those that have to be taken in a later turn, if there are any. */
  take(chunk: Buffer): Buffer | undefined {
    this.walk(chunk)
    return this.#yielded()
  }

  /** The client's next packets are a file's contents. */
  expectFile(): void {
    this.#mode = 'file'
  }

  /** Whether the client's next packets answer the server's authentication. */
  set isExchanging(isExchanging: boolean) {
    this.#mode = isExchanging ? 'exchange' : 'commands'
  }

  protected judge(bytes: Buffer, at: number, length: number): Judgement {
    const sequence = bytes[at + 3]!
    if (this.#mode !== 'commands') {
      this.#isFileEnd = this.#mode === 'file' && length === 0
      // A command behind the answers of an authentication that has not ended.
      const isCommand = this.#mode === 'exchange' && sequence === 0
      return isCommand && this.#host.statements !== undefined ? this.#lose(sequence) : 'pass'
    }
    const form = forms[bytes[at + headerBytes]!]
    if (length === 0 || sequence !== 0 || form === undefined) return this.#judgeUnknown(sequence)
    this.#host.counted(form !== 'none')
    if (this.#holds(bytes, at, length)) return 'hold'
    if (form !== 'none') this.#host.expect(form)
    return 'pass'
  }

  protected pass(bytes: Buffer): void {
    this.#host.toServer(bytes)
  }

  protected passed(): boolean {
    if (this.#isFileEnd) {
      this.#isFileEnd = false
      this.#mode = 'commands'
    }
    turns.spend(packetWorkBytes)
    this.#yieldIfOver()
    return false
  }

  protected insert(): void {}

  protected whole(packet: Buffer): void {
    const command = heldCommand(packet)
    turns.spend(heldWorkBytes)
    const waiting = command && this.#host.statements!.take(command)
    if (command === undefined) this.#host.answer(sequenceBehind(packet), unknownCommand)
    if (waiting === undefined) {
      this.#yieldIfOver()
      return
    }
    this.isSuspended = true
    waiting.then(
      () => {
        // What is waited for may be here at once: then this is the turn in which the statement came.
        this.#yieldIfOver()
        if (!this.#isYielding) this.resume()
        this.#host.resumed(this.#yielded())
      },
      (error) => this.#host.fail(error),
    )
  }

  protected holding(heldBytes: number): void {
    this.#host.holding(heldBytes)
  }

  protected stopped(): void {
    this.#host.lost((this.#sequence + 1) & 0xff)
  }

  /** What follows waits for a later turn. */
  #yieldIfOver(): void {
    if (!turns.over) return
    this.#isYielding = true
    this.isSuspended = true
  }

  #yielded(): Buffer | undefined {
    if (!this.#isYielding) return undefined
    this.#isYielding = false
    this.isSuspended = false
    return this.takeRest()
  }

  #judgeUnknown(sequence: number): Judgement {
    if (this.#host.statements === undefined) {
      this.#host.becomeOpaque()
      return 'pass'
    }
    if (sequence !== 0) return this.#lose(sequence)
    this.#host.counted(true)
    return 'hold'
  }

  #lose(sequence: number): Judgement {
    this.#sequence = sequence
    return 'stop'
  }

  #holds(bytes: Buffer, at: number, length: number): boolean {
    const { statements } = this.#host
    if (statements === undefined) return false
    const bodyAt = at + headerBytes + 1
    const command = bytes[bodyAt - 1]!
    if (command === commands.query || command === commands.statementPrepare) {
      const end = at + headerBytes + length
      const isHere = length < partBytesMax && end <= bytes.length
      return statements.holdsText(command, isHere ? bytes.subarray(bodyAt, end) : undefined)
    }
    let statement = length < 5 ? 0 : bytes.readUInt32LE(bodyAt)
    let isAwaited = false
    if (length >= 5 && namesStatement[command]) {
      statement = statements.numberOf(statement)
      bytes.writeUInt32LE(statement, bodyAt)
      isAwaited = statements.awaitsNumber(statement)
    }
    if (isExecution(command)) return statements.holdsExecution(statement) || isAwaited
    if (isAwaited) return true
    if (command !== commands.statementLongData) statements.passes(command, statement)
    else if (length >= 7) {
      const parameter = bytes.readUInt16LE(bodyAt + 4)
      bytes.writeUInt16LE(statements.positionOfLongData(statement, parameter), bodyAt + 4)
    }
    return false
  }
}

/** Whether the command executes a prepared statement. */
export function isExecution(command: number): boolean {
  return command === commands.statementExecute || command === commands.statementBulkExecute
}

/** Undefined: the command is unknown. */
function heldCommand(packet: Buffer): HeldCommand | undefined {
  const first = lengthAt(packet, 0)
  const command = packet[headerBytes]
  const form = command === undefined ? undefined : forms[command]
  if (command === undefined || form === undefined) return undefined
  const sequence = sequenceBehind(packet)
  if (first < partBytesMax) return { command, body: packet.subarray(headerBytes + 1), packet, form, sequence }
  const parts: Buffer[] = []
  for (let at = 0; at < packet.length; at = endOfPart(packet, at))
    parts.push(packet.subarray(at + headerBytes, endOfPart(packet, at)))
  return { command, body: Buffer.concat(parts).subarray(1), packet, form, sequence }
}

/** The sequence number of the packet behind the last part of a command. */
function sequenceBehind(packet: Buffer): number {
  let parts = 0
  for (let at = 0; at < packet.length; at = endOfPart(packet, at)) parts++
  return parts & 0xff
}

function endOfPart(packet: Buffer, at: number): number {
  return at + headerBytes + lengthAt(packet, at)
}
