/**
 * Forwarding: a node that receives a request for a generator of another leader sends it there and passes the reply on.
 * Which node receives the request, and when it is sent again, is decided here for RESP and HTTP alike.
 *
 * Invariants
 *  1. A node never forwards a request that another node has forwarded to it: it answers, or refuses with CLUSTERDOWN.
 *  2. A request is sent again only if the first node did not receive it, refused it because it does not lead, or lost
 *     the reply to a draw. The ids of a lost reply are a gap. Any other lost reply is the error UNKNOWN.
 *  3. A request is sent at most five times: after one refusal, one failed connection and two lost replies.
 */
import { addressOf } from '../base/address.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { Moved, type MovedDetails, slotNotServed } from '../base/moved.ts'
import { detailsOf } from '../catalogue/leadership/redirection.ts'
import type { Tracing } from '../installation/tracing.ts'
import type { ClusterView } from '../operations/context.ts'

/**
 * The state of a request without a reply. `unsent`: the node has not received it. `lost`: the connection or the node
 * ended after it was sent, so it may have been carried out. `late`: it may still be carried out.
 */
export type NoReplyState = 'unsent' | 'lost' | 'late'

/** The node at an address has sent no reply to a request. */
export class NoReply extends FahaoError {
  readonly state: NoReplyState
  readonly reason: string
  /** The message without its advice. */
  readonly what: string

  constructor(state: NoReplyState, address: string, reason: string) {
    const verb = state === 'unsent' ? 'cannot be reached' : 'did not answer'
    const what = `the leader at ${address} ${verb} (${reason})`
    super(state === 'unsent' ? 'UNAVAILABLE' : 'UNKNOWN', `${what}; retry`)
    this.state = state
    this.reason = reason
    this.what = what
  }
}

/** A protocol: its requests, the replies of other nodes to them, and the replies that this node gives its clients. */
export interface ForwardTransport<Request, NodeReply, Reply> {
  /** Which address of a node it connects to. */
  readonly protocol: 'resp' | 'http'
  /** Carries a request out on this node. Throws or rejects with `Moved` if another node leads. */
  handle(request: Request): Reply | Promise<Reply>
  /** Sends a request to the node of this id at an address. Rejects with `NoReply`. */
  send(request: Request, address: string, nodeId: string): Promise<NodeReply>
  /** Turns another node's reply into the reply to the client. */
  deliver(request: Request, reply: NodeReply): Reply | Promise<Reply>
  /** Whether a reply is the refusal of a node that does not lead: CLUSTERDOWN. */
  isNotLed(reply: NodeReply): boolean
  /** Whether a request only draws ids, so that it may be repeated. */
  onlyDraws(request: Request): boolean
  /** Whether another node has forwarded a request to this one. */
  isForwarded(request: Request): boolean
  /** Rejects every request that waits for a reply from an address, with `NoReply` in the state `lost`. */
  abandon(address: string, reason: string): void
  /** Closes all connections. */
  close(): void
}

/** The retries that a request has used. */
type Retries = {
  readonly refused?: boolean
  readonly unsent?: boolean
  /**
   * The id of the node that lost a reply; undefined if no reply was lost; empty after two lost replies: a third is
   * not retried.
   */
  readonly lostBy?: string
}

/** Carries requests out, here or at their leader. */
export class Forwarder<Request, NodeReply, Reply> {
  readonly #cluster: ClusterView
  readonly #transport: ForwardTransport<Request, NodeReply, Reply>
  /** Whether this node forwards requests; if not, a request for another leader is refused: MOVED. */
  readonly forwards: boolean
  readonly #tracing: Tracing | undefined
  readonly #unlisten: () => void

