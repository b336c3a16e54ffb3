/**
 * The server's greeting and the client's answer to it: their capability flags, and what the proxy takes out of them.
 *
 * What the proxy does not relay is cleared, so that clients do without it: compression, whose packets are others;
 * attributes of statements and results without metadata, which change the form of packets; MariaDB's bulk operations.
 * The layouts: MySQL's manual, "Protocol::HandshakeV10" and "Protocol::HandshakeResponse41"; MariaDB's, "Connection".
 */
import { capabilities, headerBytes, mariadbCapabilities } from './protocol.ts'

/** The flags of the server or of the client. */
export type Flags = {
  readonly common: number
  /** MariaDB's own; 0 where there are none. */
  readonly mariadb: number
}

/** A greeting, and where its flags are. */
export type Greeting = {
  readonly flags: Flags
  readonly lowerAt: number
}

const notRelayed =
  capabilities.compress | capabilities.zstd | capabilities.queryAttributes | capabilities.optionalMetadata
const notRelayedOfMariadb =
  mariadbCapabilities.comMulti |
  mariadbCapabilities.bulkOperations |
  mariadbCapabilities.cacheMetadata |
  mariadbCapabilities.bulkUnitResults

const protocolVersion = 10
/** From the lower flags: the upper flags, and MariaDB's. */
const upperOffset = 5
const mariadbOffset = 14
const responseMariadbAt = headerBytes + 28
/** The length of the flags, the longest packet, the character set and the reserved bytes: all of an SSLRequest. */
const responseHeadBytes = 32

/** Reads a whole packet; undefined: it is no greeting of a version that is known. */
export function readGreeting(packet: Buffer): Greeting | undefined {
  const versionEnd = packet.indexOf(0, headerBytes + 1)
  // The version's end, the thread, 8 bytes of the challenge, a zero.
  const lowerAt = versionEnd + 1 + 4 + 8 + 1
  if (packet[headerBytes] !== protocolVersion || versionEnd < 0 || packet.length < lowerAt + 18)
    return undefined
  const upper = packet.readUInt16LE(lowerAt + upperOffset)
  const common = (packet.readUInt16LE(lowerAt) | (upper << 16)) >>> 0
  const isMysql = (common & capabilities.longPassword) !== 0
  return {
    flags: { common, mariadb: isMysql ? 0 : packet.readUInt32LE(lowerAt + mariadbOffset) },
    lowerAt,
  }
}

/** Takes out of the greeting `packet` what is not relayed, and has it offer TLS if the proxy does. */
export function editGreeting(packet: Buffer, { flags, lowerAt }: Greeting, offersTls: boolean): void {
  const tls = offersTls ? capabilities.ssl : 0
  const common = (flags.common & ~notRelayed & ~capabilities.ssl) | tls
  packet.writeUInt16LE(common & 0xffff, lowerAt)
  packet.writeUInt16LE(common >>> 16, lowerAt + upperOffset)
  if ((flags.common & capabilities.longPassword) === 0)
    packet.writeUInt32LE((flags.mariadb & ~notRelayedOfMariadb) >>> 0, lowerAt + mariadbOffset)
}

/** Reads the flags of a client's answer; undefined: it is none of protocol 4.1. */
export function readResponse(packet: Buffer): Flags | undefined {
  if (packet.length < headerBytes + responseHeadBytes) return undefined
  const common = packet.readUInt32LE(headerBytes)
  if ((common & capabilities.protocol41) === 0) return undefined
  const isMysql = (common & capabilities.longPassword) !== 0
  return { common, mariadb: isMysql ? 0 : packet.readUInt32LE(responseMariadbAt) }
}

/** Whether a client's first packet asks for TLS: the head of an answer without the rest. */
export function isTlsRequest(packet: Buffer, { common }: Flags): boolean {
  return (common & capabilities.ssl) !== 0 && packet.length === headerBytes + responseHeadBytes
}

/**
 * Takes out of the client's answer `packet` what is not relayed, which a client may ask for although it was not offered, and
 * has it speak of TLS as the connection to the server does. Returns the flags that are in force.
 */
export function editResponse(packet: Buffer, flags: Flags, isUpstreamTls: boolean): Flags {
  const tls = isUpstreamTls ? capabilities.ssl : 0
  const common = ((flags.common & ~notRelayed & ~capabilities.ssl) | tls) >>> 0
  const mariadb = (flags.mariadb & ~notRelayedOfMariadb) >>> 0
  packet.writeUInt32LE(common, headerBytes)
  if ((common & capabilities.longPassword) === 0) packet.writeUInt32LE(mariadb, responseMariadbAt)
  return { common, mariadb }
}

/** The packet that asks the server for TLS, with the head of the client's answer `packet`. */
export function tlsRequest(packet: Buffer): Buffer {
  const request = Buffer.from(packet.subarray(0, headerBytes + responseHeadBytes))
  request.writeUIntLE(responseHeadBytes, 0, 3)
  request[3] = 1
  return request
}
