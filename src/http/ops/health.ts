/** `/healthz` and `/readyz`. */
import { z } from 'zod'
import type { FahaoNode } from '../../node/node.ts'
import { finiteOrNull } from '../../operations/shapes.ts'
import { type ApiRoute, jsonAnswer } from '../api-route.ts'

const answer = z
  .object({
    state: z.enum(['ok', 'degraded', 'down', 'stopping']).meta({
      description: 'degraded: the engine is unavailable and ids come from the buffers; down: no new ids',
    }),
    reason: z.string().nullable(),
    inHandSeconds: z.number().nullable().meta({
      description: 'the shortest time that buffered ids last, over the generators in use; null: idle',
    }),
  })
  .meta({ id: 'Health' })

/** `GET /healthz` (is the process alive) and `GET /readyz` (should it get requests). */
export function healthRoutes(node: FahaoNode): ApiRoute[] {
  return [
    {
      id: 'healthz',
      method: 'GET',
      path: '/healthz',
      tag: 'server',
      command: 'open',
      summary: 'Whether the process is alive: 200 in every state, because a restart repairs no engine.',
      answers: { 200: jsonAnswer('It is alive; the body has its state.', answer) },
      errors: [],
      example: { answer: { state: 'ok', reason: null, inHandSeconds: 3524 } },
      async handler(_, reply) {
        return reply.send(healthJson(node))
      },
    },
    {
      id: 'readyz',
      method: 'GET',
      path: '/readyz',
      tag: 'server',
      command: 'open',
      summary: 'Whether this node should get requests.',
      answers: {
        200: jsonAnswer('ok, or degraded: ids are issued.', answer),
        503: jsonAnswer('down, or stopping: send requests elsewhere.', answer),
      },
      errors: [],
      example: { answer: { state: 'ok', reason: null, inHandSeconds: 3524 } },
      async handler(_, reply) {
        const health = healthJson(node)
        const ready = health.state === 'ok' || health.state === 'degraded'
        return reply.code(ready ? 200 : 503).send(health)
      },
    },
  ]
}

function healthJson(node: FahaoNode): z.output<typeof answer> {
  const { state, reason, inHandSeconds } = node.health()
  return { state, reason: reason ?? null, inHandSeconds: finiteOrNull(inHandSeconds) }
}
