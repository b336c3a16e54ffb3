/** Aborts a wait for ids when the client has gone. */
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

/** By connection: its requests are carried out one after the other, so they share a signal. */
const signals = new WeakMap<Socket, AbortSignal>()
/** An abort without a reason builds a DOMException with a stack, which costs time. */
const closed = new Error('the client has closed its connection')

/** Aborted when the connection of the request ends. */
export function disconnectSignal({ request: { socket } }: FastifyReply): AbortSignal {
  const known = signals.get(socket)
  if (known !== undefined) return known
  const gone = new AbortController()
  if (socket.destroyed) gone.abort(closed)
  else socket.once('close', () => gone.abort(closed))
  signals.set(socket, gone.signal)
  return gone.signal
}
