/**
 * Counts the work of this process between two rounds of the event loop: how often blocks of the service's code were run,
 * as V8 counts them for coverage. A count depends neither on the machine nor on what else runs on it. What V8 does in
 * machine code of its own (JSON, regular expressions, hashes, copies) is not counted.
 */
import { Session } from 'node:inspector'

type Coverage = {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
  }[]
}

/** A round that takes less of the processor is taken for one with the next: to note it would take longer. Some 200,000 blocks. */
const shortUs = 10_000
const shortWork = 200_000

const source = new URL('../../../src/', import.meta.url).href

/** The work of one request. */
export type Work = { readonly most: number; readonly total: number; readonly rounds: number }

/** A meter of this process. There can be one at a time. */
export class WorkMeter {
  readonly #session = new Session()
  #most = 0
  #total = 0
  #rounds = 0
  #added = 0

  /** Starts to count: code runs several times slower from then on. */
  constructor() {
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /**
   * Carries out `work`; tells the most that was done between two rounds of the event loop. What was done since the last
   * call counts as done in the first of them: to take it off takes as long as many requests.
   */
  async measure(work: () => Promise<unknown>): Promise<Work> {
    this.#most = this.#total = this.#rounds = 0
    let runs = true
    let notedUs = processorUs()
    const watch = () => {
      if (!runs) return
      if (processorUs() - notedUs >= shortUs || this.#added >= shortWork) {
        this.#note()
        notedUs = processorUs()
      }
      setImmediate(watch)
    }
    setImmediate(watch)
    try {
      await work()
    } finally {
      runs = false
      this.#note()
    }
    return { most: this.#most, total: this.#total, rounds: this.#rounds }
  }

  /** Counts work that V8 does not count. */
  add(work: number): void {
    this.#added += work
  }

  /** Ends the counting. */
  close(): void {
    this.#session.disconnect()
  }

  #note(): void {
    const done = this.#take()
    this.#most = Math.max(this.#most, done)
    this.#total += done
    this.#rounds++
  }

  #take(): number {
    const { result } = this.#post('Profiler.takePreciseCoverage') as Coverage
    let sum = this.#added
    this.#added = 0
    for (const { url, functions } of result)
      if (url.startsWith(source))
        for (const { ranges } of functions) for (const { count } of ranges) sum += count
    return sum
  }

  #post(method: string, params?: object): unknown {
    let answer: unknown
    this.#session.post(method, params, (error, result) => {
      if (error) throw error
      answer = result
    })
    return answer
  }
}

/** How long this thread has run; no time in which others had the processor. */
function processorUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
