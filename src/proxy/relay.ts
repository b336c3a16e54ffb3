/**
 * The commands and replies of one session, after its login.
 *
 * Invariants
 *  1. A command is expected to be answered before it is sent, whether it is the client's or the proxy's own.
 *  2. What makes one direction opaque makes both; with a filler, none is ever opaque.
 */
import { ClientCommands, type HeldCommand } from './client-commands.ts'
import type { Filling } from './filling.ts'
import type { LoggedIn } from './login.ts'
import {
  capabilities,
  commandPackets,
  errorPacket,
  type MysqlError,
  mariadbCapabilities,
  partsOf,
} from './protocol.ts'
import { Replies } from './replies.ts'
import { unfiltered } from './reply-filter.ts'
import { StatementFiller } from './statement-filler.ts'

/** What a session needs of its connection. */
export interface RelayHost {
  /** Prepared statements that may be filled in, and their memory in bytes. */
  readonly statementsMax: number
  readonly statementsBytesMax: number
  toClient(bytes: Uint8Array): void
  toServer(bytes: Uint8Array): void
  /** Counts a command. `isAnswered`: it has a reply. */
  counted(isAnswered: boolean): void
  /** The proxy answers a command with this error. */
  refused(error: MysqlError): void
  /** So many bytes of a statement are held. */
  holding(heldBytes: number): void
  /** `countedBytes` may have changed. */
  weighed(): void
  /** A statement that was held has been sent, or answered. `rest`: as for `fromClient`. */
  resumed(rest: Buffer | undefined): void
  fail(error: unknown): void
  /**
   * What one side has sent cannot be understood, so that ids could be filled in no more.
   * @param sequence the number of the packet that the client waits for.
   */
  lost(from: 'client' | 'server', sequence: number, cause: unknown): void
  /** Takes an error that is no client's fault, and that has ended nothing. */
  report(error: unknown): void
}

/** What is read of a client whose statement waits, in bytes. */
const behindBytesMax = 65_536
/** Statements that take more count as memory of the connection: those that are held, and those that are prepared. */
const [heldBytesFree, preparedBytesFree] = [65_536, 1_048_576]

/** One session. */
export class Relay {
  readonly #host: RelayHost
  readonly #commands: ClientCommands
  readonly #replies: Replies
  /** Undefined: no table is filled in. */
  readonly #filler: StatementFiller | undefined
  readonly #deprecatesEof: boolean
  readonly #ending = new AbortController()
  /** Memory of a statement that waits for its turn, the server or ids. */
  #waitingBytes = 0

