/** What tells those who wait for ids that nobody waits for them any more. */
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

/** By connection: its requests are carried out one after the other, so a request is gone when its connection is. */
const signals = new WeakMap<Socket, AbortSignal>()
/** Without a reason of its own an abort builds a DOMException with a stack, for nothing. */
const closed = new Error('the client has closed its connection')

/** Aborted when the client goes away before its answer. */
export function goneSignal({ request: { socket } }: FastifyReply): AbortSignal {
  const known = signals.get(socket)
  if (known !== undefined) return known
  const gone = new AbortController()
  if (socket.destroyed) gone.abort(closed)
  else socket.once('close', () => gone.abort(closed))
  signals.set(socket, gone.signal)
  return gone.signal
}
