/** The error for requests about a generator that another node leads. */
import { Moved, type MovedDetails } from '../../base/moved.ts'
import type { ShardLeader } from '../../cluster/events.ts'

type LedElsewhere = ShardLeader & { readonly state: 'elsewhere' }

/** The node that leads a slot. */
export function detailsOf(slot: number, { node }: LedElsewhere): MovedDetails {
  return { node: node.id, slot, resp: node.resp, http: node.http }
}

/** The error for a request about a slot that another node leads. */
export function moved(slot: number, lead: LedElsewhere): Moved {
  return new Moved(detailsOf(slot, lead))
}
