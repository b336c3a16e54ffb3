/**
 * The live streams of the other nodes of a cluster, the peers, for the readers of this node.
 *
 * Invariants
 *  1. A peer is asked as the reader, by a proof of its user and the id of its token: it tells what it may tell that reader. It is
 *     asked for its own lines alone, so that no line goes round.
 *  2. Readers of one access that ask for the same names share a stream of each peer. None is open without a reader.
 *  3. A line is passed on as it came, if it is a line of that peer. One that is longer than `lineBytesMax` is not kept.
 *  4. A reader gets ticks of a peer only behind a history of that peer, and a history whenever its stream is opened anew.
 *  5. A peer that does not answer within `answerMs`, or has no line for `silentMs`, is told to be away, and asked again each second.
 */
import type { ClientRequest } from 'node:http'
import type { Access } from '../../auth/access.ts'
import type { Proving } from '../../auth/node-proof.ts'
import { addressOf } from '../../base/address.ts'
import { type Clock, repeat, type Timer } from '../../base/clock.ts'
import type { Dial } from '../../listening/dial.ts'
import { turns } from '../../listening/turns.ts'
import type { ClusterView } from '../../operations/context.ts'
import { provenHeaders } from '../forwarded.ts'
import { Agent, request } from '../plain-http.ts'

const [answerMs, silentMs, awayAgainUs] = [2000, 5000, 10_000_000]
/** Several times what the history of all generators that are told of can have. */
const lineBytesMax = 4 * 2 ** 20
const newline = 10

/** Who reads the lines of all nodes. */
export type PeerReader = {
  readonly access: Access
  /** The generators that it asks for. */
  readonly names: readonly string[]
  /** Its address. */
  readonly client: string
  /** Takes a line, with its end. */
  readonly take: (line: PeerLine) => void
}

/** A line of a peer, or about it. */
export type PeerLine = {
  readonly type: 'history' | 'tick' | 'away'
  readonly node: string
  readonly bytes: Buffer
}

type Peer = ReturnType<ClusterView['status']>['nodes'][number]

/** What is needed to ask peers. */
export type PeerSources = {
  readonly cluster: Pick<ClusterView, 'status'>
  readonly dial: Dial
  readonly proving: Proving
  readonly clock: Clock
}
type Sources = PeerSources & { readonly agent: InstanceType<typeof Agent> }

/** The streams of the peers. */
export class PeerStreams {
  readonly #sources: Sources
  readonly #shared = new Set<SharedStreams>()
  #timer: Timer | undefined

  constructor(sources: PeerSources) {
    const agent = new Agent({ keepAlive: false })
    agent.createConnection = ({ host, port }) => sources.dial({ host: host!, port: Number(port) })
    this.#sources = { ...sources, agent }
  }

