/** Makes a route of HTTP of an operation: where it is, what its query is read as, and its answer. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { MeteredCatalogue } from '../../catalogue/metered-catalogue.ts'
import type { Limits, OperationContext } from '../../operations/context.ts'
import {
  type GeneratorOperation,
  type HttpOperation,
  notesOf,
  type Operation,
} from '../../operations/operation.ts'
import { type ApiRoute, jsonAnswer, readBody, readQuery, refuseBody } from '../api-route.ts'
import { clientAddress } from '../caller.ts'
import { disconnectSignal } from '../connection.ts'
import type { IssuingNode } from '../issuing-node.ts'
import { HttpRefusal } from '../problem.ts'

/** The routes of these operations, on a node. */
export function routesOf(operations: readonly (Operation | HttpOperation)[], node: Served): ApiRoute[] {
  return operations.map((operation) => routeOf(operation, node))
}

/** What a route with a grammar of its own takes of an operation. */
export function factsOf({ name, change }: GeneratorOperation<never, unknown>) {
  return { command: name, ...(change && { change: { event: change } }) }
}

type Served = Pick<IssuingNode, 'catalogue' | 'server'>

function routeOf(operation: Operation | HttpOperation, node: Served): ApiRoute {
  const { name, summary, change, http } = operation
  const { answer, status, none, body, ...form } = http
  const [described, shape] = answer
  const { args, query, changed } = asHttp(operation, node.server)
  const notes = notesOf({ notes: operation.notes, args }, (argument) => `\`${argument}\``, 'null')
  const read = (request: FastifyRequest): Values => {
    if (body !== undefined) readBody(body, request)
    else if (http.method !== 'GET') refuseBody(request)
    const given = query === undefined ? request.body : readQuery(query, request)
    return { ...(given as object | undefined), ...(request.params as Record<string, string>) }
  }
  return {
    command: name,
    summary,
    ...(notes !== undefined && { notes }),
    ...form,
    ...(query && { query }),
    ...(body && { body }),
    answers:
      shape === undefined
        ? { 204: { description: described } }
        : { [status ?? 200]: jsonAnswer(described, shape) },
    ...(change && {
      change: {
        event: change,
        ...(changed && { object: (request, found) => changed(read(request) as never, found) }),
      },
    }),
    async handler(request, reply) {
      const found = await operation.run(contextOf(node, request, reply), read(request) as never)
      if (none !== undefined && (found === undefined || found === false)) {
        const error = none(Object.values(request.params as Record<string, string>)[0]!)
        throw typeof error === 'string' ? new HttpRefusal(404, error) : error
      }
      if (shape === undefined) return reply.code(204).send()
      if (status !== undefined) reply.code(status)
      return found
    },
  }
}

type Values = Readonly<Record<string, unknown>>

/** The query of an operation by zod. If Redis has it too: the arguments outside the path, unless a body has them. */
function asHttp(operation: Operation | HttpOperation, limits: Limits) {
  if (!('args' in operation)) return { args: {}, query: operation.query, changed: operation.changed }
  const { args, http } = operation
  const inQuery = Object.entries(args).filter(([name]) => !http.path.includes(`{${name}}`))
  const isAsked = http.body === undefined && inQuery.length > 0
  const schemas = inQuery.map(([name, { schema }]) => [name, schema(limits)])
  return {
    args,
    query: isAsked ? z.strictObject(Object.fromEntries(schemas)) : undefined,
    changed: undefined,
  }
}

/** What a use case reaches for the caller of a request. */
function contextOf(
  { catalogue, server }: Served,
  request: FastifyRequest,
  reply: FastifyReply,
): OperationContext {
  const { access } = request
  return {
    server,
    catalogue: new MeteredCatalogue(catalogue, server.meters, () => access.user),
    caller: {
      access,
      address: clientAddress(request),
      get signal() {
        return disconnectSignal(reply)
      },
    },
  }
}
