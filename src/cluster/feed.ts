/**
 * Keeps the view fed: a watch where it works, and a full look at all records every `pollMs`, sooner when a silent node
 * may be due. The looks are what makes observations: that a watch tells nothing proves nothing.
 */
import type { Clock } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import type { Engine, Watch } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'
import type { FailureDetector } from './failure-detector.ts'
import { Notify, withTimeout } from './pauses.ts'
import { clusterPrefix } from './records.ts'
import type { Timing } from './timing.ts'
import type { View } from './view.ts'

/** What a feed takes from its process. */
export type FeedOptions = {
  readonly engine: Engine
  readonly clock: Clock
  readonly timing: Timing
  readonly view: View
  readonly observer: FailureDetector
  /** Whether this node may declare others dead now. */
  readonly mayJudge: () => boolean
  /** Called after each full look. */
  readonly onLook: () => void
  readonly onTrouble: (message: string) => void
}

/** Looks follow each other no faster than this, in ms. */
const looksApartMs = 5

/** See the top of the file. */
export class Feed {
  readonly #options: FeedOptions
  readonly #bell: Notify
  #watch: Watch | undefined
  #watchUnderWay = false
  #running: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.#bell = new Notify(options.clock)
  }

  /** Begins. Resolves after the first full look that succeeded. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#running = this.#looks(resolve)
    })
  }

  /** Looks at once. */
  hurry(): void {
    this.#bell.ring()
  }

  /** Ends. No change is told afterwards. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#watch?.close()
    this.#bell.ring()
    await this.#running
  }

  async #looks(onFirst: () => void): Promise<void> {
    const { view, observer, timing, onTrouble } = this.#options
    while (!this.#stopped) {
      this.#watchIfNot()
      try {
        await this.#look()
        onFirst()
      } catch (error) {
        onTrouble(`the records of the cluster could not be read: ${describe(error)}`)
      }
      if (this.#stopped) break
      const nextMs = Math.max(looksApartMs, observer.nextMs(view.nodes()))
      await this.#bell.pause(Math.min(timing.pollMs, nextMs))
    }
    onFirst()
  }

  async #look(): Promise<void> {
    const { clock, timing, view, observer, mayJudge, onLook } = this.#options
    const startedUs = clock.monoUs()
    const records = await withTimeout(clock, timing.renewMs, listAll(this.#options.engine, clusterPrefix))
    if (this.#stopped) return
    view.learnAll(records, startedUs)
    observer.observe(view.nodes())
    if (mayJudge()) await observer.judge(view.nodes())
    onLook()
  }

  /** Looks alone suffice; so nothing waits for the watch, and one that could not begin is begun by the next look. */
  #watchIfNot(): void {
    if (this.#watch !== undefined || this.#watchUnderWay) return
    this.#watchUnderWay = true
    const { engine, view } = this.#options
    engine
      .watch(clusterPrefix, (change) => {
        if (!this.#stopped) view.change(change)
      })
      .then((watch) => {
        if (this.#stopped) watch.close()
        else this.#watch = watch
      })
      .catch(() => {})
      .finally(() => {
        this.#watchUnderWay = false
      })
  }
}
