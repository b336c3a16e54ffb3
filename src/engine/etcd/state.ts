/** The state of a store, under one key: which history it is in, and whether it may be written to. */
import { FahaoError } from '../../base/errors.ts'

/**
 * One history. An advance begins another. The revisions of etcd begin at an older one when a snapshot is restored; the
 * numbers of histories never do.
 */
export type NumberedHistory = {
  /**
   * Grows from history to history, and no two have the same: the time at which the history begins, in seconds since
   * 1970, or the id of the last one plus 1 if that is larger.
   */
  readonly id: bigint
  /** The last revision before this history. */
  readonly after: bigint
}

/** The value of the state's key. */
export type State = {
  /** The store's id, set at its creation. */
  readonly store: string
  /** The etcd cluster to which it belongs. */
  readonly cluster: string
  /** `suspect`: it has lost writes. `advancing`: one process raises its bounds, and no other writes. */
  readonly status: 'open' | 'suspect' | 'advancing'
  /** Why the store is suspect, or the process that advances it. */
  readonly note: string
  /** The oldest first; never empty. */
  readonly histories: readonly NumberedHistory[]
}

const format = 2
const revisionBits = 40n

/** The history of what is written now. */
export function present({ histories }: State): NumberedHistory {
  return histories.at(-1)!
}

/** The version of a record that was last written at `revision`: grows with it, and from history to history. */
export function versionAt({ histories }: State, revision: bigint): bigint {
  const history = histories.findLast(({ after }) => after < revision) ?? histories[0]!
  return (history.id << revisionBits) | revision
}

/** The revision of a version; undefined when no record of the store can have that version. */
export function revisionOf(state: State, version: bigint): bigint | undefined {
  const revision = version & ((1n << revisionBits) - 1n)
  return revision > 0n && versionAt(state, revision) === version ? revision : undefined
}

/** The state as its key holds it. */
export function encodeState({ store, cluster, status, note, histories }: State): string {
  const texts = histories.map(({ id, after }) => [String(id), String(after)])
  return JSON.stringify({ format, store, cluster, status, note, histories: texts })
}

/** The state in a key of this version or the earlier one. Throws ENGINE for any other. */
export function decodeState(text: string): State {
  try {
    const { format: found, phase, eras, ...stored } = JSON.parse(text)
    const {
      store,
      cluster,
      note,
      status,
      histories: texts,
    } = found === 1 ? { ...stored, status: phase, histories: eras } : stored
    if (found >= 1 && found <= format && Array.isArray(texts) && texts.length > 0) {
      const histories = texts.map(([id, after]) => ({ id: BigInt(id), after: BigInt(after) }))
      return { store, cluster, status, note, histories }
    }
  } catch {
    // Reported below.
  }
  const message =
    'the state of this store was written by a newer Fahao, or by another program; upgrade this one'
  throw new FahaoError('ENGINE', message)
}

/** Whether the earlier version has written a state that `decodeState` reads. */
export function isEarlierState(text: string): boolean {
  return JSON.parse(text).format < format
}
