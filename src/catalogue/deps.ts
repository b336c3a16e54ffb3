/** What the catalogue and its parts need from their node. */

import type { Clock, Random } from '../base/clock.ts'
import type { CopyDetector } from '../base/copy-detector.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Turns } from '../base/turns.ts'
import type { FastRuns } from '../buffers/fast-runs.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Engine } from '../engine/engine.ts'
import type { Kind } from '../issuing/issuer.ts'
import type { RefillTimes } from '../issuing/refills.ts'
import type { WorkerId } from '../issuing/worker-id.ts'
import type { Namespaces } from '../quotas/namespaces.ts'
import type { ForeignRows } from './foreign-rows.ts'
import type { GeneratorInput } from './generator-options.ts'

/**
 * A name of this pattern, a glob as in KEYS or a template with `{tenant}`, becomes a generator of this kind, with these options, when
 * it is first asked for.
 */
export type AutoCreate = {
  readonly pattern: string
  readonly kind: Kind
  readonly options?: Partial<GeneratorInput>
}

/** The index that `{node}` shows: its value and its width. */
export type NodeIndex = { readonly value: number; readonly width: number }

/** One value for all parts of a catalogue. */
export type CatalogueDeps = {
  readonly engine: Engine
  readonly clock: Clock
  readonly random: Random
  readonly timeline: Timeline
  readonly worker: WorkerId
  /** What can be issued at once: a row for each generator that is open here. */
  readonly runs: FastRuns
  readonly nodeIndex: NodeIndex | undefined
  /** How many callers of one generator may wait. */
  readonly waitersMax: number
  /** The cluster whose leaders issue strict kinds; undefined: the node is in no cluster. */
  readonly cluster?: Cluster | undefined
  /** Looks for copies of this memory, and calls `abandonAll` when it notices one. Undefined: no copy is looked for. */
  readonly copies?: Pick<CopyDetector, 'check' | 'count'> | undefined
  /** Undefined: the engine works on no other system's table. */
  readonly rows?: ForeignRows | undefined
  readonly autoCreate: readonly AutoCreate[]
  /** How many names of families are in memory at most. Default: a million. */
  readonly familyNamesMax?: number | undefined
  /** How many generators there may be for a client to create another one; undefined: any number. */
  readonly generatorsMax?: number | undefined
  /** A generator leaves memory when nothing was asked of it for this time; undefined: none does. */
  readonly idleAfterMs?: number | undefined
  /** A generator is put to rest when nothing was asked of it for this time, or somewhat longer; undefined: none is. */
  readonly restAfterMs?: number | undefined
  /** Limit how many generators clients create. */
  readonly namespaces: Pick<Namespaces, 'all'>
  /** Counts how long refills took; undefined: they are not counted. */
  readonly refillTimes?: RefillTimes | undefined
  /** The turns of the event loop that long lists share with all requests; undefined: there are no others. */
  readonly turns?: Turns | undefined
  /** Receives events for the log. */
  readonly onEvent: (event: { level: 'info' | 'warn'; message: string }) => void
}

/** What the parts need that read and change records. */
export type RecordDeps = Pick<CatalogueDeps, 'engine' | 'clock' | 'timeline' | 'rows'>
