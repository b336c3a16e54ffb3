/**
 * Commands of a node in a cluster: a request for a generator that is led elsewhere is sent on to its leader where
 * that is wanted, and one that was sent on already is answered here or not at all.
 */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { Moved, type MovedDetails } from '../base/moved.ts'
import type { Arguments } from '../commands/arguments.ts'
import { answerHere, sendToLeader } from '../commands/cluster-hop.ts'
import { addressOf } from '../commands/cluster-table.ts'
import { type Command, PassedOn, type Reply } from '../commands/command.ts'
import type { ClusterView, CommandContext, Session } from '../commands/context.ts'
import { refusals } from '../commands/refused.ts'
import { CommandTable } from '../commands/table.ts'
import { ForwardLink } from './forward-link.ts'
import { RespSession } from './session.ts'

/** What a connection between nodes says of itself: its requests were forwarded. */
const mark = 'fahao-forward'

/** The commands, for a node in a cluster. Without `forwarder` a request for elsewhere is refused: MOVED. */
export function clusterCommands(
  table: CommandTable,
  cluster: ClusterView,
  forwarder: RespForwarder | undefined,
): CommandTable {
  const hop: Hop = (error, context, command, args) => {
    if (!(error instanceof Moved)) throw error
    if (isForwarded(context.session)) return answerHere(cluster, error, () => command.handler!(context, args))
    if (forwarder === undefined) throw error
    const words = [Buffer.from(command.name), ...args.parts]
    return sendToLeader<Reply>(cluster, error, {
      send: (details) => forwarder.ask(details, context.session, words),
      isNotLed,
      answerHere: () => command.handler!(context, args),
    })
  }
  return new CommandTable(
    table.all().map((command) => (command.keys[0] === 0 ? command : hopping(command, hop))),
    refusals,
  )
}

/** Answers a request in another way, or throws what it was refused with. */
type Hop = (error: unknown, context: CommandContext, command: Command, args: Arguments) => Promise<Reply>

function hopping(command: Command, hop: Hop): Command {
  const { handler } = command
  return {
    ...command,
    // The decoder never overwrites bytes that it has handed out, so that they are still there after an await.
    handler(context, args) {
      try {
        const reply = handler!(context, args)
        if (!(reply instanceof Promise)) return reply
        return reply.catch((error) => hop(error, context, command, args))
      } catch (error) {
        return hop(error, context, command, args)
      }
    },
  }
}

const notLed = Buffer.from('-CLUSTERDOWN ')

function isNotLed(reply: Reply): boolean {
  return reply instanceof PassedOn && notLed.equals(reply.encoded.subarray(0, notLed.length))
}

function isForwarded({ libraryName }: Session): boolean {
  return libraryName.endsWith(mark) || libraryName.endsWith(`(${mark})`)
}

/** Connections to other nodes: one for each way in which clients want their replies. */
export class RespForwarder {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #links = new Map<string, ForwardLink>()

  /** @param timeoutMs how long a reply may take. */
  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** The leader's reply for this peer. Rejects as `ForwardLink.ask` does. */
  async ask({ resp }: MovedDetails, session: Session, words: readonly Uint8Array[]): Promise<Reply> {
    if (resp === undefined) {
      throw new FahaoError('UNAVAILABLE', 'the leader of this generator serves no RESP; retry')
    }
    return new PassedOn(await this.#link(resp, session).ask(words))
  }

  /** Ends all connections. */
  close(): void {
    for (const link of [...this.#links.values()]) link.close()
  }

  #link(address: string, session: Session): ForwardLink {
    const { protocol } = session
    const rounds = session instanceof RespSession && session.wideIds !== 'integer'
    const key = `${address} ${protocol} ${rounds}`
    const existing = this.#links.get(key)
    if (existing !== undefined) return existing
    // The leader refuses what such a library would round, as this node does.
    const libraryName = rounds ? `ioredis(${mark})` : mark
    const link = new ForwardLink({
      ...addressOf(address),
      greetings: [
        ['HELLO', String(protocol)],
        ['CLIENT', 'SETINFO', 'LIB-NAME', libraryName],
      ],
      clock: this.#clock,
      timeoutMs: this.#timeoutMs,
      onEnd: () => {
        if (this.#links.get(key) === link) this.#links.delete(key)
      },
    })
    this.#links.set(key, link)
    return link
  }
}
