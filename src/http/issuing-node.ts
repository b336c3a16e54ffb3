/** A node as the operations that issue ids see it, and the generators of a request: its user's namespaces count its ids. */
import type { FastifyRequest } from 'fastify'
import type { Generator } from '../catalogue/catalogue.ts'
import type { FahaoNode } from '../node/node.ts'

/** The parts of a node that issuing operations use. */
export type IssuingNode = Pick<FahaoNode, 'config' | 'engine' | 'timeline' | 'catalogue' | 'server'>

/** The generator, if it is in use. */
export function findFor(
  { catalogue, server }: IssuingNode,
  request: FastifyRequest,
  name: string,
): Generator | undefined {
  const generator = catalogue.find(name)
  return generator && server.meters.meter(generator, userOf(request))
}

/** Opens the generator. */
export async function openFor(node: IssuingNode, request: FastifyRequest, name: string): Promise<Generator> {
  return metered(node, request, await node.catalogue.open(name))
}

/** The generator as the user of a request sees it. */
export function metered({ server }: IssuingNode, request: FastifyRequest, generator: Generator): Generator {
  return server.meters.meter(generator, userOf(request))
}

/** Empty where a route is open to everyone. */
function userOf(request: FastifyRequest): string {
  return request.access?.user ?? ''
}
