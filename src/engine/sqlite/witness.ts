/**
 * The witness: a small file beside the store that remembers how far the store had come, so that an older copy
 * put in its place is noticed. It is written without an fsync and at most every second: it may lag behind the
 * store, which weakens the check, and never runs ahead of it, which would cry wolf.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'

/** A point in a store's history. */
export type Position = {
  /** Names one unbroken history. */
  readonly lineage: string
  /** How many transactions it holds. */
  readonly commits: bigint
}

const intervalMs = 1000

/** Where the witness of a store lies. */
export function witnessFile(file: string): string {
  return `${file}-witness`
}

/** The witness's file, read and written. */
export class Witness {
  readonly #file: string
  readonly #clock: Clock
  #newest: Position | undefined
  #timer: Timer | undefined

  /** @param file of the store. */
  constructor(file: string, clock: Clock) {
    this.#file = witnessFile(file)
    this.#clock = clock
  }

  /** What it remembers; undefined when there is none that can be read. */
  read(): Position | undefined {
    try {
      const { lineage, commits } = JSON.parse(readFileSync(this.#file, 'utf8'))
      return typeof lineage === 'string' ? { lineage, commits: BigInt(commits) } : undefined
    } catch {
      return undefined
    }
  }

  /** Remembers a durable position within a second. */
  offer(position: Position): void {
    this.#newest = position
    this.#timer ??= this.#clock.timer(intervalMs, () => this.flush())
  }

  /** Begins to remember another history: the present one has been accepted by somebody who knows. */
  begin(position: Position): void {
    this.#newest = position
    this.#write()
  }

  /** Writes down what was offered last, unless another process has begun another history or got further. */
  flush(): void {
    const there = this.read()
    const offered = this.#newest
    if (there !== undefined && offered !== undefined) {
      if (there.lineage !== offered.lineage || there.commits >= offered.commits) return this.drop()
    }
    this.#write()
  }

  /** A failure is no trouble: the next one mends it. */
  #write(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#newest === undefined) return
    const { lineage, commits } = this.#newest
    const draft = `${this.#file}.${process.pid}.${threadId}`
    try {
      writeFileSync(draft, `${JSON.stringify({ lineage, commits: String(commits) })}\n`)
      renameSync(draft, this.#file)
      this.#newest = undefined
    } catch {
      // Kept for the next flush.
    }
  }

  /** Forgets what was offered: it was of a history that is no longer there. */
  drop(): void {
    this.#newest = undefined
    this.#timer?.cancel()
    this.#timer = undefined
  }
}

/**
 * Why a store is not the one that it should be, in one line; undefined when nothing speaks against it.
 * @param seen how far this process has seen it come, if it has.
 */
export function regressionOf(
  now: Position,
  seen: Position | undefined,
  witness: Position | undefined,
): string | undefined {
  if (witness !== undefined && witness.lineage !== now.lineage)
    return 'another database was put in the place of the one that was here'
  const commits = max(witness?.commits ?? 0n, seen?.lineage === now.lineage ? seen.commits : 0n)
  if (commits > now.commits)
    return `an older copy was put in place: ${commits - now.commits} acknowledged transactions are missing`
  if (witness === undefined && seen !== undefined && seen.lineage !== now.lineage)
    return 'another database was put in the place of the one that was open'
  return undefined
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
