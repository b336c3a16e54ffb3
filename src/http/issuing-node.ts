/** A node as the operations that issue ids see it: its catalogue charges ids to namespaces. */
import { MeteredCatalogue } from '../catalogue/metered-catalogue.ts'
import type { FahaoNode } from '../node/node.ts'

/** The parts of a node that issuing operations use. */
export type IssuingNode = Pick<FahaoNode, 'config' | 'engine' | 'timeline' | 'catalogue' | 'server'>

/** The parts of `node`, with ids charged to this user. */
export function issuingNode(
  { config, engine, timeline, catalogue, server }: FahaoNode,
  user: () => string,
): IssuingNode {
  return { config, engine, timeline, server, catalogue: new MeteredCatalogue(catalogue, server.meters, user) }
}
