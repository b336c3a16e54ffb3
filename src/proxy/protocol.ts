/**
 * Numbers and small packets of MySQL's client/server protocol, as MySQL's and MariaDB's manuals have them ("Client/Server
 * Protocol": capability flags, status flags, command phase, generic response packets).
 */
import type { ErrorCode } from '../base/errors.ts'

/** Bytes of a packet's header: the length in 3 bytes, lowest first, and the sequence number. */
export const headerBytes = 4
/** The longest payload of a packet. A packet of this length is followed by another part of the same payload. */
export const partBytesMax = 0xff_ff_ff

/** Capability flags, in the lower and upper halves of the greeting. */
export const capabilities = {
  /** MySQL's server sets it; MariaDB's does not, and has further flags where MySQL's has zeros. */
  longPassword: 1,
  connectWithDatabase: 1 << 3,
  compress: 1 << 5,
  localFiles: 1 << 7,
  protocol41: 1 << 9,
  ssl: 1 << 11,
  sessionTrack: 1 << 23,
  deprecateEof: 1 << 24,
  optionalMetadata: 1 << 25,
  zstd: 1 << 26,
  queryAttributes: 1 << 27,
} as const

/** MariaDB's own flags. Its manual counts them from 1 << 32. */
export const mariadbCapabilities = {
  comMulti: 1 << 1,
  bulkOperations: 1 << 2,
  cacheMetadata: 1 << 4,
  bulkUnitResults: 1 << 5,
} as const

/** Status flags of OK and EOF packets. */
export const serverStatus = {
  inTransaction: 1,
  moreResults: 1 << 3,
  cursorExists: 1 << 6,
} as const

/** Commands: the first byte of a payload. */
export const commands = {
  quit: 0x01,
  initDb: 0x02,
  query: 0x03,
  fieldList: 0x04,
  createDb: 0x05,
  dropDb: 0x06,
  refresh: 0x07,
  shutdown: 0x08,
  statistics: 0x09,
  processInfo: 0x0a,
  processKill: 0x0c,
  debug: 0x0d,
  ping: 0x0e,
  changeUser: 0x11,
  binlogDump: 0x12,
  registerReplica: 0x15,
  statementPrepare: 0x16,
  statementExecute: 0x17,
  statementLongData: 0x18,
  statementClose: 0x19,
  statementReset: 0x1a,
  setOption: 0x1b,
  statementFetch: 0x1c,
  binlogDumpGtid: 0x1e,
  resetConnection: 0x1f,
} as const

/** An error as a client of MySQL receives it. */
export type MysqlError = {
  /** The error's code in Fahao's registry, for the metrics. Default: ERR. */
  readonly registered?: ErrorCode
  readonly code: number
  /** SQLSTATE, five characters. */
  readonly state: string
  readonly message: string
}

/**
 * ER_CONNECT_TO_FOREIGN_DATA_SOURCE: the server behind the proxy is away, or unfit. Codes of clients (2000 to 2999) would
 * say more, but MariaDB's C library calls a packet malformed in which a server uses one.
 */
export const noServerCode = 1429

/** An ERR packet. Before the greeting a client expects no SQLSTATE: `withState` is false. */
export function errorPacket(sequence: number, error: MysqlError, withState = true): Buffer {
  const state = withState ? `#${error.state}` : ''
  const text = Buffer.from(`${state}${error.message}`)
  const packet = Buffer.allocUnsafe(headerBytes + 3 + text.length)
  packet.writeUIntLE(3 + text.length, 0, 3)
  packet[3] = sequence
  packet[headerBytes] = 0xff
  packet.writeUInt16LE(error.code, headerBytes + 1)
  text.copy(packet, headerBytes + 3)
  return packet
}

/** COM_QUIT. */
export function quitPacket(): Buffer {
  return Buffer.from([1, 0, 0, 0, commands.quit])
}

/** How many bytes a length-encoded integer takes that begins with `first`. */
export function lengthOfInteger(first: number): number {
  if (first < 0xfb) return 1
  return first === 0xfc ? 3 : first === 0xfd ? 4 : 9
}

/** A length-encoded integer; as a double, which is exact below 2^53. */
export function readInteger(bytes: Buffer, at: number): number {
  const first = bytes[at]!
  if (first < 0xfb) return first
  if (first === 0xfc) return bytes.readUInt16LE(at + 1)
  if (first === 0xfd) return bytes.readUIntLE(at + 1, 3)
  return bytes.readUInt32LE(at + 1) + bytes.readUInt32LE(at + 5) * 2 ** 32
}

/** How many parts a command has. A payload that fills its last part is followed by an empty one. */
export function partsOf(body: Uint8Array): number {
  return Math.floor((body.length + 1) / partBytesMax) + 1
}

/** The packets of a command: its payload in parts. */
export function commandPackets(command: number, body: Uint8Array): Buffer[] {
  const whole = Buffer.allocUnsafe(headerBytes + 1 + body.length)
  whole[headerBytes] = command
  whole.set(body, headerBytes + 1)
  if (body.length + 1 < partBytesMax) {
    // The highest byte is the sequence number.
    whole.writeUInt32LE(body.length + 1)
    return [whole]
  }
  const packets: Buffer[] = []
  for (let part = 0; part < partsOf(body); part++) {
    const from = headerBytes + part * partBytesMax
    const bytes = whole.subarray(from, from + partBytesMax)
    packets.push(headerOf(bytes.length, part & 0xff), bytes)
  }
  return packets
}

function headerOf(length: number, sequence: number): Buffer {
  return Buffer.from([length & 0xff, (length >> 8) & 0xff, length >> 16, sequence])
}
