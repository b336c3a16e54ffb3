/**
 * The regression check of a database (see ../regression.ts). The state row holds the position, and the mark of a process
 * that suspects a regression. Each write carries the check as a condition of its own statement (`Statements.sound`). This
 * module finds out why a statement was not carried out, from the state that its reply shows.
 *
 * Invariants
 *  1. A history is later than another if its pulse is higher by a jump, which only an advance adds.
 *  2. The position after a write of this process is durable, and accepted at once. The position in the reply to a read may
 *     not be durable, because a server shows commits before they have reached its disk. It is accepted a second later.
 *  3. `onAdvanced` is called when this process accepts an advance by another, whether or not it had noticed the loss.
 *  4. A suspected regression is marked in the database, so that all other processes stop as well. This process keeps its
 *     suspicion also if the mark cannot be written.
 *  5. A database that shows a history from before the latest advance lacks everything that was reserved since. The reason
 *     in the mark says so to every process, and no process advances such a database without an operator.
 */
import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { earlierStore } from '../advance-rules.ts'
import {
  describeRegression,
  observe,
  otherHistory,
  type Position,
  type RegressionCheck,
  regressed,
  regressionOf,
  suspect,
} from '../regression.ts'
import { type Ask, integerOf, optionalTextOf, type Row, type SqlCommand, textOf } from './driver.ts'

/** Added to pulses, revisions and versions by an advance: more than can have been lost. */
export const historyJump = 2n ** 32n

/** How far a database has come. The pulse grows about once a second while a process writes; see heartbeat.ts. */
export type StorePosition = Position<'pulse' | 'revision'>

/** The check at the moment at which a statement is sent. */
export type Known = RegressionCheck<StorePosition>

/** The state row. */
export type State = {
  readonly position: StorePosition
  readonly lastWriteUs: number
  /** The mark. */
  readonly suspect: string | undefined
  /** The server on which the history was begun or accepted, and the one that replied. */
  readonly server: string
  readonly identity: string
}

/** How many advances `known` includes and `position` lacks. */
export function advancesBetween(position: StorePosition, known: Known): bigint {
  const behind = known.accepted.progress.pulse - position.progress.pulse
  return behind > 0n ? (behind + historyJump / 2n) / historyJump : 0n
}

/** The state in a row that has its columns. Throws UNAVAILABLE when there is none. */
export function stateOf(row: Row | undefined): State {
  if (row === undefined)
    throw new FahaoError('UNAVAILABLE', 'fahao_about has no row: is a dump being restored?')
  return {
    position: positionOf(row.history, row.pulse, row.revision),
    lastWriteUs: Number(textOf(row.last_write_us)),
    suspect: optionalTextOf(row.suspect),
    server: textOf(row.server),
    identity: textOf(row.identity),
  }
}

/** The position after a change of the state row; undefined if the change was not carried out. */
export function changedPositionOf(row: Row | undefined): StorePosition | undefined {
  if (optionalTextOf(row?.done_history) === undefined) return undefined
  return positionOf(row!.done_history, row!.done_pulse, row!.done_revision)
}

function positionOf(history: unknown, pulse: unknown, revision: unknown): StorePosition {
  return { history: textOf(history), progress: { pulse: integerOf(pulse), revision: integerOf(revision) } }
}

const settleUs = 1_000_000
const database = 'the database'

/** What a history needs from its engine. */
export type HistoryOptions = {
  readonly clock: Clock
  /** The command that marks the database while it is in a history. */
  readonly mark: (reason: string, history: string) => SqlCommand
  readonly onRegressed: (reason: string) => void
  readonly onAdvanced: () => void
}

/** The history that this process accepts. */
export class History {
  readonly #options: HistoryOptions
  #known: Known
  #read: { readonly state: State; readonly atUs: number } | undefined

  constructor(options: HistoryOptions, { position }: State) {
    this.#options = options
    this.#known = { accepted: position, advances: 0 }
  }

