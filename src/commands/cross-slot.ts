/** Whether the generators that a request names lie in one slot. */

import { FahaoError } from '../base/errors.ts'
import { slotOf } from '../cluster/slots.ts'
import type { CommandContext } from './context.ts'

/** CROSSSLOT, as Redis Cluster answers, when a command names generators of several slots. */
export function checkOneSlot({ server }: CommandContext, names: readonly string[]): void {
  if (server.cluster === undefined || names.length < 2) return
  const first = slotOf(names[0]!)
  if (!names.every((name) => slotOf(name) === first)) throw crossSlot()
}

/** CROSSSLOT, in Redis's words. */
export function crossSlot(): FahaoError {
  return new FahaoError('CROSSSLOT', "Keys in request don't hash to the same slot")
}
