/**
 * The live streams of the other nodes of a cluster, the peers, for the readers of this node.
 *
 * Invariants
 *  1. A peer is asked as the reader, by a proof of its user and the id of its token: it tells what it may tell that reader. It is
 *     asked for its own lines alone, so that no line goes round.
 *  2. Readers of one access that ask for the same names share a stream of each peer. None is open without a reader.
 *  3. A line is passed on as it came, if its head is that of a line of that peer.
 *  4. A reader gets ticks of a peer only behind a history of that peer, and a history whenever its stream is opened anew.
 *  5. A peer whose stream has failed is told to be away. It is asked again after pauses that grow, and after a refusal of its own not
 *     before the longest of them.
 *  6. A reader that may not name every generator is not told why a peer is away.
 */
import type { Access } from '../../auth/access.ts'
import type { Proving } from '../../auth/node-proof.ts'
import { addressOf } from '../../base/address.ts'
import { type Clock, repeat, type Timer } from '../../base/clock.ts'
import type { Dial } from '../../listening/dial.ts'
import type { ClusterView } from '../../operations/context.ts'
import { provenHeaders } from '../forwarded.ts'
import { Agent, request } from '../plain-http.ts'
import { type OnEnd, type OnLine, PeerRequest } from './peer-request.ts'

const awayAgainUs = 10_000_000
/** From one request to the next. */
const [pauseMinUs, pauseMaxUs] = [1_000_000, 10_000_000]
/** How long a connection is kept that no request uses: shorter than servers keep it. */
const idleMs = 5000

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
    const agent = new Agent({ keepAlive: true, timeout: idleMs })
    agent.createConnection = ({ host, port }) => sources.dial({ host: host!, port: Number(port) })
    this.#sources = { ...sources, agent }
  }

  /** Has a reader told of all peers from now on. */
  follow(reader: PeerReader): Following {
    const names = [...reader.names].sort().join(',')
    const known = [...this.#shared].find((each) => each.access === reader.access && each.names === names)
    const shared = known ?? new SharedStreams(this.#sources, reader, names)
    this.#shared.add(shared)
    shared.add(reader, this.#peers)
    this.#timer ??= repeat(this.#sources.clock, 1000, async () => {
      const peers = this.#peers
      for (const each of this.#shared) each.look(peers)
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

  get #peers(): readonly Peer[] {
    return this.#sources.cluster.status().nodes.filter(({ isSelf }) => !isSelf)
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

  add(reader: PeerReader, peers: readonly Peer[]): void {
    this.#readers.add(reader)
    for (const link of this.#links.values()) link.welcome(reader)
    this.look(peers)
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

  /** Opens what is missing, and ends what is of no peer any more. The last reader may end with what it is told. */
  look(peers: readonly Peer[]): void {
    for (const [id, link] of this.#links) {
      if (peers.some((peer) => peer.id === id)) continue
      link.leave('it is no longer a node of the cluster')
      this.#links.delete(id)
    }
    const { clock } = this.#sources
    for (const peer of peers) {
      if (this.#readers.size === 0) return
      const link = this.#links.get(peer.id) ?? new Link(peer, this.access, this.#readers, this.#ask, clock)
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

type Ask = (peer: Peer, ticks: 0 | undefined, onLine: OnLine, onEnd: OnEnd) => PeerRequest

/** When a request that has failed may be made again. */
class Pauses {
  readonly #clock: Clock
  #askedUs = 0
  #pauseUs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether a request may be made now: it is. */
  ask(): boolean {
    const nowUs = this.#clock.monoUs()
    if (this.#pauseUs > 0 && nowUs - this.#askedUs < this.#pauseUs) return false
    this.#askedUs = nowUs
    return true
  }

  fail(isRefused: boolean): void {
    const longer = Math.max(pauseMinUs, 2 * this.#pauseUs)
    this.#pauseUs = isRefused ? pauseMaxUs : Math.min(longer, pauseMaxUs)
  }

  succeed(): void {
    this.#pauseUs = 0
  }
}

/** The stream of one peer for its readers. */
class Link {
  readonly #peer: Peer
  readonly #access: Access
  readonly #readers: ReadonlySet<PeerReader>
  readonly #ask: Ask
  readonly #clock: Clock
  readonly #pauses: Pauses
  #stream: PeerRequest | undefined
  /** Whether the history of this stream has come. */
  #isTold = false
  /** The readers that have had a history. */
  readonly #told = new Set<PeerReader>()
  /** The requests for the history, of readers that came later. */
  readonly #late = new Map<PeerReader, { readonly pauses: Pauses; request: PeerRequest | undefined }>()
  /** Why the peer is away; undefined: it is not, as far as is known. */
  #away: string | undefined
  #awayUs = 0

  constructor(peer: Peer, access: Access, readers: ReadonlySet<PeerReader>, ask: Ask, clock: Clock) {
    this.#peer = peer
    this.#access = access
    this.#readers = readers
    this.#ask = ask
    this.#clock = clock
    this.#pauses = new Pauses(clock)
  }

  /** Asks for what is missing, and tells again that the peer is away. */
  look(): void {
    if (this.#peer.http === undefined) this.#isAway('it serves no HTTP')
    else if (this.#stream === undefined && this.#pauses.ask())
      this.#stream = this.#ask(this.#peer, undefined, this.#line, this.#ended)
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
    this.#late.get(reader)?.request?.end('')
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
    for (const { request } of this.#late.values()) request?.end('')
  }

  #line: OnLine = (type, bytes) => {
    if (type === 'history') {
      this.#isTold = true
      this.#pauses.succeed()
      this.#away = undefined
      for (const reader of this.#readers) this.#told.add(reader)
    }
    for (const reader of this.#told) reader.take({ type, node: this.#peer.id, bytes })
  }

  #ended: OnEnd = (reason, isRefused) => {
    this.#stream = undefined
    this.#isTold = false
    this.#told.clear()
    if (reason === '') return
    this.#pauses.fail(isRefused)
    this.#isAway(reason)
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

  #awayLine(known: string): PeerLine {
    const node = this.#peer.id
    const reason = this.#access.reachesAll ? known : 'it is away'
    const line = { type: 'away', node, atMs: Math.floor(this.#clock.wallUs() / 1000), reason } as const
    return { type: 'away', node, bytes: Buffer.from(`${JSON.stringify(line)}\n`) }
  }

  #tellLate(reader: PeerReader): void {
    if (this.#told.has(reader)) return
    const late = this.#late.get(reader) ?? { pauses: new Pauses(this.#clock), request: undefined }
    if (late.request !== undefined || !late.pauses.ask()) return
    this.#late.set(reader, late)
    let isTold = false
    const take: OnLine = (type, bytes) => {
      if (isTold) return late.request?.end('')
      isTold = true
      // It ends by itself now, and its connection is used again.
      this.#late.delete(reader)
      this.#told.add(reader)
      reader.take({ type, node: this.#peer.id, bytes })
    }
    const over: OnEnd = (reason, isRefused) => {
      late.request = undefined
      if (isTold || reason === '') return
      late.pauses.fail(isRefused)
      reader.take(this.#awayLine(reason))
    }
    late.request = this.#ask(this.#peer, 0, take, over)
  }
}
