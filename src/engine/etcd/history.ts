/**
 * Whether the etcd that answers is the one that answered before: none restored from a snapshot, none put in its place.
 *
 * Invariants
 *  1. An answer is compared with what was known when its call was sent. One that comes late, from before an advance that
 *     has been accepted meanwhile, proves nothing, and changes nothing that is known.
 *  2. What was found wrong stays so until an advance has begun a new era of the store.
 */
import type { Header } from './api.ts'
import { present, type State } from './state.ts'

/** A state, and the revision at which it was written: 0 when there is none. */
export type Known = { readonly state: State; readonly revision: bigint }

/** How far a history had come at a moment, as far as was known then. */
export type Seen = { readonly era: bigint; readonly revision: bigint }

const earlierCopy = 'an older copy was put in place, from before the last advance'

/** A revision that no key has. */
const never = -1n

/** See the invariants at the top of the file. */
export class History {
  /** How many advances have been accepted. */
  advances = 0
  #known: Known
  #seen: bigint
  #wrong: string | undefined
  /** What stood there when something was found wrong. */
  #observed: State | undefined

  constructor(known: Known, header: Header) {
    // While somebody advances it, it may not be written to by who has only just come.
    this.#known = known.state.phase === 'advancing' ? { ...known, revision: never } : known
    this.#seen = 0n
    this.heed(header, known, { era: 0n, revision: 0n })
  }

  /** The state as this process accepts it. */
  get known(): Known {
    return this.#known
  }

  /** How far it has come: note it before a call is sent. */
  get seen(): Seen {
    return { era: this.#era, revision: this.#seen }
  }

  /** Why nothing may be written, when this history is not the one that it was. */
  get wrong(): string | undefined {
    return this.#wrong
  }

  /** Whether the store is from before its latest advance, as this process has found or the mark in the store says. */
  get isEarlier(): boolean {
    return this.#wrong === earlierCopy
  }

  /** Looks at an answer that carried no state: the state was seen to be unchanged in the same step. */
  hear(header: Header, seenBefore: Seen): void {
    if (seenBefore.era !== this.#era) return
    this.#wrong ??= this.#contradiction(header, this.#known.state, seenBefore)
    this.#grow(header)
  }

  /**
   * Looks at an answer that carried the state; undefined: there is none. Whether somebody else has advanced the store,
   * which this process accepts.
   */
  heed(header: Header, found: Known | undefined, seenBefore: Seen): boolean {
    if (found === undefined) {
      this.#wrong ??= 'its state is gone: the keys were removed, or another etcd was put in its place'
      return false
    }
    if (this.#accepts(found.state, header)) {
      this.accept(found, header)
      return true
    }
    if (present(found.state).id < this.#era && seenBefore.era < this.#era) return false
    const wrong = this.#contradiction(header, found.state, seenBefore)
    if (wrong !== undefined) {
      this.#wrong ??= wrong
      this.#observed = found.state
    } else if (this.#wrong === undefined) {
      // The state of an advance is nobody else's to compare with.
      if (found.state.phase === 'open') this.#known = found
      this.#grow(header)
    }
    return false
  }

  /** Takes this for the truth from now on. */
  accept(known: Known, header: Header): void {
    this.#known = known
    this.#seen = BigInt(header.revision)
    this.#wrong = undefined
    this.#observed = undefined
    this.advances++
  }

  /** A bound was seen below what this process was given. */
  doubt(reason: string): void {
    this.#wrong ??= reason
  }

  get #era(): bigint {
    return present(this.#known.state).id
  }

  #grow(header: Header): void {
    const revision = BigInt(header.revision)
    if (this.#wrong === undefined && revision > this.#seen) this.#seen = revision
  }

  /** Whether somebody has advanced the store since this process last agreed with it. */
  #accepts(found: State, header: Header): boolean {
    if (found.phase !== 'open' || found.cluster !== header.clusterId) return false
    const { state } = this.#known
    const era = present(found).id
    if (era <= this.#era) return false
    if (found.store === state.store) return this.#observed === undefined || era > present(this.#observed).id
    return this.#observed?.store === found.store && era > present(this.#observed).id
  }

  #contradiction(header: Header, found: State, seenBefore: Seen): string | undefined {
    const { state } = this.#known
    if (found.phase === 'suspect') return found.note
    if (found.store !== state.store) return 'another store was put in the place of the one that was here'
    if (present(found).id < this.#era) return earlierCopy
    if (found.phase === 'open' && found.cluster !== header.clusterId)
      return `this etcd (cluster ${header.clusterId}) is a copy of the one that was here (cluster ${found.cluster})`
    if (BigInt(header.revision) < seenBefore.revision)
      return `an older copy was put in place: it is at revision ${header.revision}, after ${seenBefore.revision} was acknowledged`
    return undefined
  }
}
