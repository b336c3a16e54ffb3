/** The list of worker ids that are taken. */
import type { Timeline } from '../base/timeline.ts'
import type { Engine } from '../engine/engine.ts'
import { nextTurn } from '../engine/next-turn.ts'
import { idOf, othersKey, readWorker, workerRecords } from '../issuing/worker-records.ts'
import { restsSinceAdvance } from './free-workers.ts'

/** Records that are read in one turn of the event loop. */
const turnSize = 250

/** A worker id that is held, or rests until the time that was reserved of it has passed. */
export type ListedWorker = {
  readonly worker: number
  readonly by: 'node' | 'caller'
  readonly holder: string
  /** Undefined: a node's, which serves every generator. */
  readonly generator: string | undefined
  readonly user: string | undefined
  /** Unix µs; undefined: not on record. */
  readonly fromUs: number | undefined
  readonly untilUs: number
  readonly state: 'held' | 'resting'
}

/**
 * Yields the worker ids above `after` that are held or rest, in ascending order. Others run meanwhile: there may be 65,536
 * records. Errors: UNAVAILABLE, ENGINE.
 */
export async function* listedWorkers(
  engine: Engine,
  timeline: Timeline,
  after = -1,
): AsyncGenerator<ListedWorker> {
  const records = await workerRecords(engine)
  const nowUs = timeline.nowUs()
  const others = records.find(({ key }) => key === othersKey)
  const othersUs = others === undefined ? 0 : readWorker(others).boundUs
  const byId = new Map(records.map((stored) => [idOf(stored), stored]))
  const ids = [...byId.keys()].filter((id) => id > after).sort((a, b) => a - b)
  for (const [index, worker] of ids.entries()) {
    // Also where no id is yielded for long: most records may be of times that have passed.
    if (index % turnSize === turnSize - 1) await nextTurn()
    const record = readWorker(byId.get(worker)!)
    if (record.boundUs <= nowUs) continue
    yield {
      worker,
      by: record.startUs === undefined ? 'node' : 'caller',
      holder: record.holder,
      generator: record.generator,
      user: record.user,
      fromUs: record.startUs,
      untilUs: record.boundUs,
      state: record.returned || restsSinceAdvance(record, othersUs, nowUs) ? 'resting' : 'held',
    }
  }
}
