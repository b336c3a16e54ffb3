/**
 * The regression check of an etcd (see ../regression.ts). The key of the state names the store and numbers its histories;
 * the header of each reply has the revision.
 *
 * Invariants
 *  1. A history is later than another of the same store if its number is higher and its status open. Where the state of
 *     another store was observed, a later history of that store is accepted as well: an operator has advanced it.
 *  2. The state of an advance in progress is never accepted: only the process that advances writes with it.
 *  3. The number of a history is compared before its revisions: those of a restored etcd begin at an older one.
 */
import { accept, observe, type Position, type RegressionCheck, regressionOf, suspect } from '../regression.ts'
import type { Header } from './api.ts'
import { present, type State } from './state.ts'

/** A state, and the revision at which it was written: 0 when there is none. */
export type Known = { readonly state: State; readonly revision: bigint }

/** How far an etcd has come, and the state there. */
export type StorePosition = Position<'revision'> & { readonly known: Known }

/** The check at the moment at which a call is sent. */
export type Sent = RegressionCheck<StorePosition>

/** Persisted as the note of a suspected state. */
const earlierCopy = 'an older copy was put in place, from before the last advance'

/** A revision that no key has. */
const never = -1n

/** The history that this process accepts. */
export class History {
  #check: Sent
  #turns = 0

  constructor(known: Known, header: Header) {
    // A process that is started during an advance of another does not write either.
    const accepted = known.state.status === 'advancing' ? { ...known, revision: never } : known
    this.#check = { accepted: positionOf(accepted, header), advances: 0 }
    this.observe(header, known, this.#check)
  }

  /** Take it before a call is sent, for the check of its reply. */
  get check(): Sent {
    return this.#check
  }

  /**
   * How often a regression was suspected, and how often a later history was accepted. After that a revision may stand for another
   * write than before, and a higher one need not be later: Fahao itself writes to a store that has gone back.
   */
  get turns(): number {
    return this.#turns
  }

  /** The state as this process accepts it. */
  get known(): Known {
    return this.#check.accepted.known
  }

  /** Why nothing may be written, while a regression is suspected. */
  get wrong(): string | undefined {
    return this.#check.suspected?.reason
  }

  /** Whether the store is suspected to be from before its latest advance. */
  get isEarlier(): boolean {
    return this.wrong === earlierCopy
  }

  /** Checks a reply that carried the state; undefined: there is none. Returns whether it showed an advance by another. */
  observe(header: Header, found: Known | undefined, sent: Sent): boolean {
    const before = this.#check
    if (found === undefined)
      this.suspect('its state is gone: the keys were removed, or another etcd was put in its place')
    else {
      const isLater = this.#isLater(header, found)
      const wrong = isLater ? undefined : wrongWith(header, found, sent.accepted)
      const isUnfinished = found.state.status === 'advancing' && wrong === undefined
      const position = positionOf(isUnfinished ? this.known : found, header)
      this.#goOn(observe(before, { position, isLater, wrong }, sent))
    }
    return this.#check.advances > before.advances
  }

  /** Checks a reply without the state: its transaction compared the state, and found the accepted one. */
  observeSame(header: Header, sent: Sent): void {
    if (sent.advances === this.#check.advances) this.observe(header, this.known, sent)
  }

  /** Accepts what an advance of this process has begun. */
  accept(known: Known, header: Header): void {
    this.#goOn(accept(this.#check, positionOf(known, header)))
  }

  /** Suspects a regression for a reason other than the position. */
  suspect(reason: string): void {
    this.#goOn(suspect(this.#check, reason))
  }

  #goOn(check: Sent): void {
    const { advances, suspected } = this.#check
    const isSuspected = suspected === undefined && check.suspected !== undefined
    if (isSuspected || check.advances !== advances) this.#turns++
    this.#check = check
  }

  #isLater(header: Header, { state }: Known): boolean {
    const { accepted, suspected } = this.#check
    const others = [accepted, suspected?.position].flatMap((position) => position?.known.state ?? [])
    return (
      state.status === 'open' &&
      state.cluster === header.clusterId &&
      others.some(({ store }) => store === state.store) &&
      others.every((other) => present(state).id > present(other).id)
    )
  }
}

function positionOf(known: Known, { revision }: Header): StorePosition {
  const { state } = known
  return { history: `${state.store} ${present(state).id}`, progress: { revision: BigInt(revision) }, known }
}

/** Why a state cannot come after the accepted one; undefined if it can, or is of a later history. */
function wrongWith(header: Header, found: Known, accepted: StorePosition): string | undefined {
  const { state } = found
  const before = accepted.known.state
  if (state.status === 'suspect') return state.note
  if (state.store !== before.store) return 'another store was put in the place of the one that was here'
  if (present(state).id < present(before).id) return earlierCopy
  if (state.status === 'open' && state.cluster !== header.clusterId)
    return `this etcd (cluster ${header.clusterId}) is a copy of the one that was here (cluster ${state.cluster})`
  if (present(state).id > present(before).id) return undefined
  return regressionOf(positionOf(found, header), accepted)
}
