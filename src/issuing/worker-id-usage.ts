/**
 * How many worker ids of the store are taken: held, or at rest after their holder's end. Told from the last look, which
 * whoever asks makes begin when it has grown old: a scrape never waits for the engine.
 */
import type { Timeline } from '../base/timeline.ts'
import type { Engine } from '../engine/engine.ts'
import { othersKey, readWorker, workerRecords } from './worker-records.ts'

const lookEveryUs = 10_000_000

/** See the top of the file. */
export class WorkerIdUsage {
  readonly #engine: Engine
  readonly #timeline: Timeline
  #taken: number | undefined
  #lookedUs = Number.NEGATIVE_INFINITY
  #looking = false

  constructor(engine: Engine, timeline: Timeline) {
    this.#engine = engine
    this.#timeline = timeline
  }

  /** At the last look; undefined before the first, and while the engine does not answer. */
  taken(): number | undefined {
    const nowUs = this.#timeline.monoUs()
    if (!this.#looking && nowUs - this.#lookedUs >= lookEveryUs) {
      this.#lookedUs = nowUs
      this.#looking = true
      void this.#look()
    }
    return this.#taken
  }

  async #look(): Promise<void> {
    try {
      const records = await workerRecords(this.#engine)
      const nowUs = this.#timeline.nowUs()
      this.#taken = records.filter(
        (each) => each.key !== othersKey && readWorker(each).boundUs > nowUs,
      ).length
    } catch {
      // That the engine does not answer has a metric of its own.
      this.#taken = undefined
    } finally {
      this.#looking = false
    }
  }
}
