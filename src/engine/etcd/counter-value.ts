/** The value under a counter's key, and what a read of it showed. */
import { FahaoError } from '../../base/errors.ts'
import { unused } from '../counter-rules.ts'
import type { Counter } from '../engine.ts'
import type { KeyValue } from './api.ts'
import { present, type State } from './state.ts'

/** Encodes a counter as the value of its key. */
export function encodeCounter({ bound, fence, incarnation, version }: Counter): Buffer {
  return Buffer.from(`${bound} ${fence} ${incarnation} ${version}`)
}

/** Throws ENGINE when the value is not a counter: a damaged counter that was read as unused would begin at 0. */
export function decodeCounter(name: string, value: Buffer): Counter {
  const [, bound, fence, incarnation, version] = /^(\d+) (\d+) (\d+) (\d+)$/.exec(value.toString()) ?? []
  if (version === undefined)
    throw new FahaoError('ENGINE', `counter '${name}' holds something that no Fahao wrote; restore it`)
  return {
    bound: BigInt(bound!),
    fence: BigInt(fence!),
    incarnation: BigInt(incarnation!),
    version: BigInt(version),
  }
}

/** A counter as it stood at a revision, 0 if it was not there, in a history. */
export type Seen = { readonly counter: Counter; readonly revision: bigint; readonly history: bigint }

/** A counter that was not read yet. */
export const unseen: Seen = Object.freeze({ counter: unused, revision: 0n, history: 0n })

/** The counter in the reply to a read. */
export function seenAs(name: string, kv: KeyValue | undefined, state: State): Seen {
  const history = present(state).id
  if (kv === undefined) return { counter: unused, revision: 0n, history }
  return { counter: decodeCounter(name, kv.value), revision: BigInt(kv.modRevision), history }
}

/** Whether `one` was read at a later moment than `other`. */
export function isLater(one: Seen, other: Seen): boolean {
  return one.history === other.history ? one.revision > other.revision : one.history > other.history
}
