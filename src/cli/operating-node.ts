/** A node for the transports whose operations run inside its process. In a cluster the leaders of generators run them. */
import { systemClock } from '../base/clock.ts'
import { Forwarder } from '../forwarding/forwarder.ts'
import type { Certificates } from '../listening/certificates.ts'
import { dialPlain } from '../listening/dial.ts'
import type { FahaoNode } from '../node/node.ts'
import type { OperatingNode } from '../operations/caller.ts'
import { LeaderTransport, leadersOf } from '../resp/leader-calls.ts'

/** The node; `close` closes its connections to other nodes. @param tls the certificate that RESP speaks TLS with, on all nodes. */
export function openOperatingNode(
  { config, access, catalogue, server, tracing }: FahaoNode,
  tls: Certificates | undefined,
): OperatingNode & { close(): void } {
  const { cluster } = server
  if (cluster === undefined) return { catalogue, server, close() {} }
  const transport = new LeaderTransport(systemClock, config.callTimeoutMs, tls?.dial ?? dialPlain, access)
  const forwarder = new Forwarder(cluster, transport, true, tracing)
  return { catalogue, server, leaders: leadersOf(catalogue, forwarder), close: () => forwarder.close() }
}
