/** The operations of a node for the transports inside its process. In a cluster they are carried out by the leaders. */
import { systemClock } from '../base/clock.ts'
import { Forwarder } from '../forwarding/forwarder.ts'
import type { Certificates } from '../listening/certificates.ts'
import { dialPlain } from '../listening/dial.ts'
import type { FahaoNode } from '../node/node.ts'
import { Callers } from '../operations/caller.ts'
import { LeaderTransport, leadersOf } from '../resp/leader-calls.ts'

/** The callers of a node, and what closes the connections to other nodes. */
export type OpenCallers = { readonly callers: Callers; close(): void }

/** @param tls the certificate that RESP speaks TLS with, here and on other nodes. */
export function openCallers(
  { config, access, catalogue, server }: FahaoNode,
  tls: Certificates | undefined,
): OpenCallers {
  const { cluster } = server
  if (cluster === undefined) return { callers: new Callers({ catalogue, server }), close() {} }
  const transport = new LeaderTransport(systemClock, config.callTimeoutMs, tls?.dial ?? dialPlain, access)
  const forwarder = new Forwarder(cluster, transport, true)
  return {
    callers: new Callers({ catalogue, server, leaders: leadersOf(catalogue, forwarder) }),
    close: () => forwarder.close(),
  }
}
