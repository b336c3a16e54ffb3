/**
 * OK packets: 0x00, affected rows, insert id, status, warnings, and an info text. With CLIENT_SESSION_TRACK the info text has
 * its length in front, and what has changed of the session may follow (MySQL's manual, "OK_Packet").
 */
import { headerBytes, lengthOfInteger, readInteger } from './protocol.ts'

/** What an OK packet says. */
export type OkFacts = {
  readonly affectedRows: number
  readonly insertId: bigint
  /** Rows that were there before, by the info text of statements with several rows. */
  readonly duplicates: number
}

/** Reads a whole packet. Throws if it is cut. `tracksSession`: the client has CLIENT_SESSION_TRACK. */
export function readOk(packet: Buffer, tracksSession: boolean): OkFacts {
  const [, duplicates = '0'] = /\d+\D+(\d+)\D+\d+/.exec(infoOf(packet, tracksSession)) ?? []
  return {
    affectedRows: readInteger(packet, headerBytes + 1),
    insertId: insertIdOf(packet),
    duplicates: Number(duplicates),
  }
}

function insertIdOf(packet: Buffer): bigint {
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
function infoOf(packet: Buffer, tracksSession: boolean): string {
  const idAt = insertIdAt(packet)
  const at = idAt + lengthOfInteger(packet[idAt]!) + 4
  if (!tracksSession || at >= packet.length) return packet.toString('latin1', at)
  const start = at + lengthOfInteger(packet[at]!)
  return packet.toString('latin1', start, start + readInteger(packet, at))
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
