/**
 * Whether the database is still what this process knows it to be. Databases forget: a dump is restored, a replica
 * takes over without the last writes. Then nothing may be written until an `advance` has begun a new history.
 *
 * Each write carries, in its own statement, the condition that the history be sound (`Known`, see statements.ts):
 * not marked as suspect, on the server on which it was begun or last accepted, and no older than what this process
 * has seen of it. What follows here finds out, from the state that a refused write shows, why it was refused.
 *
 * Invariants
 *  1. What is known never goes back within a lineage. A new lineage is believed only if its pulse has jumped, as an
 *     advance has it; whatever else has another lineage is another store, or an older one.
 *  2. Once this process doubts, only such a jump ends the doubt: restored or not, nothing else is believed.
 *  3. What a write of this process met is durable, and is known at once. What a mere read met may not be (a server
 *     shows commits to others before they have reached the disk), and is known a second later.
 *  4. Whoever holds something by the old history is told when a new one is believed, also where the loss itself was
 *     noticed by others only.
 *  5. A database that shows a history from before the latest advance lacks all that was reserved since. The reason that
 *     the mark carries says so to every process, and no process advances such a database by itself.
 *  6. What was asked before a new history was believed, and answered after that, says nothing against the new one.
 */
import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { earlierStore } from '../advance.ts'
import { type Ask, integerOf, optionalTextOf, type Row, type SqlCommand, textOf } from './driver.ts'

/** Added to pulses, revisions and versions where history is cut: more than can have been forgotten. */
export const historyJump = 2n ** 32n

/** The state row. */
export type State = {
  readonly lineage: string
  readonly pulse: bigint
  readonly revision: bigint
  readonly lastWriteUs: number
  readonly suspect: string | undefined
  /** On which server the history was begun or accepted, and which one answered. */
  readonly server: string
  readonly identity: string
}

/** What a write demands of the state. */
export type Known = Pick<State, 'lineage' | 'pulse' | 'revision'>

/** How many advances a process knows of that are not part of this state: each moves the pulse by a jump. */
export function advancesBetween({ pulse }: State, known: Known): bigint {
  return known.pulse > pulse ? (known.pulse - pulse + historyJump / 2n) / historyJump : 0n
}

/** The state in a row that has its columns. Throws UNAVAILABLE when there is none. */
export function stateOf(row: Row | undefined): State {
  if (row === undefined)
    throw new FahaoError('UNAVAILABLE', 'fahao_about has no row: is a dump being restored?')
  return {
    lineage: textOf(row.lineage),
    pulse: integerOf(row.pulse),
    revision: integerOf(row.revision),
    lastWriteUs: Number(textOf(row.last_write_us)),
    suspect: optionalTextOf(row.suspect),
    server: textOf(row.server),
    identity: textOf(row.identity),
  }
}

/** What a change of the state row has made of it; undefined if it was not carried out. */
export function doneStateOf(row: Row | undefined): Known | undefined {
  const lineage = optionalTextOf(row?.done_lineage)
  if (lineage === undefined) return undefined
  return { lineage, pulse: integerOf(row!.done_pulse), revision: integerOf(row!.done_revision) }
}

const settleUs = 1_000_000
const earlierHistory = 'it has another history than the one that was in use'
const remedy = "nothing is reserved until 'fahao advance --by N' has skipped what can have been forgotten"

/** What a history needs of its engine. */
export type HistoryOptions = {
  readonly clock: Clock
  /** The command that marks a lineage. */
  readonly mark: (reason: string, lineage: string) => SqlCommand
  readonly onRegressed: (reason: string) => void
  /** Another process has begun a new history, and this one believes it. */
  readonly onAdvanced: () => void
}

/** See the invariants at the top of the file. */
export class History {
  /** How many new histories have been believed. */
  advances = 0
  readonly #options: HistoryOptions
  #known: Known
  #doubt: string | undefined
  #read: { readonly state: State; readonly atUs: number } | undefined

