/** OK packets: 0x00, affected rows, insert id, status, warnings, and an info text (MySQL's manual, "OK_Packet"). */
import { headerBytes, lengthOfInteger, readInteger } from './protocol.ts'

/** What an OK packet says. */
export type OkFacts = {
  readonly affectedRows: number
  /** Rows that were there before, by the info text of statements with several rows. */
  readonly duplicates: number
}

/** Reads a whole packet. */
export function readOk(packet: Buffer): OkFacts {
  const [, duplicates = '0'] = /\d+\D+(\d+)\D+\d+/.exec(packet.toString('latin1', infoAt(packet))) ?? []
  return { affectedRows: readInteger(packet, headerBytes + 1), duplicates: Number(duplicates) }
}

/** The insert id of a whole packet, in decimal. */
export function insertIdOf(packet: Buffer): bigint {
  const at = insertIdAt(packet)
  if (packet[at] !== 0xfe) return BigInt(readInteger(packet, at))
  return packet.readBigUInt64LE(at + 1)
}

/** The packet with another insert id. */
export function withInsertId(packet: Buffer, id: bigint): Buffer {
  const at = insertIdAt(packet)
  const edited = Buffer.concat([
    packet.subarray(0, at),
    integerOf(id),
    packet.subarray(at + lengthOfInteger(packet[at]!)),
  ])
  edited.writeUIntLE(edited.length - headerBytes, 0, 3)
  return edited
}

function insertIdAt(packet: Buffer): number {
  const at = headerBytes + 1
  return at + lengthOfInteger(packet[at]!)
}

/** Behind the insert id, the status flags and the number of warnings. */
function infoAt(packet: Buffer): number {
  const at = insertIdAt(packet)
  return at + lengthOfInteger(packet[at]!) + 4
}

/** A length-encoded integer. */
function integerOf(value: bigint): Buffer {
  if (value < 0xfbn) return Buffer.from([Number(value)])
  const [marker, bytes] = value < 2n ** 16n ? [0xfc, 2] : value < 2n ** 24n ? [0xfd, 3] : [0xfe, 8]
  const encoded = Buffer.alloc(9)
  encoded[0] = marker
  encoded.writeBigUInt64LE(value, 1)
  return encoded.subarray(0, 1 + bytes)
}
