/**
 * Follows the client's packets: commands, the contents of local files, and answers to the server's authentication.
 *
 * Invariants
 *  1. A command is expected to be answered before a byte of it is passed on.
 *  2. A command that is not understood makes both directions opaque, and so does a packet that cannot be a command.
 *  3. What the server has asked for is no command: a file until its empty packet, an authentication until OK or ERR.
 */
import { type Judgement, PacketWalker } from './packet-walker.ts'
import { commands, headerBytes } from './protocol.ts'
import type { ReplyForm } from './replies.ts'

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

/** What the client's direction needs to tell. */
export interface CommandHost {
  /** Sends to the server. */
  toServer(bytes: Buffer): void
  /** A command of which the server's reply will have this form. */
  expect(form: ReplyForm): void
  /** Counts a command. */
  counted(): void
  /** Makes both directions opaque. */
  becomeOpaque(): void
}

/** The client's direction. */
export class ClientCommands extends PacketWalker {
  readonly #host: CommandHost
  #mode: 'commands' | 'file' | 'exchange' = 'commands'
  #isFileEnd = false

  constructor(host: CommandHost) {
    super()
    this.#host = host
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
    if (this.#mode !== 'commands') {
      this.#isFileEnd = this.#mode === 'file' && length === 0
      return 'pass'
    }
    const form = forms[bytes[at + headerBytes]!]
    if (length === 0 || bytes[at + 3] !== 0 || form === undefined) {
      this.#host.becomeOpaque()
      return 'pass'
    }
    this.#host.counted()
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
    return false
  }

  protected insert(): void {}
  protected whole(): void {}
  protected holding(): void {}
}
