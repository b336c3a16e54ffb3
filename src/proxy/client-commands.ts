/**
 * Follows the client's packets: commands, the contents of local files, and answers to the server's authentication.
 *
 * Invariants
 *  1. A command is expected to be answered before a byte of it is passed on.
 *  2. A command that is not understood, and a packet that cannot be a command, end the connection.
 *  3. A statement that may need ids is held until it is whole, unless it is too long. While it is filled in, nothing after
 *     it is judged.
 *  4. What the server has asked for is no command: a file until its empty packet, an authentication until OK or ERR.
 *  5. Once the turn of the event loop is over, at most one more packet of each client is taken in it.
 */
import { type TurnTaker, turnBytesMax, turns } from '../listening/turns.ts'
import type { HeldCommand, ReplyForm } from './exchange.ts'
import { type Holding, type Judgement, lengthAt, PacketWalker } from './packet-walker.ts'
import { commands, headerBytes, partBytesMax } from './protocol.ts'
import type { Replies } from './replies.ts'
import type { StatementFiller } from './statement-filler.ts'

/** Commands whose body starts with the number of a prepared statement. */
const namesStatement: (true | undefined)[] = []
for (const command of [
  'statementExecute',
  'statementLongData',
  'statementClose',
  'statementReset',
  'statementFetch',
] as const)
  namesStatement[commands[command]] = true

/**
 * What a held command takes of a turn beside the length of its text, and what a packet that passes takes, as the bytes of replies
 * that take as long.
 */
const [heldWorkBytes, packetWorkBytes] = [turnBytesMax / 32, 16]

/** The forms of replies to commands. The others are not understood. */
const forms: (ReplyForm | 'none' | undefined)[] = []
for (const [form, names] of [
  ['none', ['quit', 'statementLongData', 'statementClose']],
  ['results', ['query', 'processInfo', 'statementExecute']],
  ['rows', ['fieldList', 'statementFetch', 'binlogDump', 'binlogDumpGtid']],
  ['prepare', ['statementPrepare']],
  ['authentication', ['changeUser']],
  [
    'packet',
    ['initDb', 'createDb', 'dropDb', 'refresh', 'shutdown', 'statistics', 'processKill', 'debug', 'ping'],
  ],
  ['packet', ['registerReplica', 'statementReset', 'setOption', 'resetConnection']],
] as const)
  for (const name of names) forms[commands[name]] = form

/** What the client's direction needs to tell. */
export interface CommandHost {
  toServer(bytes: Uint8Array): void
  /** A statement is held, and `heldBytes` of it have arrived. Returns whether it may be held further. */
  holding(heldBytes: number): boolean
  /** The walk has gone on after a suspension. */
  resumed(): void
  fail(error: unknown): void
  /** Counts a command. `isAnswered`: it has a reply. */
  counted(isAnswered: boolean): void
  /**
   * What has been sent cannot be understood.
   * @param sequence the number of the packet that the client waits for.
   */
  lost(sequence: number, cause: unknown): void
}

/** The client's direction. */
export class ClientCommands extends PacketWalker implements TurnTaker {
  /** What the client's next packets are: commands, the contents of a file, or answers to the server's authentication. */
  mode: 'commands' | 'file' | 'exchange' = 'commands'
  readonly #host: CommandHost
  readonly #replies: Replies
  /** Undefined: no table is filled in. */
  readonly #filler: StatementFiller | undefined
  #isFileEnd = false
  /** The reply to the command that is held. */
  #heldForm: ReplyForm = 'results'
  /** The walk goes on in a later turn of the event loop. */
  isYielding = false

  constructor(host: CommandHost, replies: Replies, filler: StatementFiller | undefined) {
    super()
    this.#host = host
    this.#replies = replies
    this.#filler = filler
  }

  takeTurn(): void {
    this.isYielding = false
    try {
      this.resume()
      this.#host.resumed()
    } catch (error) {
      this.#host.fail(error)
    }
  }

