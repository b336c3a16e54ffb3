/**
 * A network that misbehaves on demand, in front of one loopback port.
 *
 * Invariants
 *  1. Without faults it changes nothing but the address: bytes, order, half-closes and resets pass.
 *  2. A fault applies to the connections that are open and to those that come, until it is undone.
 *  3. A dropped reply is one that the server has given: what was asked for has happened.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { atEnd, type Lifetime } from './lifetime.ts'
import { freePort } from './places.ts'
import { Lane, resetSocket } from './tcp-lane.ts'

/** What `dropReplyOf` has done so far. */
export type DroppedReplies = {
  /** How many replies were dropped. */
  readonly count: number
  /** Resolves when all of them were. */
  readonly all: Promise<void>
}

type Drop = { readonly matches: (request: Buffer) => boolean; left: number; readonly dropped: () => void }

type Link = {
  readonly client: Socket
  readonly server: Socket
  readonly requests: Lane
  readonly replies: Lane
}

/** Starts a proxy to a loopback port; it ends with the lifetime. */
export async function startTcpProxy(lifetime: Lifetime, targetPort: number): Promise<TcpProxy> {
  const proxy = new TcpProxy(await freePort(), targetPort)
  await proxy.restore()
  atEnd(lifetime, () => proxy.cut())
  return proxy
}

/** The proxy; it accepts on 127.0.0.1 as long as it is not cut. */
export class TcpProxy {
  readonly port: number
  #targetPort: number
  #listener: Server | undefined
  readonly #links = new Set<Link>()
  #drops: Drop[] = []
  #delayMs = 0
  #requestsStalled = false
  #repliesStalled = false
  #accepted = 0

  constructor(port: number, targetPort: number) {
    this.port = port
    this.#targetPort = targetPort
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#links.size
  }

  /** How many connections were ever accepted. */
  get accepted(): number {
    return this.#accepted
  }

  /** Lets what the server sends arrive this much later, from now on: the length of a round trip. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** Stops the bytes both ways; connections stay, and new ones are accepted and get no answer. */
  stall(): void {
    this.#setStalled(true, true)
  }

  /** Lets requests through, and no reply back. */
  stallReplies(): void {
    this.#setStalled(false, true)
  }

  /** Undoes a stall; what was held back arrives. */
  resume(): void {
    this.#setStalled(false, false)
  }

  /** Forgets the connections that are open, as a NAT does: nothing passes on them, and neither side is told. */
  forget(): void {
    for (const link of this.#links) {
      link.requests.setStalled(true)
      link.replies.setStalled(true)
    }
  }

  /** Resets all connections on both sides, and refuses new ones. */
  async cut(): Promise<void> {
    const listener = this.#listener
    this.#listener = undefined
    const closed = new Promise<void>((resolve) => (listener ? listener.close(() => resolve()) : resolve()))
    this.#resetAll()
    await closed
  }

  /** Accepts connections again after a `cut`, on the same port. */
  async restore(): Promise<void> {
    if (this.#listener) return
    const listener = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) =>
      this.#accept(client),
    )
    this.#listener = listener
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject)
      listener.listen(this.port, '127.0.0.1', resolve)
    })
  }

  /** Moves to another server, as a virtual address does: open connections are reset, new ones go there. */
  retarget(port: number): void {
    this.#targetPort = port
    this.#resetAll()
  }

  /**
   * Lets the next `times` requests that match through, waits for the server's answer to each, and resets the
   * connection instead of delivering it. A request is a chunk as it arrives; that is a whole one, and the next
   * bytes of the server are its answer, for clients that await each answer before they send more.
   */
  dropReplyOf(matches: (request: Buffer) => boolean, times = 1): DroppedReplies {
    let count = 0
    let finish = () => {}
    const all = new Promise<void>((resolve) => {
      finish = resolve
    })
    const dropped = () => {
      if (++count === times) finish()
    }
    this.#drops.push({ matches, left: times, dropped })
    return {
      get count() {
        return count
      },
      all,
    }
  }

  #accept(client: Socket): void {
    this.#accepted++
    const server = connect({
      port: this.#targetPort,
      host: '127.0.0.1',
      allowHalfOpen: true,
      noDelay: true,
    })
    const requests = new Lane(client, server, this.#requestsStalled)
    const replies = new Lane(server, client, this.#repliesStalled)
    const link: Link = { client, server, requests, replies }
    this.#links.add(link)
    let doomed: Drop | undefined
    client.on('data', (chunk) => {
      doomed ??= this.#dropFor(chunk)
      requests.carry(chunk, 0)
    })
    server.on('data', (chunk) => {
      if (!doomed) return replies.carry(chunk, this.#delayMs)
      doomed.dropped()
      reset(link)
    })
    client.on('end', () => requests.carryEnd(0))
    server.on('end', () => replies.carryEnd(this.#delayMs))
    this.#onClose(client, link, () => requests.carryReset(0))
    this.#onClose(server, link, () => replies.carryReset(this.#delayMs))
  }

  #onClose(socket: Socket, link: Link, passOn: () => void): void {
    // 'close' follows, and tells that there was one.
    socket.on('error', () => {})
    socket.on('close', (failed) => {
      if (failed) passOn()
      if (link.client.destroyed && link.server.destroyed) this.#links.delete(link)
    })
  }

  #dropFor(request: Buffer): Drop | undefined {
    const drop = this.#drops.find((each) => each.matches(request))
    if (drop && --drop.left === 0) this.#drops = this.#drops.filter((each) => each !== drop)
    return drop
  }

  #setStalled(requests: boolean, replies: boolean): void {
    this.#requestsStalled = requests
    this.#repliesStalled = replies
    for (const link of this.#links) {
      link.requests.setStalled(requests)
      link.replies.setStalled(replies)
    }
  }

  #resetAll(): void {
    for (const link of this.#links) reset(link)
  }
}

function reset(link: Link): void {
  resetSocket(link.client)
  resetSocket(link.server)
}
