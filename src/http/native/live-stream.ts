/**
 * The lines that one reader of `GET /v1/live` gets.
 *
 * Invariants
 *  1. A line tells nothing of a name that the permissions of its reader do not reach, and no sums in which such names are.
 *  2. A stream ends when anything about its reader's user or token changes, at the latest with the next tick.
 *  3. Of a stream whose client does not read, one tick of this node or one part of its history waits at most, and one history and one
 *     tick of each other node. Ticks are totals, so one that is left out is in the next. A stream that has begun no line for
 *     `unreadUs` while a history of another node waits is closed.
 *  4. Lines follow each other whole, and take turns: none is kept back by those of other nodes.
 */
import { Readable } from 'node:stream'
import type { Access } from '../../auth/access.ts'
import { turns } from '../../listening/turns.ts'
import { type History, keptMax } from '../../metrics/history.ts'
import type { NodeEvents } from '../../metrics/node-events.ts'
import { stepSeconds } from '../../metrics/steps.ts'
import type { FahaoNode } from '../../node/node.ts'
import type { Following, PeerLine, PeerReader } from './peer-streams.ts'

/** Lines are written in parts of about this many bytes. */
const partBytes = 32_768
const unreadUs = 10_000_000
/** A tick tells of events of this time again: where it is passed on to a reader that is slow, a later one may take its place. */
const eventMs = 10_000

/** Who reads, and what it asks for. */
export type Reader = {
  readonly access: Access
  readonly asked: readonly string[]
  readonly ticks: number
  /** Follows the other nodes for a reader of them; undefined: it is told of this node alone. */
  readonly follow: ((take: PeerReader['take']) => Following) | undefined
}

/** The key of the next tick of this node among the lines that wait. */
const own = ''

/** The lines of one reader. */
export class LiveStream extends Readable {
  readonly #history: History
  readonly #events: NodeEvents
  readonly #node: FahaoNode
  readonly #reader: Reader
  readonly #unfollow: () => void
  readonly #peers: Following | undefined
  /** The node that the lines before were of: a process that joins its cluster again is another node. */
  #nodeId: string
  /** The rest of the history. */
  #parts: Iterator<string> | undefined
  /** The rest of a line. */
  #rest: Buffer | undefined
  /** The lines that wait, each behind those that came before; undefined: it is made when it goes. */
  readonly #waiting = new Map<string, PeerLine | undefined>()
  /** Whether all that was pushed has gone to the socket, which has room. */
  #isWanted = false
  #isQueued = false
  #ticks = 0
  /** When the newest line was begun, and whether it is the history of another node. */
  #begunUs: number
  #isPeerHistory = false
  /** How many events were noted when they were last told. */
  #eventsTold = 0
  /** Of each other node, the type of its newest line that was pushed. */
  readonly #told = new Map<string, PeerLine['type']>()
  /** Whether the reader may name a generator, by name. */
  readonly #reached = new Map<string, boolean>()
  /** Of a reader that may not name every generator: what those had issued that it was told of, and their sum. */
  #seen: Map<string, number> | undefined
  #sum = 0