  constructor(
    cluster: ClusterView,
    transport: ForwardTransport<Request, NodeReply, Reply>,
    forwards: boolean,
    tracing?: Tracing,
  ) {
    this.#tracing = tracing
    this.#cluster = cluster
    this.#transport = transport
    this.forwards = forwards
    this.#unlisten = cluster.listen({
      onDead: ({ [transport.protocol]: address }) => {
        if (address !== undefined) transport.abandon(address, 'it was declared dead')
      },
    })
  }

  /** The leader of a slot, if it is another node in this node's view. */
  knownLeader(slot: number): MovedDetails | undefined {
    const lead = this.#cluster.lead(slot)
    return lead.state === 'elsewhere' ? detailsOf(slot, lead) : undefined
  }

  /** Carries a request out on this node, or at its leader. */
  handle(request: Request): Reply | Promise<Reply> {
    try {
      const reply = this.#transport.handle(request)
      return reply instanceof Promise ? reply.catch((error) => this.#recover(request, error)) : reply
    } catch (error) {
      return this.#recover(request, error)
    }
  }

  /** Sends a request to its leader. CLUSTERDOWN if no node takes over from a leader that cannot be reached. */
  forward(request: Request, leader: MovedDetails): Promise<Reply> {
    return this.#send(request, leader, {})
  }

  /** Stops forwarding, and closes all connections. */
  close(): void {
    this.#unlisten()
    this.#transport.close()
  }

  #recover(request: Request, error: unknown): Promise<Reply> {
    if (!(error instanceof Moved)) throw error
    if (this.#transport.isForwarded(request)) return this.#answerForwarded(request, error.details)
    if (!this.forwards) throw error
    return this.forward(request, error.details)
  }

  /** Two nodes disagree about the leader, so this one reads the engine before it answers or refuses. */
  async #answerForwarded(request: Request, { slot }: MovedDetails): Promise<Reply> {
    const lead = await this.#cluster.leadWithin(slot, undefined, true)
    if (lead.state !== 'here') throw slotNotServed()
    try {
      return await this.#transport.handle(request)
    } catch (error) {
      throw hasCode(error, 'MOVED') ? slotNotServed() : error
    }
  }

  async #send(request: Request, leader: MovedDetails, retries: Retries): Promise<Reply> {
    const transport = this.#transport
    const address = leader[transport.protocol]
    if (address === undefined) throw notServed(transport.protocol)
    let reply: NodeReply
    try {
      reply = await this.#sendTraced(request, address, leader.node)
    } catch (error) {
      if (error instanceof NoReply) return this.#sendAgain(request, leader, retries, error)
      throw error
    }
    const deliver = () => transport.deliver(request, reply)
    if (retries.refused || !transport.isNotLed(reply)) return deliver()
    return this.#sendToNext(request, leader.slot, { ...retries, refused: true }, deliver)
  }

  #sendTraced(request: Request, address: string, node: string): Promise<NodeReply> {
    const send = () => this.#transport.send(request, address, node)
    if (this.#tracing === undefined) return send()
    const { host, port } = addressOf(address)
    const attributes = {
      'network.protocol.name': this.#transport.protocol,
      'server.address': host,
      'server.port': port,
      'fahao.node': node,
    }
    return this.#tracing.call('forward', attributes, send)
  }

  #sendAgain(request: Request, leader: MovedDetails, retries: Retries, error: NoReply): Promise<Reply> {
    const { node, slot } = leader
    const fail = () => {
      throw error
    }
    if (error.state === 'unsent' && !retries.unsent) {
      return this.#sendToNext(request, slot, { ...retries, unsent: true }, () => notReplaced(error), node)
    }
    if (error.state === 'lost' && this.#transport.onlyDraws(request)) {
      const { lostBy } = retries
      if (lostBy === undefined) return this.#sendToNext(request, slot, { ...retries, lostBy: node }, fail)
      // A process that is being killed accepts connections for a moment after it has reset those that it had.
      if (lostBy === node) return this.#sendToNext(request, slot, { ...retries, lostBy: '' }, fail, node)
    }
    throw error
  }

  /**
   * Sends a request to the leader of its slot, or carries it out here. If no node leads in time, the result is that of
   * `otherwise`. The node `gone` does not count as a leader.
   */
  async #sendToNext(
    request: Request,
    slot: number,
    retries: Retries,
    otherwise: () => Reply | Promise<Reply>,
    gone?: string,
  ): Promise<Reply> {
    const lead = await this.#cluster.leadWithin(slot, undefined, true, gone)
    if (lead.state === 'elsewhere' && lead.node.id !== gone) {
      return this.#send(request, detailsOf(slot, lead), retries)
    }
    if (lead.state !== 'here') return otherwise()
    try {
      return await this.#transport.handle(request)
    } catch (error) {
      // The leadership has moved on since.
      if (error instanceof Moved) return this.#send(request, error.details, retries)
      throw error
    }
  }
}

function notServed(protocol: string): FahaoError {
  const message = `the leader of this generator serves no ${protocol.toUpperCase()}; retry`
  return new FahaoError('UNAVAILABLE', message)
}

function notReplaced({ what }: NoReply): never {
  throw new FahaoError('CLUSTERDOWN', `${what}, and no other node took over in time; retry`)
}
