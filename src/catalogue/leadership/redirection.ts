/** The errors for requests about a generator that another node leads. */
import { FahaoError } from '../../base/errors.ts'
import { Moved, type MovedDetails, slotNotServed } from '../../base/moved.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { LeaderTerm, ShardLeader } from '../../cluster/events.ts'
import { slotOf } from '../../cluster/slots.ts'

type LedElsewhere = ShardLeader & { readonly state: 'elsewhere' }

/** The node that leads a slot. */
export function detailsOf(slot: number, { node }: LedElsewhere): MovedDetails {
  return { node: node.id, slot, resp: node.resp, http: node.http }
}

/** The error for a request about a slot that another node leads. */
export function moved(slot: number, lead: LedElsewhere): Moved {
  return new Moved(detailsOf(slot, lead))
}

/** Rejects with MOVED or CLUSTERDOWN unless this node leads a generator, and with STALE where it leads it under another leadership. */
export async function refuseUnlessLed(
  cluster: Cluster | undefined,
  { name, under }: { readonly name: string; readonly under: LeaderTerm | undefined },
): Promise<void> {
  const slot = slotOf(name)
  const lead = await cluster?.leadWithin(slot)
  if (lead === undefined || lead === under) return
  if (lead.state === 'elsewhere') throw moved(slot, lead)
  if (lead.state === 'none') throw slotNotServed()
  throw new FahaoError('STALE', `the leadership of generator '${name}' has just changed; retry`)
}
