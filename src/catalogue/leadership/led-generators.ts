/**
 * The generators that are open under a leadership of this node, and how that leadership ends for them.
 *
 * Each leadership has a gate (issuing/gate.ts). A lapse closes the gates, a resumed lease opens them, and the end of a leadership
 * ends its gate: one write for each leadership, however many generators it has. What follows for each generator is
 * done later, in parts between which others run: a standby takes its place, here or when the generator is next
 * looked for, and its timers and its row are freed.
 *
 * Invariants
 *  1. When a listener's call returns, the leadership that it was called for issues no more ids. After a lapse none does,
 *     until the lease has been resumed.
 *  2. Ids buffered under a leadership are never issued here after its end. In a hand-over their range is transferred to
 *     the successor or released, within the time that a hand-over may take, the most valuable ranges first; the rest becomes a
 *     gap.
 *  3. A generator whose range the leader before has left is opened as soon as the leadership is won: callers wait for it.
 *  4. A leadership has one gate at a time, which was made while it lasted: a generator that was opened under one that is over
 *     has none, or an ended one.
 */
import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { LeaderTerm } from '../../cluster/events.ts'
import type { LeftoverRange } from '../../cluster/records.ts'
import type { Reservation } from '../../engine/engine.ts'
import { nextTurn } from '../../engine/next-turn.ts'
import type { Gate } from '../../issuing/gate.ts'
import type { IssuingGates } from '../../issuing/issuing-gates.ts'
import type { Reservoir } from '../../issuing/reservoir.ts'
import { gapText, valuableFirst } from '../closings.ts'
import { LeftoverRanges, leftoverOf } from './leftover-ranges.ts'

/** What issues under a leadership. */
export type LedIssuer = Pick<Reservoir, 'isOver' | 'idle' | 'close' | 'abandon'> &
  // Absent: what it holds is of several counters, and is released.
  Partial<Pick<Reservoir, 'transfer'>>

/** A generator that is open under a leadership of this node. */
export type LedGenerator = {
  readonly name: string
  readonly version: bigint
  readonly ledIssuer: LedIssuer | undefined
  readonly buffered: number
}

/** What the generators under leaderships need from their catalogue. */
export type LedGeneratorsDeps = {
  readonly cluster: Cluster
  readonly clock: Clock
  readonly gates: IssuingGates
  readonly onEvent: (event: { level: 'info' | 'warn'; message: string }) => void
  /** Opens a generator that has a leftover range, under a leadership that has just been won. */
  readonly open: (name: string, term: LeaderTerm) => void
  /** Puts a standby in the place of a generator whose leadership has ended, if it has not been replaced yet. */
  readonly demote: (generator: LedGenerator) => void
  /** Closes the sections of families whose gates have ended. */
  readonly closeEndedSections: () => Promise<void>
}

/** The most ranges that are left to the successor: they are in the record that names it, which must stay small. */
const leftoversMax = 16
/** How many ranges are released at a time: the write that resigns must not wait behind thousands of releases. */
const releasesMax = 16
/** How many generators are replaced before others run. */
const replacedTogether = 100

/** One leadership. */
type Led = {
  readonly gate: Gate
  readonly generators: Set<LedGenerator>
}

/** The generators under every leadership of this node. */
export class LedGenerators {
  readonly #deps: LedGeneratorsDeps
  readonly #terms = new Map<LeaderTerm, Led>()
  /** What the leaders before have left and no generator has continued yet. */
  readonly #leftovers = new Map<LeaderTerm, LeftoverRanges>()
  readonly #closing = new Set<Promise<void>>()
  readonly #stopListening: () => void

  constructor(deps: LedGeneratorsDeps) {
    this.#deps = deps
    this.#stopListening = deps.cluster.listen({
      onLapse: () => {
        for (const { gate } of this.#terms.values()) gate.close()
      },
      onResume: () => {
        for (const { gate } of this.#terms.values()) gate.open()
      },
      onWon: (term) => {
        const leftovers = new LeftoverRanges(term.leftovers)
        this.#leftovers.set(term, leftovers)
        for (const name of leftovers.names()) deps.open(name, term)
      },
      onLost: (term) => {
        const led = this.#end(term, (gate) => gate.drop(ended()))
        if (led !== undefined) void this.#closed(this.#replace(led))
      },
      onLosing: (term, leftovers, releaseMs) => this.#handOver(term, leftovers, releaseMs),
    })
  }

  /** Whether a range is left for this leadership of a generator whose record has this version. */
  hasLeftover(name: string, version: bigint, term: LeaderTerm): boolean {
    return this.#leftovers.get(term)?.has(name, version) === true
  }

  /** Takes the range of `hasLeftover`. None is left afterwards, because the caller is about to issue. */
  takeLeftover(name: string, version: bigint, term: LeaderTerm): Reservation | undefined {
    return this.#leftovers.get(term)?.take(name, version)
  }