  /** @param filling undefined: no table is filled in. */
  constructor(session: LoggedIn, filling: Filling | undefined, host: RelayHost) {
    this.#host = host
    const { common, mariadb } = session.flags
    this.#deprecatesEof = (common & capabilities.deprecateEof) !== 0
    this.#replies = new Replies({
      deprecatesEof: this.#deprecatesEof,
      cachesMetadata: (mariadb & mariadbCapabilities.cacheMetadata) !== 0,
      tracksSession: (common & capabilities.sessionTrack) !== 0,
      mustUnderstand: filling !== undefined,
      toClient: (bytes) => host.toClient(bytes),
      expectFile: () => this.#commands.expectFile(),
      setExchanging: (isExchanging) => {
        this.#commands.isExchanging = isExchanging
      },
      prepared: (statement) => this.#filler?.prepared(statement),
      becomeOpaque: () => this.#becomeOpaque(),
      lost: (sequence, cause) => host.lost('server', sequence, cause),
    })
    this.#replies.status = session.status
    this.#filler = filling && this.#makeFiller(filling, session.greeting.version)
    this.#commands = new ClientCommands({
      statements: this.#filler,
      toServer: (bytes) => host.toServer(bytes),
      expect: (form) => this.#replies.expect(form),
      counted: (isAnswered) => host.counted(isAnswered),
      holding: (heldBytes) => host.holding(heldBytes),
      resumed: (rest) => host.resumed(rest),
      fail: (error) => host.fail(error),
      becomeOpaque: () => this.#becomeOpaque(),
      answer: (sequence, error) => this.answer(sequence, error),
      lost: (sequence) => host.lost('client', sequence, undefined),
    })
  }

  /** Commands that have not been answered completely. */
  get outstanding(): number {
    return this.#replies.outstanding
  }

  /** Whether a statement waits for the server or for ids. */
  get isSuspended(): boolean {
    return this.#commands.isSuspended
  }

  /** Memory of statements that are held, in bytes. */
  get heldBytes(): number {
    return this.#commands.heldBytes + this.#waitingBytes
  }

  /** Memory of statements that are held or prepared, unless it is little, in bytes. */
  get countedBytes(): number {
    const [held, prepared] = [this.heldBytes, this.#filler?.preparedBytes ?? 0]
    return (held > heldBytesFree ? held : 0) + (prepared > preparedBytesFree ? prepared : 0)
  }

  /** Whether the client may be read: behind a statement that waits, only so far that its end is noticed. */
  get mayRead(): boolean {
    return !this.isSuspended || this.#commands.heldBytes < behindBytesMax
  }

  /** Whether the session is known to be outside of commands and transactions: the server carries out whole commands only. */
  get isIdle(): boolean {
    const { outstanding, isInTransaction, isOpaque } = this.#replies
    return outstanding === 0 && !isInTransaction && !isOpaque && !this.isSuspended
  }

  /** Whether the server has no part of a command that is not complete. */
  get isBetweenCommands(): boolean {
    return this.#commands.isBetweenPackets
  }

  /** Takes bytes of the client. Returns those that have to be taken in a later turn of the event loop, if there are any. */
  fromClient(chunk: Buffer): Buffer | undefined {
    return this.#commands.take(chunk)
  }

  /** Takes bytes of the server. */
  fromServer(chunk: Buffer): void {
    this.#replies.walk(chunk)
  }

  /** Sends an error to the client, once the commands before it have been answered. */
  answer(sequence: number, error: MysqlError): void {
    this.#host.refused(error)
    this.#replies.answer(errorPacket(sequence, error))
  }

  /** The client has ended its side. */
  clientEnded(): void {
    this.#commands.finish()
  }

  /** The server has ended its side. */
  serverEnded(): void {
    this.#replies.finish()
  }

  /** Ends what waits for ids. */
  end(): void {
    this.#ending.abort()
  }

  #becomeOpaque(): void {
    this.#commands.isOpaque = true
    this.#replies.isOpaque = true
  }

  #makeFiller(filling: Filling, serverVersion: string): StatementFiller {
    const send = (command: number, body: Uint8Array) => {
      for (const packet of commandPackets(command, body)) this.#host.toServer(packet)
    }
    const answer = (command: HeldCommand, packet: Buffer) => {
      packet[3] = command.sequence
      this.#replies.answer(packet)
      this.#filler!.withheld(command)
    }
    return new StatementFiller({
      filling,
      serverVersion,
      statementsMax: this.#host.statementsMax,
      statementsBytesMax: this.#host.statementsBytesMax,
      deprecatesEof: this.#deprecatesEof,
      signal: this.#ending.signal,
      waits: (bytes) => {
        this.#waitingBytes = bytes
        this.#host.weighed()
      },
      relay: ({ form, packet }) => {
        if (form !== 'none') this.#replies.expect(form)
        this.#host.toServer(packet)
      },
      send: ({ command, sequence }, body, filter) => {
        // The client counts on from the parts that it has sent itself.
        const shift = sequence - (partsOf(body) & 0xff)
        if (filter !== undefined || shift !== 0) this.#replies.filter(filter ?? unfiltered, shift)
        else this.#replies.expect('results')
        send(command, body)
      },
      ask: (command, body, filter) => {
        if (filter !== undefined) this.#replies.filter(filter)
        send(command, body)
      },
      report: (error) => this.#host.report(error),
      answer: (command, error) => {
        this.#host.refused(error)
        answer(command, errorPacket(0, error))
      },
      answerWith: answer,
    })
  }
}