  /** Has a reader told of all peers from now on. */
  follow(reader: PeerReader): Following {
    const names = [...reader.names].sort().join(',')
    const known = [...this.#shared].find((each) => each.access === reader.access && each.names === names)
    const shared = known ?? new SharedStreams(this.#sources, reader, names)
    this.#shared.add(shared)
    shared.add(reader)
    this.#timer ??= repeat(this.#sources.clock, 1000, async () => {
      for (const each of this.#shared) each.look()
    })
    const end = () => {
      if (!shared.delete(reader)) return
      this.#shared.delete(shared)
      if (this.#shared.size > 0) return
      this.#timer?.cancel()
      this.#timer = undefined
    }
    return { peers: () => shared.peers, end }
  }
}

/** What a reader has of `follow`. */
export type Following = {
  /** The ids of the peers that are asked. */
  readonly peers: () => Iterable<string>
  readonly end: () => void
}

/** The streams of readers of one access that ask for the same names. */
class SharedStreams {
  readonly access: Access
  readonly names: string
  readonly #sources: Sources
  readonly #client: string
  readonly #readers = new Set<PeerReader>()
  readonly #links = new Map<string, Link>()

  constructor(sources: Sources, { access, client }: PeerReader, names: string) {
    this.#sources = sources
    this.access = access
    this.names = names
    this.#client = client
  }

  get peers(): Iterable<string> {
    return this.#links.keys()
  }

  add(reader: PeerReader): void {
    this.#readers.add(reader)
    for (const link of this.#links.values()) link.welcome(reader)
    this.look()
  }

  /** Returns whether no reader is left: then it is closed. */
  delete(reader: PeerReader): boolean {
    this.#readers.delete(reader)
    for (const link of this.#links.values()) link.forget(reader)
    if (this.#readers.size > 0) return false
    for (const link of this.#links.values()) link.close()
    this.#links.clear()
    return true
  }

  /** Opens what is missing, and ends what is of no peer any more. */
  look(): void {
    const peers = this.#sources.cluster.status().nodes.filter(({ isSelf }) => !isSelf)
    for (const [id, link] of this.#links) {
      if (peers.some((peer) => peer.id === id)) continue
      link.leave('it is no longer a node of the cluster')
      this.#links.delete(id)
    }
    for (const peer of peers) {
      const link = this.#links.get(peer.id) ?? new Link(peer, this.#readers, this.#ask, this.#sources.clock)
      this.#links.set(peer.id, link)
      link.look()
    }
  }

  #ask: Ask = (peer, ticks, onLine, onEnd) => {
    const { access, names } = this
    const query = new URLSearchParams({ nodes: 'this' })
    if (names !== '') query.set('generators', names)
    if (ticks !== undefined) query.set('ticks', String(ticks))
    if (access.token !== undefined) query.set('token-id', access.token)
    const [method, path] = ['GET', `/v1/live?${query}`]
    const sent = { method, path, contentType: undefined, body: '', client: this.#client, user: access.user }
    const headers = provenHeaders(sent, peer.id, this.#sources.proving)
    const asked = { ...addressOf(peer.http!), agent: this.#sources.agent, method, path, headers }
    return new PeerRequest(request(asked), peer.id, this.#sources.clock, onLine, onEnd)
  }
}

type OnLine = (type: 'history' | 'tick', bytes: Buffer) => void
type Ask = (peer: Peer, ticks: 0 | undefined, onLine: OnLine, onEnd: (reason: string) => void) => PeerRequest

/** The stream of one peer for its readers. */
class Link {
  readonly #peer: Peer
  readonly #readers: ReadonlySet<PeerReader>
  readonly #ask: Ask
  readonly #clock: Clock
  #stream: PeerRequest | undefined
  /** Whether the history of this stream has come. */
  #isTold = false
  /** The readers that have had a history. */
  readonly #told = new Set<PeerReader>()
  /** The requests for the history, of readers that came later. */
  readonly #late = new Map<PeerReader, PeerRequest>()
  /** Why the peer is away; undefined: it is not, as far as is known. */
  #away: string | undefined
  #awayUs = 0

  constructor(peer: Peer, readers: ReadonlySet<PeerReader>, ask: Ask, clock: Clock) {
    this.#peer = peer
    this.#readers = readers
    this.#ask = ask
    this.#clock = clock
  }

  /** Asks for what is missing, and tells again that the peer is away. */
  look(): void {
    if (this.#peer.http === undefined) this.#isAway('it serves no HTTP')
    else this.#stream ??= this.#ask(this.#peer, undefined, this.#line, (reason) => this.#ended(reason))
    for (const reader of this.#isTold ? this.#readers : []) this.#tellLate(reader)
    if (this.#away !== undefined && this.#clock.monoUs() - this.#awayUs >= awayAgainUs) this.#tellAway()
  }

  /** A reader has come. */
  welcome(reader: PeerReader): void {
    if (this.#away !== undefined) reader.take(this.#awayLine(this.#away))
  }

  /** A reader has gone. */
  forget(reader: PeerReader): void {
    this.#told.delete(reader)
    this.#late.get(reader)?.end('')
    this.#late.delete(reader)
  }

  /** The peer is no peer any more. */
  leave(reason: string): void {
    this.close()
    this.#away = reason
    this.#tellAway()
  }

  /** Ends its requests. */
  close(): void {
    this.#stream?.end('')
    for (const late of this.#late.values()) late.end('')
  }

  #line: OnLine = (type, bytes) => {
    if (type === 'history') {
      this.#isTold = true
      this.#away = undefined
      for (const reader of this.#readers) this.#told.add(reader)
    }
    for (const reader of this.#told) reader.take({ type, node: this.#peer.id, bytes })
  }

  #ended(reason: string): void {
    this.#stream = undefined
    this.#isTold = false
    this.#told.clear()
    if (reason !== '') this.#isAway(reason)
  }

  #isAway(reason: string): void {
    const isNews = this.#away === undefined
    this.#away = reason
    if (isNews) this.#tellAway()
  }

  #tellAway(): void {
    this.#awayUs = this.#clock.monoUs()
    const line = this.#awayLine(this.#away!)
    for (const reader of this.#readers) reader.take(line)
  }

  #awayLine(reason: string): PeerLine {
    const node = this.#peer.id
    const line = { type: 'away', node, atMs: Math.floor(this.#clock.wallUs() / 1000), reason } as const
    return { type: 'away', node, bytes: Buffer.from(`${JSON.stringify(line)}\n`) }
  }

  #tellLate(reader: PeerReader): void {
    if (this.#told.has(reader) || this.#late.has(reader)) return
    const take: OnLine = (type, bytes) => {
      this.#told.add(reader)
      reader.take({ type, node: this.#peer.id, bytes })
    }
    const over = () => this.#late.delete(reader)
    this.#late.set(reader, this.#ask(this.#peer, 0, take, over))
  }
}

/** One request to a peer. */
class PeerRequest {
  readonly #sent: ClientRequest
  readonly #node: string
  readonly #clock: Clock
  readonly #onLine: OnLine
  readonly #onEnd: (reason: string) => void
  #isOver = false
  #deadline: Timer | undefined
  /** The beginning of a line. */
  #parts: Buffer[] = []
  #length = 0

  constructor(
    sent: ClientRequest,
    node: string,
    clock: Clock,
    onLine: OnLine,
    onEnd: (reason: string) => void,
  ) {
    this.#sent = sent
    this.#node = node
    this.#clock = clock
    this.#onLine = onLine
    this.#onEnd = onEnd
    this.#wait(answerMs, 'answered')
    sent.on('error', (error: NodeJS.ErrnoException) =>
      this.end(`it cannot be reached (${error.code ?? error.message})`),
    )
    sent.on('response', (head) => {
      const { statusCode = 0 } = head
      if (statusCode !== 200)
        return this.end(`it answers ${statusCode}${statusCode === 401 ? ', as an earlier version does' : ''}`)
      this.#wait(silentMs, 'sent a line')
      head.on('data', (chunk: Buffer) => this.#receive(chunk))
      for (const event of ['end', 'error']) head.on(event, () => this.end('its stream has ended'))
    })
    sent.end()
  }

  /** Ends it; `reason` is told once. */
  end(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadline?.cancel()
    this.#sent.destroy()
    this.#onEnd(reason)
  }

  #wait(ms: number, forWhat: string): void {
    this.#deadline?.cancel()
    this.#deadline = this.#clock.timer(ms, () => this.end(`it has not ${forWhat} for ${ms / 1000} s`))
  }

  #receive(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(newline); at >= 0 && !this.#isOver; at = chunk.indexOf(newline, from)) {
      this.#add(chunk.subarray(from, at + 1))
      from = at + 1
      const line = Buffer.concat(this.#parts)
      this.#parts = []
      this.#length = 0
      if (!this.#isOver) this.#take(line)
    }
    if (from < chunk.length && !this.#isOver) this.#add(chunk.subarray(from))
  }

  #add(part: Buffer): void {
    this.#parts.push(part)
    this.#length += part.length
    if (this.#length > lineBytesMax) this.end(`it has sent a line of more than ${lineBytesMax} bytes`)
  }

  #take(line: Buffer): void {
    this.#wait(silentMs, 'sent a line')
    turns.spend(line.length)
    const type = typeOf(line, this.#node)
    if (type === undefined) this.end('it has sent what is no line of its live stream')
    else this.#onLine(type, line)
  }
}

/** The type of a line of this node; undefined: it is none. */
function typeOf(line: Buffer, node: string): 'history' | 'tick' | undefined {
  try {
    const read = JSON.parse(line.toString())
    return read.node === node && ['history', 'tick'].includes(read.type) ? read.type : undefined
  } catch {
    return undefined
  }
}
