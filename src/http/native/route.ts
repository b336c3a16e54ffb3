/** Makes a route of HTTP of an operation: where it is, what its query is read as, and its answer. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MeteredCatalogue } from '../../catalogue/metered-catalogue.ts'
import type { OperationContext } from '../../operations/context.ts'
import type { Operation } from '../../operations/operation.ts'
import { clientAddress } from '../caller.ts'
import type { IssuingNode } from '../issuing-node.ts'
import { jsonAnswer, type Operation as Route, readQuery, refuseBody } from '../operation.ts'

/** The routes of these operations, on a node. */
export function routesOf(operations: readonly Operation[], node: Served): Route[] {
  return operations.map((operation) => routeOf(operation, node))
}

type Served = Pick<IssuingNode, 'catalogue' | 'server'>

function routeOf(operation: Operation, node: Served): Route {
  const { name, summary, change, args, http } = operation
  const { answer, ...form } = http
  const inPath = [...http.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter!)
  const inQuery = Object.entries(args).filter(([argument]) => !inPath.includes(argument))
  const query = z.strictObject(
    Object.fromEntries(inQuery.map(([argument, { schema }]) => [argument, schema(node.server)])),
  )
  return {
    command: name,
    summary,
    ...form,
    ...(inQuery.length > 0 && { query }),
    answers: { 200: jsonAnswer(...answer) },
    ...(change && { change: { event: change } }),
    async handler(request) {
      if (http.method !== 'GET') refuseBody(request)
      const given = inQuery.length > 0 ? readQuery(query, request) : {}
      return operation.run(contextOf(node, request), { ...(request.params as object), ...given })
    },
  }
}

/** What a use case reaches for the caller of a request. */
function contextOf({ catalogue, server }: Served, request: FastifyRequest): OperationContext {
  const { access } = request
  return {
    server,
    catalogue: new MeteredCatalogue(catalogue, server.meters, () => access.user),
    caller: { access, address: clientAddress(request) },
  }
}
