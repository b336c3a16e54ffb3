/**
 * The counters of a database.
 *
 * Invariants
 *  1. One statement compares and changes a counter; the columns read beside it only explain a refusal.
 *  2. A bound goes down only in `release`, only under the version that the reservation made, and only in the history
 *     in which it was made.
 *  3. The end of what this process holds is stored per counter. It rises with the answers to reserves and with acquired
 *     ranges; it falls before a release is sent, and with a transfer. The database has lost writes if, within one history,
 *     the bound is below an end that this process held before the statement and still holds after it. In a later history
 *     the next range starts above that end.
 */
import { FahaoError } from '../../base/errors.ts'
import type { Range } from '../../ids/run.ts'
import { admit, completed, lossOf, unused } from '../counter-rules.ts'
import type { Commit, Committed, Counter, CounterStore, Reservation, ReserveRequest } from '../engine.ts'
import type { BatchResult } from './batched-calls.ts'
import { type ReleaseArguments, type ReserveArguments, releasing, reserving } from './counter-updates.ts'
import { type Ask, integerOf, optionalTextOf, type Row, type SqlCommand, textOf } from './driver.ts'
import { changedPositionOf, type History, stateOf } from './history.ts'
import type { Dialect } from './statements.ts'

/** The arguments of `Engine.reserve`. */
export type ReserveCall = Parameters<CounterStore['reserve']>
/** The arguments of `Engine.release`. */
export type ReleaseCall = Parameters<CounterStore['release']>

type HeldRange = { readonly end: bigint; readonly history: string }

const nothing: HeldRange = { end: 0n, history: '' }
/** An attempt fails only if another process changed the same counter at the same moment. */
const triesMax = 20

/** The counters in `fahao_counters`. */
export class Counters {
  readonly #dialect: Dialect
  readonly #history: History
  readonly #held = new Map<string, HeldRange>()

  constructor(dialect: Dialect, history: History) {
    this.#dialect = dialect
    this.#history = history
  }

