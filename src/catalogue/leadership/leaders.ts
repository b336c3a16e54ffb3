/** Which node leads a generator, as far as the catalogue asks. */
import { Moved, type MovedDetails } from '../../base/moved.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import type { Lead } from '../../cluster/events.ts'

type LedElsewhere = Lead & { readonly state: 'elsewhere' }

/** The part of a cluster that the catalogue uses, and the length of a lease. */
export type GeneratorLeaders = {
  readonly cluster: Pick<
    Cluster,
    'check' | 'here' | 'held' | 'lead' | 'leadWithin' | 'listen' | 'sealedOut' | 'status'
  >
  readonly leaseTtlMs: number
}

/** The node that leads a slot. */
export function detailsOf(slot: number, { node }: LedElsewhere): MovedDetails {
  return { node: node.id, slot, resp: node.resp, http: node.http }
}

/** The error for a request about a slot that another node leads. */
export function moved(slot: number, lead: LedElsewhere): Moved {
  return new Moved(detailsOf(slot, lead))
}