  constructor(history: History, events: NodeEvents, node: FahaoNode, reader: Reader) {
    super({ objectMode: true, highWaterMark: 0 })
    this.#history = history
    this.#events = events
    this.#node = node
    this.#reader = reader
    this.#nodeId = idOf(node)
    this.#begunUs = node.timeline.monoUs()
    const asked = reader.asked.filter((name) => this.#reaches(name))
    this.#unfollow = history.follow(asked, () => this.#tick())
    this.#parts = this.#historyParts(history.step)
    this.#peers = reader.follow?.((line) => this.#takeLine(line))
  }

  override _read(): void {
    this.#isWanted = true
    this.#goOn()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#end()
    callback(error)
  }

  /** Pushes the next part of what is to be told. */
  takeTurn(): void {
    this.#isQueued = false
    if (this.destroyed || !this.#isWanted) return
    const isHistory = this.#parts !== undefined && this.#rest === undefined
    const part = isHistory ? this.#historyPart(this.#parts!) : this.#nextPart()
    if (part !== undefined) {
      this.#isWanted = false
      this.push(part)
    } else if (this.#parts !== undefined) this.#wait()
    if (this.#isComplete) this.finish()
  }

  /** Ends the stream behind what was pushed. */
  finish(): void {
    this.#end()
    this.#isWanted = false
    this.push(null)
  }

  /** Ends the stream if its reader's user or token is not what it was. Returns whether it does. */
  endIfChanged(): boolean {
    try {
      if (this.#node.access.unchanged(this.#reader.access) !== undefined) return false
    } catch {
      // The users have not been known for too long.
    }
    // What a client has not read is not kept for it.
    if (this.#isWanted) this.finish()
    else this.destroy()
    return true
  }

  #end(): void {
    this.#unfollow()
    this.#peers?.end()
  }

  #goOn(): void {
    if (this.destroyed || !this.#isWanted || this.#isQueued) return
    if (turns.over) this.#wait()
    else this.takeTurn()
  }

  #wait(): void {
    this.#isQueued = true
    turns.wait(this, false)
  }

  #tick(): void {
    if (this.endIfChanged() || this.#endIfUnread() || this.#ticks >= this.#reader.ticks) return
    if (this.#parts === undefined && this.#nodeId !== idOf(this.#node)) {
      this.#nodeId = idOf(this.#node)
      this.#parts = this.#historyParts(this.#history.step)
    }
    if (this.#parts === undefined) this.#waiting.set(own, undefined)
    this.#goOn()
  }

  #endIfUnread(): boolean {
    if (this.#isWanted || this.#node.timeline.monoUs() - this.#begunUs < unreadUs) return false
    const isHeld =
      (this.#isPeerHistory && this.#rest !== undefined) ||
      [...this.#waiting.values()].some((each) => each?.type === 'history')
    if (isHeld) this.destroy()
    return isHeld
  }

  #takeLine(line: PeerLine): void {
    const { type, node } = line
    if (type === 'tick' && this.#reader.ticks === 0) return
    // A history begins anew.
    if (type === 'history') this.#waiting.delete(`tick ${node}`)
    this.#waiting.set(`${type === 'history' ? type : 'tick'} ${node}`, line)
    this.#goOn()
  }

  #historyPart(parts: Iterator<string>): string | undefined {
    let part = ''
    do {
      const { done, value } = parts.next()
      if (done) this.#parts = undefined
      else part += value
    } while (part.length < partBytes && this.#parts !== undefined && !turns.over)
    turns.spend(2 * part.length)
    return part === '' ? undefined : part
  }

  /** The next part of a line; undefined: none waits, or the stream has ended. */
  #nextPart(): Buffer | undefined {
    const bytes = this.#rest ?? this.#nextLine()
    if (bytes === undefined) return undefined
    const part = bytes.subarray(0, partBytes)
    this.#rest = part.length < bytes.length ? bytes.subarray(partBytes) : undefined
    turns.spend(part.length)
    return part
  }

  #nextLine(): Buffer | undefined {
    const [next] = this.#waiting
    if (next === undefined || this.endIfChanged()) return undefined
    const [key, line] = next
    this.#waiting.delete(key)
    this.#begunUs = this.#node.timeline.monoUs()
    this.#isPeerHistory = line?.type === 'history'
    if (line !== undefined) this.#told.set(line.node, line.type)
    else this.#ticks++
    return line?.bytes ?? Buffer.from(this.#tickLine())
  }

  /** Whether the reader has all that it asked for: its number of ticks of this node, and of each other node a tick, or that it is away. */
  get #isComplete(): boolean {
    const { ticks } = this.#reader
    if (this.#parts !== undefined || this.#rest !== undefined || this.#ticks < ticks) return false
    const isTold = (type: PeerLine['type'] | undefined) =>
      type !== undefined && (ticks === 0 || type !== 'history')
    return [...(this.#peers?.peers() ?? [])].every((id) => isTold(this.#told.get(id)))
  }

  /** The names of the busiest and of those that are asked for, as far as they are kept. The reader may not be told of all of them. */
  get #names(): string[] {
    const names = new Set([...this.#history.busiest, ...this.#reader.asked])
    return [...names].filter((name) => this.#history.textOf(name) !== undefined)
  }

  #reaches(name: string): boolean {
    const { access } = this.#reader
    if (access.reachesAll) return true
    const known = this.#reached.get(name)
    if (known !== undefined) return known
    turns.spend(access.work)
    if (this.#reached.size >= keptMax) this.#reached.clear()
    const reaches = access.reaches(name)
    this.#reached.set(name, reaches)
    return reaches
  }

  *#historyParts(step: number): Generator<string, void> {
    const history = this.#history
    const names: string[] = []
    for (const name of this.#names) {
      if (this.#reaches(name)) names.push(name)
      yield ''
    }
    const isWhole = this.#reader.access.reachesAll
    const issued = isWhole ? history.steps(step) : sumOf(names.map((name) => history.steps(step, name)))
    const errors = isWhole ? history.errorSteps(step) : {}
    const endMs = (step + 1) * stepSeconds * 1000
    const node = this.#nodeId
    const events = isWhole ? this.#events.since(0) : []
    this.#eventsTold = this.#events.count
    const process = this.#node.server.runId
    yield openObject({ type: 'history', node, process, stepSeconds, endMs, issued, errors, events })
    for (const [index, name] of names.entries())
      yield `${index === 0 ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(history.steps(step, name))}`
    yield '}}\n'
  }

  #tickLine(): string {
    const { timeline, server } = this.#node
    const history = this.#history
    const { state, reason } = this.#node.health()
    const isWhole = this.#reader.access.reachesAll
    // Of a name that has become busy in a full turn, a later line tells.
    const mayTell = (name: string) => (this.#reached.has(name) || !turns.over) && this.#reaches(name)
    const names = isWhole ? this.#names : this.#names.filter(mayTell)
    if (!isWhole) this.#add(names)
    const atMs = Math.floor(timeline.nowUs() / 1000)
    const events = isWhole ? this.#events.since(this.#eventsTold, atMs - eventMs) : []
    this.#eventsTold = this.#events.count
    const head = openObject({
      type: 'tick',
      atMs,
      node: this.#nodeId,
      state,
      reason,
      issued: isWhole ? history.issued : this.#sum,
      errors: isWhole ? history.errors : {},
      version: isWhole ? server.version : null,
      cpuSeconds: isWhole ? history.process.cpuSeconds : null,
      memoryBytes: isWhole ? history.process.memoryBytes : null,
      ...(events.length > 0 && { events }),
    })
    return `${head}${names.map((name) => history.textOf(name)).join(',')}}}\n`
  }

  /** Adds up what these have issued. One that is told of later counts from then on, so that the sum never falls. */
  #add(names: readonly string[]): void {
    const before = this.#seen
    this.#seen = new Map(names.map((name) => [name, this.#history.issuedBy(name) ?? 0]))
    for (const [name, issued] of this.#seen)
      this.#sum += issued - (before === undefined ? 0 : (before.get(name) ?? issued))
  }
}

/** The id of a node in its cluster, or of its process. */
export function idOf({ server: { cluster, runId } }: FahaoNode): string {
  return cluster?.nodeId ?? runId
}

/** The members of an object in JSON, whose last one is `generators`, up to its first member. */
function openObject(members: object): string {
  return `${JSON.stringify(members).slice(0, -1)},"generators":{`
}

/** The sums of rows that end with the same step. */
function sumOf(rows: readonly (readonly number[])[]): number[] {
  const sums: number[] = []
  for (const row of rows)
    for (const [index, count] of row.toReversed().entries()) sums[index] = (sums[index] ?? 0) + count
  return sums.reverse()
}
