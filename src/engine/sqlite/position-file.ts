/**
 * The position file, beside the store: how far the accepted history had come, so that an older copy in the store's place
 * is noticed also by processes that start later.
 *
 * Invariants
 *  1. It is never ahead of the store. It may be behind, which weakens the check: it is written without an fsync, and at
 *     most every second.
 *  2. A note never replaces one of another history, or a later one of the same, except after an advance or a restore.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import { type Position, regressionOf } from '../regression.ts'

/** How far a store in a file has come: the number of its transactions. */
export type StorePosition = Position<'commits'>

const intervalMs = 1000
/** The version of the file; before the first, it had none, and `lineage` for the history id. */
const positionFormat = 2

/** Reads and writes one position file. */
export class PositionFile {
  readonly #file: string
  readonly #clock: Clock
  #newest: StorePosition | undefined
  #timer: Timer | undefined

  /** @param file of the store. */
  constructor(file: string, clock: Clock) {
    this.#file = `${file}-witness`
    this.#clock = clock
  }

  /** The position in the file; undefined when there is no file, or none that can be read. */
  read(): StorePosition | undefined {
    try {
      const { format, lineage, history = lineage, commits } = JSON.parse(readFileSync(this.#file, 'utf8'))
      const isKnown = format === positionFormat || lineage !== undefined
      if (isKnown && typeof history === 'string') return { history, progress: { commits: BigInt(commits) } }
    } catch {
      // As if there were no file.
    }
    return undefined
  }

  /** Writes a durable position within a second. */
  note(position: StorePosition): void {
    this.#newest = position
    this.#timer ??= this.#clock.timer(intervalMs, () => this.flush())
  }

  /** Writes the first position of another history at once. */
  begin(position: StorePosition): void {
    this.#newest = position
    this.#write()
  }

  /** Writes the newest note, unless another process has written a later one, or one of another history. */
  flush(): void {
    const written = this.read()
    const isSuperseded =
      written !== undefined && this.#newest !== undefined && regressionOf(this.#newest, written) !== undefined
    if (isSuperseded) this.drop()
    else this.#write()
  }

  /** Discards the newest note. */
  drop(): void {
    this.#newest = undefined
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #write(): void {
    const newest = this.#newest
    this.drop()
    if (newest === undefined) return
    const draft = `${this.#file}.${process.pid}.${threadId}`
    try {
      const { history, progress } = newest
      const note = { format: positionFormat, history, commits: String(progress.commits) }
      writeFileSync(draft, `${JSON.stringify(note)}\n`)
      renameSync(draft, this.#file)
    } catch {
      this.#newest = newest
    }
  }
}
