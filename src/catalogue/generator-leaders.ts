/** Who leads what, as far as the catalogue of a node in a cluster has to know. */
import { Moved, type MovedDetails } from '../base/moved.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Lead } from '../cluster/leadership.ts'

type Elsewhere = Lead & { readonly state: 'elsewhere' }

/** The part of a cluster that the catalogue asks and listens to, and how long a lease is. */
export type GeneratorLeaders = {
  readonly cluster: Pick<
    Cluster,
    'check' | 'here' | 'held' | 'lead' | 'leadWithin' | 'listen' | 'sealedOut' | 'status'
  >
  readonly leaseTtlMs: number
}

/** The node that leads what is asked for here. */
export function detailsOf(slot: number, { node }: Elsewhere): MovedDetails {
  return { node: node.id, slot, resp: node.resp, http: node.http }
}

/** What somebody is told who asks here for what another node leads. */
export function moved(slot: number, lead: Elsewhere): Moved {
  return new Moved(detailsOf(slot, lead))
}
