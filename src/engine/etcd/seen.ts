/** A counter as it was seen, and how sights of it compare. */
import { unused } from '../counter.ts'
import type { Counter } from '../engine.ts'
import type { KeyValue } from './api.ts'
import { decodeCounter } from './counter-value.ts'
import { present, type State } from './state.ts'

/** A counter as it stood at a revision, 0 if it was not there, in an era. */
export type Seen = { readonly counter: Counter; readonly revision: bigint; readonly era: bigint }

/** Of what was never looked at. */
export const unseen: Seen = Object.freeze({ counter: unused, revision: 0n, era: 0n })

/** What a read has shown. */
export function seenAs(name: string, kv: KeyValue | undefined, state: State): Seen {
  const era = present(state).id
  if (kv === undefined) return { counter: unused, revision: 0n, era }
  return { counter: decodeCounter(name, kv.value), revision: BigInt(kv.modRevision), era }
}

/** Whether one shows what came after the other. */
export function isLater(one: Seen, other: Seen): boolean {
  return one.era === other.era ? one.revision > other.revision : one.era > other.era
}
