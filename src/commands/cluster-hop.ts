/**
 * Sending a request on to its leader, as both transports do it: one hop, and once more if the leadership has passed on
 * to a third node meanwhile.
 */
import { hasCode } from '../base/errors.ts'
import { type Moved, slotNotServed } from '../base/moved.ts'
import type { ClusterView } from './context.ts'

/** How long a request that nobody can answer yet waits for that, in ms. */
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

/**
 * Sends a request on to its leader. Where that one has just handed over to somebody else (it says CLUSTERDOWN, and has
 * done nothing), this node looks again, and sends it once more, or answers by itself.
 */
export async function sendToLeader<Answer>(
  cluster: ClusterView,
  moved: Moved,
  way: {
    readonly send: (details: Moved['details']) => Promise<Answer>
    readonly isNotLed: (answer: Answer) => boolean
    readonly answerHere: () => Answer | Promise<Answer>
  },
): Promise<Answer> {
  const first = await way.send(moved.details)
  if (!way.isNotLed(first)) return first
  const { slot } = moved.details
  const lead = await cluster.leadWithin(slot, waitMs, true)
  if (lead.state === 'nobody') return first
  if (lead.state === 'here') return answerHere(cluster, moved, way.answerHere)
  return way.send({ slot, resp: lead.node.resp, http: lead.node.http })
}