  /** For the next statement, and for the check of its reply. */
  get known(): Known {
    return this.#known
  }

  /**
   * Why nothing may be written to a database in this state, if it is a regression; undefined otherwise.
   * @param known the check when the statement was sent.
   */
  regression(state: State, known: Known): string | undefined {
    const reason = this.#reasonOf(state, known)
    return reason && describeRegression(database, reason)
  }

  /** Rejects with REGRESSED if the database lacks an advance, so that no gap chosen before the loss covers it. */
  refuseEarlier(state: State, known: Known): void {
    if (this.#reasonOf(state, known)?.includes(otherHistory) === true) throw earlierStore('database')
  }

  /** Rejects with REGRESSED if this state shows a regression; see `regression`. */
  async check(ask: Ask, state: State, known: Known): Promise<void> {
    const reason = this.#reasonOf(state, known)
    if (reason !== undefined) await this.refuse(ask, state, known, reason)
  }

  /** Suspects a regression, marks it, and rejects with REGRESSED. UNAVAILABLE if the reply is from before an advance. */
  async refuse(ask: Ask, state: State, known: Known, reason: string): Promise<never> {
    if (known.advances !== this.#known.advances) {
      const message = 'the history of the database was advanced while this was on its way; retry'
      throw new FahaoError('UNAVAILABLE', message)
    }
    this.#known = suspect(this.#known, reason)
    const error = regressed(database, reason)
    this.#options.onRegressed(error.message)
    if (state.suspect === undefined)
      await ask(this.#options.mark(reason, state.position.history)).catch(() => {})
    throw error
  }

  /**
   * Sends a change of the store. Resolves to its rows; to none if the change was not carried out. Rejects with REGRESSED if
   * the database has lost writes.
   */
  async change(ask: Ask, command: (known: Known) => SqlCommand): Promise<readonly Row[]> {
    const known = this.#known
    const rows = await ask(command(known))
    const [row] = rows
    const state = stateOf(row)
    // A conditional write may change the state and then not the record: the version decides where there is one.
    const done = 'done_version' in row! ? row.done_version : row!.done_history
    if (optionalTextOf(done) === undefined) {
      await this.check(ask, state, known)
      return []
    }
    this.wrote(changedPositionOf(row) ?? state.position)
    return rows
  }

  /** A write of this process was carried out, at this position. */
  wrote(position: StorePosition): void {
    if (this.began(position)) this.#options.onAdvanced()
  }

  /** As `wrote`, without the report: an advance of this process. Returns whether a later history was accepted. */
  began(position: StorePosition): boolean {
    const before = this.#known
    this.#known = observe(before, { position, isLater: isLater(position, before), wrong: undefined }, before)
    const isAccepted = this.#known.advances > before.advances
    if (isAccepted) this.#read = undefined
    return isAccepted
  }

  /** The reply to a read showed this state. */
  saw(state: State): void {
    const nowUs = this.#options.clock.monoUs()
    if (this.#read !== undefined && nowUs - this.#read.atUs < settleUs) return
    const settled = this.#read?.state
    this.#read = { state, atUs: nowUs }
    if (settled !== undefined && this.#reasonOf(settled, this.#known) === undefined)
      this.wrote(settled.position)
  }

  #reasonOf({ position, suspect, server, identity }: State, known: Known): string | undefined {
    if (suspect !== undefined) return suspect
    const wrong = isLater(position, known) ? undefined : regressionOf(position, known.accepted)
    if (wrong !== undefined) return wrong
    if (server !== identity)
      return `its history was written on server ${server}, and this is server ${identity}`
    return isLater(position, this.#known) ? undefined : this.#known.suspected?.reason
  }
}

function isLater({ history, progress }: StorePosition, { accepted }: Known): boolean {
  return history !== accepted.history && progress.pulse >= accepted.progress.pulse + historyJump / 2n
}
