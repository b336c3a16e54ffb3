/** What a node does with a request that another one has forwarded to it: it answers, or nobody does. */
import { hasCode } from '../base/errors.ts'
import { type Moved, slotNotServed } from '../base/moved.ts'
import type { ClusterView } from './context.ts'

/** How long a forwarded request that nobody can answer yet waits for that, in ms. */
const waitMs = 2000

/**
 * Tries a forwarded request again that was refused here as MOVED: the node that sent it holds this one for the
 * leader, so one of the two is behind. It never goes to a third node: CLUSTERDOWN where it cannot be answered here.
 */
export async function answerHere<Answer>(
  cluster: ClusterView,
  { details }: Moved,
  again: () => Answer | Promise<Answer>,
): Promise<Answer> {
  const lead = await cluster.leadWithin(details.slot, waitMs, true)
  if (lead.state !== 'here') throw slotNotServed()
  try {
    return await again()
  } catch (error) {
    throw hasCode(error, 'MOVED') ? slotNotServed() : error
  }
}