  /** The gate of a leadership, of this slot among others. Undefined: it has ended. */
  gateOf(slot: number, term: LeaderTerm): Gate | undefined {
    const { cluster, gates } = this.#deps
    const known = this.#terms.get(term)
    if (known !== undefined) return known.gate
    if (cluster.held(slot) !== term) return undefined
    const gate = gates.ofTerm()
    this.#terms.set(term, { gate, generators: new Set() })
    if (!cluster.check()) gate.close()
    return gate
  }

  /** Adds a generator that was just opened under a leadership. If that has ended, stops it and returns false. */
  add(term: LeaderTerm, generator: LedGenerator): boolean {
    const led = this.#terms.get(term)
    if (led === undefined || generator.ledIssuer?.isOver !== false) {
      this.discard(generator.ledIssuer)
      return false
    }
    led.generators.add(generator)
    this.#deps.cluster.check()
    return true
  }

  /** Drops every range that no generator has continued yet: it becomes a gap. */
  dropLeftovers(): void {
    this.#leftovers.clear()
  }

  /** Drops what every generator has buffered, and every range that none has continued yet: they become gaps. */
  dropAll(reason: Error): void {
    this.dropLeftovers()
    for (const { gate } of this.#terms.values()) gate.drop(reason)
    this.#terms.clear()
  }

  /** Nothing is issued under any leadership any more. */
  endAll(reason: Error): void {
    for (const { gate } of this.#terms.values()) gate.end(reason)
    this.#terms.clear()
  }

  /** Stops an issuer that was opened and has issued nothing. */
  discard(issuer: LedIssuer | undefined): void {
    if (issuer !== undefined) void this.#closed(issuer.abandon(ended()))
  }

  /** Removes a generator that was closed for another reason. */
  remove(term: LeaderTerm, generator: LedGenerator): void {
    this.#terms.get(term)?.generators.delete(generator)
  }

  /** Resolves when every issuer that was stopped here has closed. */
  async close(): Promise<void> {
    this.#stopListening()
    await Promise.all(this.#closing)
  }

  /** Ends a leadership's gate before it returns. */
  #end(term: LeaderTerm, end: (gate: Gate) => void): Led | undefined {
    const led = this.#terms.get(term)
    this.#terms.delete(term)
    this.#leftovers.delete(term)
    if (led !== undefined) end(led.gate)
    return led
  }

  /** Puts standbys in the places of generators whose leadership has ended, and frees what they have. */
  async #replace({ generators }: Led): Promise<void> {
    void this.#closed(this.#deps.closeEndedSections())
    let replaced = 0
    for (const generator of generators) {
      this.#deps.demote(generator)
      void generator.ledIssuer?.abandon(ended())
      if (++replaced % replacedTogether === 0) await nextTurn()
    }
    await Promise.all([...generators].map(({ ledIssuer }) => ledIssuer?.idle()))
  }

  /**
   * Leaves the ranges of as many generators as allowed to the successor, and releases the others, the most valuable first.
   * Resolves when the last releases have been sent: the write that resigns goes beside them, not after them. A release
   * that the successor overtakes is refused, or comes too late to be used: its range is a gap then.
   */
  async #handOver(
    term: LeaderTerm,
    leftovers: LeftoverRange[] | undefined,
    releaseMs: number,
  ): Promise<void> {
    const { clock, onEvent } = this.#deps
    const reason = ended()
    const led = this.#end(term, (gate) => gate.end(reason))
    if (led === undefined) return
    const untilUs = clock.monoUs() + releaseMs * 1000
    const queue = valuableFirst(led.generators)
    let next = 0
    const lane = async () => {
      while (next < queue.length) {
        const { name, version, ledIssuer } = queue[next++]!
        if (ledIssuer === undefined) continue
        // The range of a reserve under way is part of the leftover.
        await ledIssuer.idle()
        if (clock.monoUs() >= untilUs) return
        if (ledIssuer.transfer && leftovers !== undefined && leftovers.length < leftoversMax) {
          const range = ledIssuer.transfer(reason)
          if (range !== undefined) leftovers.push(leftoverOf(name, version, range))
          continue
        }
        const release = this.#closed(ledIssuer.close(reason))
        if (next < queue.length) await release
      }
    }
    await Promise.all(Array.from({ length: releasesMax }, lane))
    const gaps = gapText(queue)
    if (gaps !== undefined)
      onEvent({ level: 'info', message: `shard ${term.shard} was handed over: ${gaps}` })
    void this.#closed(this.#replace(led))
  }

  #closed(closing: Promise<void>): Promise<void> {
    this.#closing.add(closing)
    return closing.finally(() => this.#closing.delete(closing))
  }
}

function ended(): FahaoError {
  return new FahaoError('STALE', 'this node does not lead this generator any more; retry')
}
