/** One thread, one true time, one seed: everything that happens in a simulation happens in the order decided here. */
type Event = { readonly us: number; readonly order: number; readonly run: () => unknown }

/** How many steps there are in a round of the event loop. A round costs more than a step. */
const stepsOfRound = 16

/** A scheduler over true time. Everything random in a simulation comes from its seed. */
export class World {
  /** True time in µs. No machine knows it. */
  nowUs = 0
  readonly seed: number
  #state: number
  #order = 0
  /** Events as text, for a report; undefined: no report is printed. */
  readonly notes: string[] | undefined
  readonly #heap: Event[] = []

  constructor(seed: number, noted = false) {
    this.seed = seed
    this.notes = noted ? [] : undefined
    this.#state = Math.imul(seed + 1, 0x9e3779b1)
  }

  /** A number in [0, 1): mulberry32. */
  random = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let value = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }

  /** A number between two. */
  between(from: number, to: number): number {
    return from + this.random() * (to - from)
  }

  /** Whether something of this probability happens now. */
  chance(probability: number): boolean {
    return this.random() < probability
  }

  /** One of several. */
  pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.random() * values.length)]!
  }

  /** Notes an event of this moment, if there will be a report. */
  note(what: () => string): void {
    this.notes?.push(`${(this.nowUs / 1000).toFixed(1).padStart(9)} ms  ${what()}`)
  }

  /** Runs `run` after `delayUs` of true time. If it returns false, it has set nothing off. */
  after(delayUs: number, run: () => unknown): void {
    this.#push({ us: this.nowUs + Math.max(0, delayUs), order: this.#order++, run })
  }

  /** Resolves after `ms` of true time. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms * 1000, resolve))
  }

  /** Lets everything happen that happens before `story` is told. Rejects as it does, or with what is found wrong. */
  async tell(story: Promise<void>, wrong: () => Error | undefined): Promise<void> {
    let [over, steps] = [false, 0]
    const end = () => {
      over = true
    }
    story.then(end, end)
    // What `queueMicrotask` does, without an object of Node.js for each event.
    const settled = Promise.resolve()
    await new Promise<void>((resolve, reject) => {
      const step = () => {
        try {
          const error = wrong()
          if (error !== undefined) throw error
          if (over) return resolve()
          this.#happen()
        } catch (error) {
          return reject(error)
        }
        void settled.then(next)
      }
      // Both come after all promises: when everything that needs no time has happened. Long work that lets others run
      // goes on in the next round of the event loop, so that events come between its parts.
      const next = () => (++steps % stepsOfRound === 0 ? setImmediate(step) : process.nextTick(step))
      next()
    })
    await story
  }

  /** The next event, and those before it that set nothing off. */
  #happen(): void {
    for (;;) {
      const event = this.#pop()
      if (event === undefined) throw new Error('nothing happens any more, and the story is not over')
      this.nowUs = event.us
      if (event.run() !== false) return
    }
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!earlier(event, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = event
  }

  #pop(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && earlier(heap[child + 1]!, heap[child]!)) child++
      if (!earlier(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
    return first
  }
}

function earlier(a: Event, b: Event): boolean {
  return a.us < b.us || (a.us === b.us && a.order < b.order)
}
