/** The HTTP API of CosId's proxy: machine ids, segments of ids, and single ids. */
import type { FastifyRequest } from 'fastify'
import { findFor, type IssuingNode, openFor } from '../issuing-node.ts'
import { type CompatApi, type CompatRoute, issueOne } from './api.ts'
import { cosidFailure } from './cosid-failure.ts'
import { machineRoutes } from './cosid-machines.ts'
import { segmentRoutes } from './cosid-segments.ts'
import { contentTypes } from './spring.ts'

/** Everything under the paths of CosId's proxy. */
export function cosidApi(node: IssuingNode): CompatApi {
  return {
    routes: [
      ...machineRoutes(node),
      ...segmentRoutes(node),
      idRoute(node, '/ids/{name}', false),
      idRoute(node, '/ids/as-string/{name}', true),
    ],
  }
}

/** @param asText whether the id has its generator's format, instead of being a number. */
function idRoute(node: IssuingNode, path: string, asText: boolean): CompatRoute {
  return {
    methods: ['GET'],
    path,
    issues: true,
    access: { command: 'id.next', name: nameIn },
    failure: cosidFailure,
    describesRefusals: true,
    handler(request, reply) {
      const name = nameIn(request)
      return issueOne(reply, {
        known: findFor(node, request, name),
        open: () => openFor(node, request, name),
        check: () => {},
        show: (generator, run) => (asText ? generator.text(run.first) : run.toString()),
        contentType: asText ? contentTypes.text : contentTypes.json,
      })
    },
  }
}

function nameIn({ params }: FastifyRequest): string {
  return (params as { readonly name: string }).name
}
