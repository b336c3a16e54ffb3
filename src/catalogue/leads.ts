/** Who leads what, as far as the catalogue of a node in a cluster has to know. */
import { Moved } from '../base/moved.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Lead } from '../cluster/leadership.ts'

/** The part of a cluster that the catalogue asks and listens to, and how long a lease is. */
export type Leads = {
  readonly cluster: Pick<
    Cluster,
    'check' | 'here' | 'held' | 'lead' | 'leadWithin' | 'listen' | 'sealedOut' | 'status'
  >
  readonly leaseTtlMs: number
}

/** What somebody is told who asks here for what another node leads. */
export function moved(slot: number, { node }: Lead & { readonly state: 'elsewhere' }): Moved {
  return new Moved({ slot, resp: node.resp, http: node.http })
}
