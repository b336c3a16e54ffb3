/** Connections to other nodes, for what this node has them do: for each node one per form of replies and user. */
import { type Proving, respPurpose } from '../auth/node-proof.ts'
import { addressOf } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { EncodedReply } from '../commands/command.ts'
import type { Dial } from '../listening/dial.ts'
import type { Session } from '../operations/session.ts'
import { encodedRequest, ForwardConnection } from './forward-connection.ts'
import { forwardNames, type WideIds } from './rounding.ts'

/** The caller of a request, and the form of its reply. */
export type Asking = {
  readonly session: Pick<Session, 'access' | 'address'>
  readonly protocol: 2 | 3
  readonly wideIds: WideIds
}

const libraryVersion = ['CLIENT', 'SETINFO', 'LIB-VER']
const notLed = Buffer.from('-CLUSTERDOWN ')

/** The part of a `ForwardTransport` over RESP that is the same for all requests. */
export class NodeTransport {
  readonly protocol = 'resp'
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #proving: Proving
  readonly #dial: Dial
  /** By address, then by the form of replies, the id of the node and the user with its revision. */
  readonly #connections = new Map<string, Map<string, ForwardConnection>>()
  #closed = false

  /** @param timeoutMs how long a reply may take. */
  constructor(clock: Clock, timeoutMs: number, dial: Dial, proving: Proving) {
    this.#proving = proving
    this.#clock = clock
    this.#dial = dial
    this.#timeoutMs = timeoutMs
  }

  isNotLed(reply: EncodedReply): boolean {
    return startsWith(reply, notLed)
  }

  abandon(address: string, reason: string): void {
    for (const connection of [...(this.#connections.get(address)?.values() ?? [])]) connection.close(reason)
  }

  close(): void {
    this.#closed = true
    for (const address of [...this.#connections.keys()]) this.abandon(address, 'this node is stopping')
  }

  /**
   * The connection to the node of this id at an address. Throws SHUTDOWN after `close`.
   * @param changes whether the request changes something.
   */
  protected connection(address: string, nodeId: string, asking: Asking, changes: boolean): ForwardConnection {
    if (this.#closed) throw new FahaoError('SHUTDOWN', 'this node is stopping; retry')
    const connection = this.#connection(address, nodeId, asking)
    if (changes) {
      // For the audit trail of the leader: the requests of a connection are those of many clients, and run in order.
      const { host } = addressOf(asking.session.address)
      connection
        .send(encodedRequest(libraryVersion.concat(host).map((word) => Buffer.from(word))))
        .catch(() => {})
    }
    return connection
  }

  #connection(address: string, nodeId: string, { session, protocol, wideIds }: Asking): ForwardConnection {
    const { user } = session.access
    // The leader permits what it knows of the user, and at least what this node knew when it made the connection.
    const revision = this.#proving.revisionOf(user)
    const form = `${wideIds} ${protocol} ${nodeId} ${revision} ${user}`
    const connections = this.#connections.get(address) ?? new Map<string, ForwardConnection>()
    this.#connections.set(address, connections)
    let connection = connections.get(form)
    if (connection === undefined) {
      connection = new ForwardConnection({
        ...addressOf(address),
        dial: this.#dial,
        greetings: [
          ['HELLO', String(protocol), 'AUTH', user, this.#proving.proofFor(user, nodeId, respPurpose)],
          ['CLIENT', 'SETINFO', 'LIB-NAME', forwardNames[wideIds]],
        ],
        clock: this.#clock,
        timeoutMs: this.#timeoutMs,
        onEnd: () => {
          connections.delete(form)
          if (connections.size === 0) this.#connections.delete(address)
        },
      })
      connections.set(form, connection)
    }
    return connection
  }
}

/** Whether a reply begins with these bytes. */
export function startsWith({ bytes }: EncodedReply, start: Buffer): boolean {
  return start.equals(bytes.subarray(0, start.length))
}