  constructor(options: HistoryOptions, { lineage, pulse, revision }: State) {
    this.#options = options
    this.#known = { lineage, pulse, revision }
  }

  /** For the next write. */
  get known(): Known {
    return this.#doubt === undefined ? this.#known : { ...this.#known, lineage: '' }
  }

  /**
   * Why this state is not to be trusted; undefined if it is.
   * @param known what was known when it was asked for: an answer may come late.
   */
  objection(state: State, known: Known): string | undefined {
    const found = this.#find(state, known)
    if (found === undefined || found === state.suspect || found === this.#doubt) return found
    return describeLoss(found)
  }

  /** Rejects with REGRESSED if no gap that was chosen in advance covers what this state lacks; `known` as in `objection`. */
  refuseEarlier(state: State, known: Known): void {
    if (this.#find(state, known)?.includes(earlierHistory) !== true) return
    throw earlierStore('database')
  }

  /** Rejects with REGRESSED if this state is not to be trusted; see `objection`. */
  async check(ask: Ask, state: State, known: Known): Promise<void> {
    const reason = this.objection(state, known)
    if (reason !== undefined) await this.#refuse(ask, state, known, reason)
  }

  /** History was lost, as `found` shows; `known` as in `objection`. Rejects with REGRESSED. */
  refuse(ask: Ask, state: State, known: Known, found: string): Promise<never> {
    return this.#refuse(ask, state, known, describeLoss(found))
  }

  /** A write of this process has met this state, and was carried out. */
  wrote(state: Known): void {
    if (this.#learn(state)) this.#options.onAdvanced()
  }

  /** This process has begun a new history. */
  began(state: Known): void {
    this.#learn(state)
  }

  /** A read has found this state. */
  saw(state: State): void {
    const nowUs = this.#options.clock.monoUs()
    if (this.#read !== undefined && nowUs - this.#read.atUs < settleUs) return
    const settled = this.#read?.state
    this.#read = { state, atUs: nowUs }
    if (settled !== undefined && this.#find(settled, this.#known) === undefined) this.wrote(settled)
  }

  /** Whether it is of another history than what was known. */
  #learn(state: Known): boolean {
    const { lineage, pulse, revision } = this.#known
    if (lineage === state.lineage) {
      this.#known = { lineage, pulse: later(pulse, state.pulse), revision: later(revision, state.revision) }
      return false
    }
    if (state.pulse <= pulse) return false
    this.#known = { lineage: state.lineage, pulse: state.pulse, revision: state.revision }
    this.#doubt = undefined
    this.#read = undefined
    this.advances++
    return true
  }

  /** Marks the lineage, so that all other processes stop as well; this one remembers, whatever becomes of the mark. */
  async #refuse(ask: Ask, state: State, known: Known, reason: string): Promise<never> {
    if (this.#known.pulse >= known.pulse + historyJump / 2n) {
      const message = 'the history of the database was advanced while this was on its way; retry'
      throw new FahaoError('UNAVAILABLE', message)
    }
    this.#doubt ??= reason
    this.#options.onRegressed(reason)
    if (state.suspect === undefined) await ask(this.#options.mark(reason, state.lineage)).catch(() => {})
    throw new FahaoError('REGRESSED', reason)
  }

  #find(state: State, { lineage, pulse, revision }: Known): string | undefined {
    if (state.suspect !== undefined) return state.suspect
    const hasJumped = state.pulse >= pulse + historyJump / 2n
    if (!hasJumped && this.#doubt === undefined && state.lineage !== lineage) return earlierHistory
    if (state.server !== state.identity)
      return `its history was written on server ${state.server}, and this is server ${state.identity}`
    if (hasJumped) return undefined
    if (this.#doubt !== undefined) return this.#doubt
    if (state.pulse >= pulse && state.revision >= revision) return undefined
    return `it stands at pulse ${state.pulse} and revision ${state.revision}, after ${pulse} and ${revision} were seen`
  }
}

function describeLoss(found: string): string {
  return `the database is not what it was: ${found}; ${remedy}`
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
