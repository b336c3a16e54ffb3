/**
 * The log of the ids that a process has taken, as runs of ids one apart, and the check that no id is in two runs.
 *
 * A run takes 16 bytes, whatever its length, so a log of a thousand million ids is a few megabytes. An entry is appended
 * by one write, after its ids were taken: a process that is killed in between has taken up to one batch of ids that no
 * log has.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/** Ids of one write. */
const entriesMax = 4096
const entrySize = 16

/** Ids one apart: `count` of them from `first` on. */
export type LoggedRun = { readonly first: bigint; readonly count: bigint }

/** Two runs that share ids. */
export type Overlap = {
  readonly first: bigint
  readonly ids: bigint
  readonly logs: readonly [string, string]
}

/** What a check has found. */
export type Checked = { readonly ids: bigint; readonly runs: number; readonly overlaps: readonly Overlap[] }

/** Appends runs to a file. Ids that follow each other by one share an entry until `flush`. */
export class RunLog {
  readonly #file: number
  readonly #bytes = new DataView(new ArrayBuffer(entriesMax * entrySize))
  #entries = 0
  #first = 0n
  #next = -1n

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** Notes one id. */
  add(id: bigint): void {
    if (id === this.#next) {
      this.#next++
      return
    }
    this.#end()
    this.#first = id
    this.#next = id + 1n
  }

  /** Notes `count` ids one apart, as numbers. */
  addRun(first: number, count: number): void {
    this.add(BigInt(first))
    this.#next += BigInt(count - 1)
  }

  /** Writes everything that was noted. */
  flush(): void {
    this.#end()
    this.#write()
  }

  /** Writes everything, and closes the file. */
  close(): void {
    this.flush()
    closeSync(this.#file)
  }

  #end(): void {
    if (this.#next < 0n) return
    const at = this.#entries * entrySize
    this.#bytes.setBigUint64(at, this.#first)
    this.#bytes.setBigUint64(at + 8, this.#next - this.#first)
    this.#next = -1n
    if (++this.#entries === entriesMax) this.#write()
  }

  #write(): void {
    const length = this.#entries * entrySize
    this.#entries = 0
    const bytes = new Uint8Array(this.#bytes.buffer, 0, length)
    for (let at = 0; at < length; ) at += writeSync(this.#file, bytes, at, length - at)
  }
}

/** The runs of a log. The rest of an entry that a killed process did not finish is left out. */
export function readRuns(path: string): LoggedRun[] {
  const bytes = readFileSync(path)
  const runs: LoggedRun[] = []
  for (let at = 0; at + entrySize <= bytes.length; at += entrySize)
    runs.push({ first: bytes.readBigUInt64BE(at), count: bytes.readBigUInt64BE(at + 8) })
  return runs
}

/** Finds each pair of neighbouring runs that share ids, in all logs of one generator: sorted, one pass. */
export function checkRuns(logs: Iterable<readonly [name: string, runs: readonly LoggedRun[]]>): Checked {
  const all = [...logs].flatMap(([log, runs]) => runs.map((run) => ({ ...run, log })))
  all.sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
  const overlaps: Overlap[] = []
  let ids = 0n
  let widest = all[0]
  for (const [index, run] of all.entries()) {
    ids += run.count
    if (index === 0 || widest === undefined) continue
    const end = widest.first + widest.count
    const runEnd = run.first + run.count
    if (run.first < end) {
      const shared = (runEnd < end ? runEnd : end) - run.first
      overlaps.push({ first: run.first, ids: shared, logs: [widest.log, run.log] })
    }
    if (runEnd > end) widest = run
  }
  return { ids, runs: all.length, overlaps }
}