  protected judge(bytes: Buffer, at: number, length: number): Judgement {
    const sequence = bytes[at + 3]!
    if (this.mode !== 'commands') {
      this.#isFileEnd = this.mode === 'file' && length === 0
      // A command behind the answers of an authentication that has not ended.
      return this.mode === 'exchange' && sequence === 0 ? 'stop' : 'pass'
    }
    const form = forms[bytes[at + headerBytes]!]
    if (length === 0 || sequence !== 0 || form === undefined) return 'stop'
    this.#host.counted(form !== 'none')
    if (form === 'none') {
      this.#holds(bytes, at, length)
      return 'pass'
    }
    if (this.#holds(bytes, at, length)) {
      this.#heldForm = form
      return 'hold'
    }
    this.#replies.expect(form)
    return 'pass'
  }

  protected pass(bytes: Buffer): void {
    this.#host.toServer(bytes)
  }

  protected passed(): boolean {
    if (this.#isFileEnd) {
      this.#isFileEnd = false
      this.mode = 'commands'
    }
    turns.spend(packetWorkBytes)
    this.#yieldIfOver()
    return false
  }

  protected insert(): void {}

  protected whole(packet: Buffer): void {
    const command = heldCommand(packet, this.#heldForm)
    turns.spend(heldWorkBytes + packet.length / 4)
    const waiting = this.#filler?.take(command)
    if (waiting === undefined) {
      this.#yieldIfOver()
      return
    }
    this.isSuspended = true
    waiting.then(
      () => {
        // What is waited for may be here at once: then this is the turn in which the statement came.
        this.#yieldIfOver()
        if (!this.isYielding) this.takeTurn()
      },
      (error) => this.#host.fail(error),
    )
  }

  protected holding(heldBytes: number): Holding {
    if (this.#host.holding(heldBytes)) return 'hold'
    if (this.#filler?.skips() === false) return 'drop'
    this.#replies.expect(this.#heldForm)
    return 'pass'
  }

  protected dropped(start: Buffer, sequence: number): void {
    this.#filler?.refuseTooLong({ ...heldCommand(start, this.#heldForm), sequence })
    this.#yieldIfOver()
  }

  protected stopped(): void {
    this.#host.lost(1, undefined)
  }

  /** What follows waits for a later turn. */
  #yieldIfOver(): void {
    if (!turns.over) return
    this.isYielding = true
    this.isSuspended = true
    turns.wait(this, false)
  }

  #holds(bytes: Buffer, at: number, length: number): boolean {
    const filler = this.#filler
    if (filler === undefined) return false
    const bodyAt = at + headerBytes + 1
    const command = bytes[bodyAt - 1]!
    if (command === commands.query || command === commands.statementPrepare) {
      const end = at + headerBytes + length
      const isHere = length < partBytesMax && end <= bytes.length
      return filler.holdsText(command, isHere ? bytes.subarray(bodyAt, end) : undefined)
    }
    const statement = length >= 5 && namesStatement[command] ? bytes.readUInt32LE(bodyAt) : 0
    if (command === commands.statementExecute) return filler.holdsExecution(statement)
    if (command !== commands.statementLongData) filler.passes(command, statement)
    else if (length >= 7) {
      const parameter = bytes.readUInt16LE(bodyAt + 4)
      bytes.writeUInt16LE(filler.positionOfLongData(statement, parameter), bodyAt + 4)
    }
    return false
  }
}

function heldCommand(packet: Buffer, form: ReplyForm): HeldCommand {
  const parts: Buffer[] = []
  for (let at = 0; at < packet.length; ) {
    const end = at + headerBytes + lengthAt(packet, at)
    parts.push(packet.subarray(at + headerBytes, end))
    at = end
  }
  const [first = packet, ...others] = parts
  const body = (others.length === 0 ? first : Buffer.concat(parts)).subarray(1)
  return { command: packet[headerBytes]!, body, packet, form, sequence: parts.length & 0xff }
}
