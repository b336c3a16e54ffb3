/**
 * Sending a request on to its leader, as both transports do it: one hop, and more of them if the leader could not be
 * reached, its answer got lost and the request may be repeated, or the leadership has passed on to a third node.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import { Moved, type MovedDetails, slotNotServed } from '../base/moved.ts'
import { detailsOf } from '../catalogue/generator-leaders.ts'
import type { ClusterView } from './context.ts'

/** Nothing was sent: there is no connection to the leader. */
export class Unreachable extends FahaoError {
  /** The message without what to do. */
  readonly what: string

  /** @param leader its address. */
  constructor(leader: string, reason: string) {
    const what = `the leader at ${leader} cannot be reached (${reason})`
    super('UNAVAILABLE', `${what}; retry`)
    this.what = what
  }
}

/** It was sent, and the connection or the leader ended before the answer: it may have been carried out. */
export class AnswerLost extends FahaoError {
  /** @param leader its address. */
  constructor(leader: string, reason: string) {
    super('UNKNOWN', `the leader at ${leader} did not answer (${reason}); retry`)
  }
}

/** How a request gets to its leader, and how its answer is read. */
export type Route<Answer> = {
  /** Whether it only draws ids: one whose answer got lost is repeated then, and its first ids are a gap. */
  readonly onlyDraws: boolean
  /** Rejects with `Unreachable` where nothing was sent. */
  readonly send: (details: MovedDetails) => Promise<Answer>
  readonly isNotLed: (answer: Answer) => boolean
  readonly answerHere: () => Answer | Promise<Answer>
}

/**
 * Tries a forwarded request again that was refused here as MOVED: the node that sent it holds this one for the
 * leader, so one of the two is behind. It never goes to a third node: CLUSTERDOWN where it cannot be answered here.
 */
export async function answerHere<Answer>(
  cluster: ClusterView,
  { slot }: MovedDetails,
  again: () => Answer | Promise<Answer>,
): Promise<Answer> {
  const lead = await cluster.leadWithin(slot, undefined, true)
  if (lead.state !== 'here') throw slotNotServed()
  try {
    return await again()
  } catch (error) {
    throw hasCode(error, 'MOVED') ? slotNotServed() : error
  }
}

/**
 * Sends a request on to its leader. Where that one has just handed over to somebody else (it says CLUSTERDOWN, and has
 * done nothing), this node looks again, and sends it once more, or answers by itself. So it does where the leader cannot
 * be reached, after waiting for another one: CLUSTERDOWN where none comes. So it does, too, where the answer got lost and
 * the request only draws ids; where the same leader loses the answer twice, it waits for another one.
 */
export function sendToLeader<Answer>(
  cluster: ClusterView,
  details: MovedDetails,
  way: Route<Answer>,
): Promise<Answer> {
  return way.send(details).then(
    (answer) => (way.isNotLed(answer) ? sendAgain(cluster, details, way, answer) : answer),
    (error) => {
      if (error instanceof Unreachable) return waitForAnother(cluster, details, way, notReplaced(error))
      if (error instanceof AnswerLost && way.onlyDraws) return repeat(cluster, details, way, error)
      throw error
    },
  )
}

/** Answers a client here, which leads now; or at the next leader, where the leadership has passed on in this moment. */
async function answerOrSend<Answer>({ answerHere, send }: Route<Answer>): Promise<Answer> {
  try {
    return await answerHere()
  } catch (error) {
    if (error instanceof Moved) return send(error.details)
    throw error
  }
}

async function sendAgain<Answer>(
  cluster: ClusterView,
  details: MovedDetails,
  way: Route<Answer>,
  first: Answer,
): Promise<Answer> {
  const lead = await cluster.leadWithin(details.slot, undefined, true)
  if (lead.state === 'nobody') return first
  if (lead.state === 'here') return answerOrSend(way)
  return way.send(detailsOf(details.slot, lead))
}

/** The leader may have ended, or the connection alone: whichever leads is asked, and one that is not reached waited for. */
async function repeat<Answer>(
  cluster: ClusterView,
  details: MovedDetails,
  way: Route<Answer>,
  lost: AnswerLost,
): Promise<Answer> {
  const lead = await cluster.leadWithin(details.slot, undefined, true)
  if (lead.state === 'nobody') throw lost
  if (lead.state === 'here') return answerOrSend(way)
  const next = detailsOf(details.slot, lead)
  try {
    return await sendToLeader(cluster, next, { ...way, onlyDraws: false })
  } catch (error) {
    // A process that is being killed takes connections for a moment after it has reset those that it had.
    if (error instanceof AnswerLost && next.node === details.node)
      return waitForAnother(cluster, next, way, error)
    throw error
  }
}

function notReplaced({ what }: Unreachable): FahaoError {
  return new FahaoError('CLUSTERDOWN', `${what}, and no other node took over in time; retry`)
}

/** Asks the node that leads next; rejects with `none` where no other node takes over in time. */
async function waitForAnother<Answer>(
  cluster: ClusterView,
  details: MovedDetails,
  way: Route<Answer>,
  none: FahaoError,
): Promise<Answer> {
  const lead = await cluster.leadWithin(details.slot, undefined, true, details.node)
  if (lead.state === 'here') return answerOrSend(way)
  if (lead.state === 'elsewhere' && lead.node.id !== details.node) {
    const next = detailsOf(details.slot, lead)
    const answer = await way.send(next)
    // A successor of a node that ended may hand over at once, to balance the shards.
    return way.isNotLed(answer) ? sendAgain(cluster, next, way, answer) : answer
  }
  throw none
}