  /** See `Engine.reserve`. */
  async reserve(ask: Ask, name: string, request: ReserveRequest): Promise<Reservation> {
    // The counter may have no row. This statement adds it, and explains no refusal.
    if (this.#dialect.updateAll !== undefined && !this.#held.has(name)) {
      const outcome = (await this.#reserveOnce(ask, [[name, request]])).get(name)
      if (outcome !== undefined) return outcome
    }
    for (let tries = 0; tries < triesMax; tries++) {
      const held = this.#held.get(name) ?? nothing
      const { known } = this.#history
      const full = this.#fullOf(name, request)
      const [row] = await ask(this.#dialect.reserve(full))
      const state = stateOf(row)
      if (optionalTextOf(row!.done_last) !== undefined) {
        this.#history.wrote(state.position)
        return this.#reserved(name, request.size, row!, state.position.history)
      }
      await this.#history.check(ask, state, known)
      const counter = counterOf(row!)
      if (counter === undefined) this.#dialect.refuseAbsent?.(name)
      const bound = counter?.bound ?? 0n
      if (held.history === state.position.history && bound < held.end) {
        // A release of this process may have overtaken this reserve.
        if (this.#held.get(name) !== held) continue
        await this.#history.refuse(ask, state, known, lossOf(name, bound, held.end))
      }
      if (counter === undefined) {
        // Engine.counter returns the same for a counter at version 0 as for one without a row.
        await ask(this.#dialect.addCounters([name], known))
        continue
      }
      const floor = full.floor > held.end ? full.floor : held.end
      const range = admit(name, counter, { ...full, floor })
      if (range instanceof FahaoError) throw range
    }
    throw new FahaoError('UNAVAILABLE', `other processes kept changing counter '${name}'; retry`)
  }

  /** See `Engine.commit`. */
  async commit(ask: Ask, { records, counter }: Commit, nowUs: number): Promise<Committed | undefined> {
    const { known } = this.#history
    const request = counter && this.#fullOf(counter.name, counter.request)
    const moved = counter && { request: request!, version: counter.version }
    const [row] = await ask(this.#dialect.commit({ records, counter: moved, known, nowUs }))
    const state = stateOf(row)
    const done = changedPositionOf(row)
    if (done !== undefined) {
      this.#history.wrote(done)
      const made = counter && { ...row!, done_version: counter.version + 1n }
      const reservation = made && this.#reserved(counter.name, counter.request.size, made, done.history)
      const before = done.progress.revision - BigInt(records.length)
      const written = records.map(({ key, value }, at) => {
        return { key, value, version: before + BigInt(at + 1) }
      })
      return { records: written, reservation }
    }
    await this.#history.check(ask, state, known)
    if (counter === undefined || Number(textOf(row!.fitting)) < records.length) return undefined
    const { name, version } = counter
    const now = usedOf(row)
    const { held, floor } = request!
    if (now.version === version) {
      // A release of this process may have overtaken this commit.
      const isLost = held.history === state.position.history && now.bound < held.end
      if (isLost && this.#held.get(name) === held)
        await this.#history.refuse(ask, state, known, lossOf(name, now.bound, held.end))
      const range = admit(name, now, { ...request!, floor: floor > held.end ? floor : held.end })
      if (range instanceof FahaoError) throw range
    }
    return undefined
  }

  /** See `Engine.release`. */
  async release(ask: Ask, ...call: ReleaseCall): Promise<boolean> {
    const release = this.#beginRelease(...call)
    return (await this.#history.change(ask, () => this.#dialect.release(release))).length > 0
  }

  /** Carries out several reserves in one message; undefined for each that was not carried out. */
  async reserveAll(
    ask: Ask,
    moves: readonly ReserveCall[],
  ): Promise<(BatchResult<Reservation> | undefined)[]> {
    const outcomes = await this.#reserveOnce(ask, moves)
    if (outcomes.size === 0) await this.#refuseUnsound(ask)
    return moves.map(([name]) => {
      const value = outcomes.get(name)
      return value && { value }
    })
  }

  /** Carries out several releases in one message; undefined for each that was not carried out. */
  async releaseAll(ask: Ask, moves: readonly ReleaseCall[]): Promise<(BatchResult<boolean> | undefined)[]> {
    const releases = moves.map((move) => this.#beginRelease(...move))
    const { rows } = await this.#moved(ask, this.#dialect.updateAll!(releasing(releases)))
    if (rows.size === 0) await this.#refuseUnsound(ask)
    return moves.map(([name]) => (rows.has(name) ? { value: true } : undefined))
  }

  /** See `Engine.transfer`. */
  transfer(name: string, from: bigint): void {
    const held = this.#held.get(name)
    if (held === undefined || from >= held.end) return
    // Nothing is held of it any more. There may be millions of such counters: those of past moments.
    if (from === 0n) this.#held.delete(name)
    else this.#held.set(name, { ...held, end: from })
  }

  /** See `Engine.acquire`. */
  acquire(name: string, end: bigint): void {
    const before = this.#held.get(name) ?? nothing
    if (end > before.end) this.#held.set(name, { end, history: this.#history.known.accepted.history })
  }

  /** See `Engine.counter`: several counters, in the order of `names`. */
  async counters(ask: Ask, names: readonly string[]): Promise<Counter[]> {
    const rows = byName(await ask(this.#dialect.command((s) => s.counters(names))))
    return names.map((name) => usedOf(rows.get(name)))
  }

  /** Whether this process holds a range of a counter, or has held one. */
  holds(name: string): boolean {
    return this.#held.has(name)
  }

  /** A reserve of a counter was carried out in a history. */
  reserved(name: string, { start, end }: Range, history: string): void {
    // A reserve of size 0 opens no range.
    if (end > start) this.#hold(name, { end, history })
  }

  /** The end of what this process holds of each counter: an advance raises every bound at least to it. */
  held(): ReadonlyMap<string, bigint> {
    return new Map([...this.#held].map(([counter, { end }]) => [counter, end]))
  }

  /** Sends the reserves; resolves to those that were carried out, by name. */
  async #reserveOnce(ask: Ask, moves: readonly ReserveCall[]): Promise<Map<string, Reservation>> {
    const requests = moves.map(([name, request]) => this.#fullOf(name, request))
    const addsRows = moves.some(([name]) => !this.#held.has(name))
    const { rows, state } = await this.#moved(ask, this.#dialect.updateAll!(reserving(requests, addsRows)))
    const done = moves.filter(([name]) => rows.has(name))
    return new Map(
      done.map(([name, { size }]) => [
        name,
        this.#reserved(name, size, rows.get(name)!, state!.position.history),
      ]),
    )
  }

  /** For a batch that was not carried out: rejects with REGRESSED, for all its calls, if the database has lost writes. */
  async #refuseUnsound(ask: Ask): Promise<void> {
    const { known } = this.#history
    const [row] = await ask(this.#dialect.command((s) => s.state()))
    await this.#history.check(ask, stateOf(row), known)
  }

  #fullOf(name: string, request: ReserveRequest): ReserveArguments {
    const held = this.#held.get(name) ?? nothing
    return { counter: name, ...completed(request), known: this.#history.known, held }
  }

  /** Ends this process's hold of a range before its release is sent: the caller has given it up whatever the outcome. */
  #beginRelease(
    ...[name, { end, version }, from, { fence = 0n, incarnation }]: ReleaseCall
  ): ReleaseArguments {
    const { known } = this.#history
    const held = this.#held.get(name)
    const history = held?.history ?? known.accepted.history
    // An earlier release of the same range, although refused, may have lowered it already.
    if (held !== undefined && from < held.end && held.end <= end) this.#held.set(name, { ...held, end: from })
    return { counter: name, known, history, version, from, fence, incarnation }
  }

  async #moved(ask: Ask, command: SqlCommand) {
    const rows = await ask(command)
    if (rows.length === 0) return { rows: byName(rows), state: undefined }
    const state = stateOf(rows[0])
    this.#history.wrote(state.position)
    return { rows: byName(rows), state }
  }

  /** The reservation of a reserve that was carried out. */
  #reserved(name: string, size: bigint, row: Row, history: string): Reservation {
    const end = integerOf(row.done_last) + 1n
    const range = { start: end - size, end, version: integerOf(row.done_version) }
    this.reserved(name, range, history)
    return range
  }

  /** Stores a held range unless a later one is stored: answers arrive in any order. */
  #hold(name: string, held: HeldRange): void {
    const before = this.#held.get(name) ?? nothing
    const isLater =
      before.history === held.history
        ? held.end > before.end
        : held.history === this.#history.known.accepted.history
    if (isLater) this.#held.set(name, held)
  }
}

function counterOf(row: Row): Counter | undefined {
  if (optionalTextOf(row.version) === undefined) return undefined
  return {
    bound: integerOf(row.last) + 1n,
    fence: integerOf(row.fence),
    incarnation: integerOf(row.incarnation),
    version: integerOf(row.version),
  }
}

/** The counter in a row. One at version 0 was added for a reserve that was refused: the counter is unused. */
export function usedOf(row: Row | undefined): Counter {
  const counter = row && counterOf(row)
  return counter === undefined || counter.version === 0n ? unused : counter
}

function byName(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [textOf(row.name), row]))
}
