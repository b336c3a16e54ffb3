/** The operations on namespaces: list, show, set, drop. */
import { z } from 'zod'
import { type Access, everything } from '../../auth/access.ts'
import type { FahaoNode } from '../../node/node.ts'
import { namespaceOptions } from '../../quotas/namespace.ts'
import type { Quota } from '../../quotas/quotas.ts'
import { jsonAnswer, nameOf, type Operation, readBody, refuseBody } from '../operation.ts'
import { HttpRefusal } from '../problem.ts'

const path = '/v1/namespaces/{name}'
const readErrors = ['ERR'] as const
const writeErrors = [...readErrors, 'CONFLICT', 'LIMIT', 'UNAVAILABLE', 'UNKNOWN'] as const

const shape = z
  .object({
    name: z.string(),
    ...namespaceOptions.shape,
    here: z
      .object({
        issued: z.number(),
        refused: z.number().meta({ description: 'requests' }),
        waiting: z.number().meta({ description: 'requests that wait now' }),
        shareOfDay: z.number().nullable().meta({ description: 'of idsPerDay; null without one' }),
      })
      .meta({ description: 'what the node that was asked has counted' }),
  })
  .meta({ id: 'Namespace' })

const listShape = z.object({ namespaces: z.array(shape) }).meta({ id: 'NamespaceList' })

/** A namespace, as an answer. */
export type NamespaceAnswer = z.output<typeof shape>
/** All namespaces, as an answer. */
export type NamespacesAnswer = z.output<typeof listShape>

type Served = Pick<FahaoNode, 'server' | 'timeline'>

/** `GET /v1/namespaces` and everything at `/v1/namespaces/{name}`. */
export function namespaceOperations(node: Served): Operation[] {
  return [list(node), show(node), set(node), drop(node)]
}

function list(node: Served): Operation {
  return {
    id: 'listNamespaces',
    command: 'id.namespace|list',
    method: 'GET',
    path: '/v1/namespaces',
    tag: 'namespaces',
    summary: 'Shows all namespaces in the order of their names.',
    answers: { 200: jsonAnswer('The namespaces.', listShape) },
    errors: [],
    example: {},
    async handler({ access }) {
      const { meters, turns } = node.server
      const shown = await meters.quotas.shownTo(access, turns)
      return { namespaces: shown.map((quota) => answerOf(quota, node)) }
    },
  }
}

function show(node: Served): Operation {
  return {
    id: 'getNamespace',
    command: 'id.namespace|get',
    method: 'GET',
    path,
    tag: 'namespaces',
    summary: 'Shows a namespace, and what it has counted on this node.',
    answers: { 200: jsonAnswer('The namespace.', shape) },
    errors: readErrors,
    example: { name: 'shop' },
    async handler(request) {
      return shown(node, nameOf(request), request.access)
    },
  }
}

function set(node: Served): Operation {
  return {
    id: 'setNamespace',
    command: 'id.namespace|set',
    method: 'PUT',
    path,
    tag: 'namespaces',
    summary: 'Creates or replaces a namespace.',
    notes: 'Limits that are left out do not apply. In force on every node within a second.',
    body: namespaceOptions,
    answers: { 200: jsonAnswer('The namespace.', shape) },
    errors: writeErrors,
    change: { event: 'namespace-set' },
    example: { name: 'shop', body: { match: 'shop:*', owner: 'team-a', idsPerSecond: 1000 } },
    async handler(request) {
      const name = nameOf(request)
      readBody(namespaceOptions, request)
      await node.server.meters.namespaces.set(name, request.body)
      return shown(node, name, everything)
    },
  }
}

function drop(node: Served): Operation {
  return {
    id: 'dropNamespace',
    command: 'id.namespace|drop',
    method: 'DELETE',
    path,
    tag: 'namespaces',
    summary: 'Drops a namespace. Generators stay as they are.',
    answers: { 204: { description: 'It is gone.' } },
    errors: writeErrors,
    change: { event: 'namespace-deleted' },
    example: { name: 'shop' },
    async handler(request, reply) {
      refuseBody(request)
      const name = nameOf(request)
      if (!(await node.server.meters.namespaces.drop(name))) throw unknown(name)
      reply.code(204)
      return reply.send()
    },
  }
}

function shown(node: Served, name: string, access: Access): NamespaceAnswer {
  const quota = node.server.meters.quotas.oneShownTo(access, name)
  if (quota === undefined) throw unknown(name)
  return answerOf(quota, node)
}

function answerOf(quota: Quota, { timeline }: Served): NamespaceAnswer {
  const { shareOfDay = null, ...figures } = quota.figures(timeline.nowUs())
  return { ...quota.namespace, here: { ...figures, shareOfDay } }
}

function unknown(name: string): HttpRefusal {
  return new HttpRefusal(
    404,
    `no namespace '${name.slice(0, 64)}'; fahao namespace list and GET /v1/namespaces show all`,
  )
}
