/** What a store says of itself, under one key: which history it belongs to, and whether it may be written to. */
import { FahaoError } from '../../base/errors.ts'

/**
 * A stretch of one history. An advance begins a new one. Etcd's revisions start over from an old number when a
 * snapshot is restored; eras never do.
 */
export type Era = {
  /** Grows from era to era, and is not used again: seconds since 1970 when it began, or one more than the last. */
  readonly id: bigint
  /** What was written after this revision belongs to it. */
  readonly after: bigint
}

/** The value of the state's key. */
export type State = {
  /** Names the store, from its creation on. */
  readonly store: string
  /** The etcd cluster to which it belongs. */
  readonly cluster: string
  /** `suspect`: it has forgotten writes. `advancing`: its bounds are being raised. Nobody else writes then. */
  readonly phase: 'open' | 'suspect' | 'advancing'
  /** Why it is suspect; who advances it. */
  readonly note: string
  /** The oldest first; never empty. */
  readonly eras: readonly Era[]
}

const format = 1
const revisionBits = 40n

/** The era of what is written now. */
export function present({ eras }: State): Era {
  return eras.at(-1)!
}

/** The version of a record that was last written at `revision`: grows with it, and with the era. */
export function versionAt({ eras }: State, revision: bigint): bigint {
  const era = eras.findLast(({ after }) => after < revision) ?? eras[0]!
  return (era.id << revisionBits) | revision
}

/** The revision of a version; undefined when nothing in this history can have it. */
export function revisionOf(state: State, version: bigint): bigint | undefined {
  const revision = version & ((1n << revisionBits) - 1n)
  return revision > 0n && versionAt(state, revision) === version ? revision : undefined
}

/** The state as its key holds it. */
export function encodeState({ store, cluster, phase, note, eras }: State): string {
  const texts = eras.map(({ id, after }) => [String(id), String(after)])
  return JSON.stringify({ format, store, cluster, phase, note, eras: texts })
}

/** Throws ENGINE when it cannot be understood. */
export function decodeState(text: string): State {
  try {
    const { format: found, store, cluster, phase, note, eras } = JSON.parse(text)
    if (found === format && Array.isArray(eras) && eras.length > 0) {
      const read = eras.map(([id, after]) => ({ id: BigInt(id), after: BigInt(after) }))
      return { store, cluster, phase, note, eras: read }
    }
  } catch {
    // Said below.
  }
  const message =
    'the state of this store was written by a newer Fahao, or by something else; upgrade this one'
  throw new FahaoError('ENGINE', message)
}
