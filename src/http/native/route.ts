/** Makes a route of HTTP of an operation: where it is, what its query is read as, and its answer. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MeteredCatalogue } from '../../catalogue/metered-catalogue.ts'
import type { OperationContext } from '../../operations/context.ts'
import { notesOf, type Operation } from '../../operations/operation.ts'
import { clientAddress } from '../caller.ts'
import type { IssuingNode } from '../issuing-node.ts'
import { jsonAnswer, type Operation as Route, readBody, readQuery, refuseBody } from '../operation.ts'
import { HttpRefusal } from '../problem.ts'

/** The routes of these operations, on a node. */
export function routesOf(operations: readonly Operation[], node: Served): Route[] {
  return operations.map((operation) => routeOf(operation, node))
}

type Served = Pick<IssuingNode, 'catalogue' | 'server'>

function routeOf(operation: Operation, node: Served): Route {
  const { name, summary, change, args, http } = operation
  const { answer, none, body, ...form } = http
  const [described, shape] = answer
  const notes = notesOf(operation, (argument) => `\`${argument}\``, 'null')
  const inPath = [...http.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter!)
  const inQuery =
    body === undefined ? Object.entries(args).filter(([argument]) => !inPath.includes(argument)) : []
  const query = z.strictObject(
    Object.fromEntries(inQuery.map(([argument, { schema }]) => [argument, schema(node.server)])),
  )
  return {
    command: name,
    summary,
    ...(notes !== undefined && { notes }),
    ...form,
    ...(inQuery.length > 0 && { query }),
    ...(body && { body }),
    answers:
      shape === undefined ? { 204: { description: described } } : { 200: jsonAnswer(described, shape) },
    ...(change && { change: { event: change } }),
    async handler(request, reply) {
      if (body !== undefined) readBody(body, request)
      else if (http.method !== 'GET') refuseBody(request)
      const given = inQuery.length > 0 ? readQuery(query, request) : request.body
      const values = { ...(given as object | undefined), ...(request.params as Record<string, string>) }
      const found = await operation.run(contextOf(node, request), values)
      if (none !== undefined && (found === undefined || found === false))
        throw new HttpRefusal(404, none(values[inPath[0]!]!))
      if (shape !== undefined) return found
      return reply.code(204).send()
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
