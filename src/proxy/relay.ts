/**
 * The commands and replies of one session, after its login.
 *
 * Invariants
 *  1. A command is expected to be answered before it is sent, whether it is the client's or the proxy's own.
 */
import { ClientCommands, type CommandHost } from './client-commands.ts'
import type { FilledSession, HeldCommand, ReplyFilter } from './exchange.ts'
import type { LoggedIn } from './login.ts'
import { capabilities, commandPackets, errorPacket, type MysqlError, partsOf } from './protocol.ts'
import { Replies, type ReplyHost } from './replies.ts'
import { type Filling, StatementFiller } from './statement-filler.ts'

/** What a session needs of its connection. */
export interface RelayHost extends CommandHost, Pick<ReplyHost, 'toClient'> {
  /** The proxy answers a command with this error. */
  refused(error: MysqlError): void
  /** `countedBytes` may have changed. */
  weighed(): void
}

/** What is read of a client whose statement waits, in bytes. */
const behindBytesMax = 65_536
/** Statements that take more count as memory of the connection: those that are held, and those that are prepared. */
const [heldBytesFree, preparedBytesFree] = [65_536, 1_048_576]

/** One session. */
export class Relay implements FilledSession {
  readonly deprecatesEof: boolean
  readonly tracksSession: boolean
  readonly #host: RelayHost
  readonly #commands: ClientCommands
  readonly #replies: Replies
  /** Undefined: no table is filled in. */
  readonly #filler: StatementFiller | undefined
  readonly #ending = new AbortController()
  /** Memory of a statement that waits for its turn, the server or ids. */
  #waitingBytes = 0

  /** @param filling undefined: no table is filled in. */
  constructor({ flags, status }: LoggedIn, filling: Filling | undefined, host: RelayHost) {
    this.#host = host
    this.deprecatesEof = (flags.common & capabilities.deprecateEof) !== 0
    this.tracksSession = (flags.common & capabilities.sessionTrack) !== 0
    this.#replies = new Replies(this.deprecatesEof, status, {
      toClient: (bytes) => host.toClient(bytes),
      clientSends: (mode) => {
        this.#commands.mode = mode
      },
      lost: (sequence, cause) => host.lost(sequence, cause),
    })
    this.#filler = filling && new StatementFiller(filling, this)
    this.#commands = new ClientCommands(host, this.#replies, this.#filler)
  }

  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** Commands that have not been answered completely. */
  get outstanding(): number {
    return this.#replies.outstanding
  }

  /** Whether a statement waits for the server or for ids. */
  get isSuspended(): boolean {
    return this.#commands.isSuspended
  }

  /** Memory of statements that are held or prepared, unless it is little, in bytes. */
  get countedBytes(): number {
    const held = this.#commands.heldBytes + this.#waitingBytes
    const prepared = this.#filler?.preparedBytes ?? 0
    return (held > heldBytesFree ? held : 0) + (prepared > preparedBytesFree ? prepared : 0)
  }

  /** Whether commands wait for a later turn of the event loop. */
  get isYielding(): boolean {
    return this.#commands.isYielding
  }

  /** Whether the client may be read: behind a statement that waits, only a little, so that its end is noticed. */
  get mayRead(): boolean {
    return !this.isSuspended || (!this.isYielding && this.#commands.heldBytes < behindBytesMax)
  }

  /** Whether the session is known to be outside of commands and transactions: the server carries out whole commands only. */
  get isIdle(): boolean {
    return this.outstanding === 0 && !this.#replies.isInTransaction && !this.isSuspended
  }

  /** Whether the server has no part of a command that is not complete. */
  get isBetweenCommands(): boolean {
    return this.#commands.isBetweenPackets
  }

  /** Takes bytes of the client. */
  fromClient(chunk: Buffer): void {
    this.#commands.walk(chunk)
  }

  /** Takes bytes of the server. */
  fromServer(chunk: Buffer): void {
    this.#replies.walk(chunk)
  }

  /** The server has ended its side. */
  serverEnded(): void {
    this.#replies.finish()
  }

  /** Ends what waits for ids, and takes nothing more of the client. */
  end(): void {
    this.#ending.abort()
    this.#commands.finish()
  }

  waits(bytes: number): void {
    this.#waitingBytes = bytes
    this.#host.weighed()
  }

  send(
    { command, form, sequence, body: own, packet }: HeldCommand,
    body: Uint8Array,
    filter?: ReplyFilter,
  ): void {
    // The server numbers its reply by the parts of `body`; the client expects a number that follows its own parts.
    const shift = sequence - (partsOf(body) & 0xff)
    if (filter === undefined && shift === 0) this.#replies.expect(form)
    else this.#replies.filter(filter ?? { form, receives: 'none', packet: (bytes) => bytes }, shift)
    if (body === own) this.#host.toServer(packet)
    else this.#sendParts(command, body)
  }

  ask(command: number, body: Uint8Array, filter: ReplyFilter): void {
    this.#replies.filter(filter)
    this.#sendParts(command, body)
  }

  answer(command: HeldCommand, error: MysqlError): void {
    this.#host.refused(error)
    this.#replies.answer(errorPacket(command.sequence, error))
  }

  #sendParts(command: number, body: Uint8Array): void {
    for (const packet of commandPackets(command, body)) this.#host.toServer(packet)
  }
}
