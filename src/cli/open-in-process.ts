/** The commands of a node for the transports that are not Redis's. In a cluster these always forward. */
import { systemClock } from '../base/clock.ts'
import { createCommands } from '../commands/all.ts'
import { InProcess } from '../commands/in-process.ts'
import { Forwarder } from '../forwarding/forwarder.ts'
import type { Certificates } from '../listening/certificates.ts'
import { dialPlain } from '../listening/dial.ts'
import type { FahaoNode } from '../node/node.ts'
import { clusterCommands, RespTransport } from '../resp/forward.ts'
import { readReply } from '../resp/reply-reader.ts'

/** The commands, and what closes the connections to other nodes. */
export type OpenInProcess = { readonly commands: InProcess; close(): void }

/** Makes the commands. @param tls the certificate that RESP speaks TLS with, here and on other nodes. */
export function openInProcess(
  { config, access, catalogue, server }: FahaoNode,
  tls: Certificates | undefined,
): OpenInProcess {
  const { cluster } = server
  const table = createCommands()
  if (cluster === undefined)
    return { commands: new InProcess({ table, catalogue, server, decode: readReply }), close() {} }
  const transport = new RespTransport(systemClock, config.callTimeoutMs, tls?.dial ?? dialPlain, access)
  const forwarder = new Forwarder(cluster, transport, true)
  const commands = clusterCommands(table, forwarder)
  return {
    commands: new InProcess({ table: commands, catalogue, server, decode: readReply }),
    close: () => forwarder.close(),
  }
}
