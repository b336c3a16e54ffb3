/** What tells those who wait for ids that nobody waits for them any more. */
import type { FastifyReply } from 'fastify'

/** Aborted when the client goes away before its answer. Make it only for requests that wait. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  return gone.signal
}
