/**
 * Corrects the replies to INSERT statements. With AUTO_INCREMENT, the server reports the first generated id of a statement, or
 * the given id of its last row if it has generated none, and 0 if no row was inserted (`Sql_cmd_insert_values`,
 * sql_insert.cc). To the errors of a guard a hint is added.
 *
 * OK packets: 0x00, affected rows, insert id, status, warnings, and an info text. With CLIENT_SESSION_TRACK the info text has
 * its length in front, and what has changed of the session may follow (MySQL's manual, "OK_Packet").
 */
import type { ReplyFilter } from './exchange.ts'
import { headerBytes, lengthOfInteger, readInteger } from './protocol.ts'
import type { DrawnIds } from './sql/fill-ids.ts'
import type { Insert } from './sql/insert.ts'

/** What a guard answers: no default, NULL, a CHECK of MySQL and of MariaDB, and a trigger. */
const guardCodes = new Set([1364, 1048, 3819, 4025, 1644])
const hint =
  ' (fahao proxy: ids are filled into INSERT and REPLACE with VALUES or SET; this statement was sent as it came)'

/** Adds the hint to the errors of a guard. `done`: called when the reply is over. */
export function hintFilter(done?: () => void): ReplyFilter {
  return { form: 'results', receives: 'outcomes', packet: withHint, ...(done && { done }) }
}

/** The filter for a text of several statements. Of INSERT IGNORE the server reports ids of rows that were not inserted, too. */
export function severalFilter(
  inserts: readonly Insert[],
  drawn: readonly DrawnIds[],
  tracksSession: boolean,
): ReplyFilter {
  const ids = new Set<bigint>()
  inserts.forEach(({ isIgnore, onDuplicateEnd }, at) => {
    const own = drawn[at]
    const first = own?.isText ? undefined : own?.ids[0]
    if (isIgnore && onDuplicateEnd === 0 && first !== undefined) ids.add(BigInt(first))
  })
  return {
    form: 'results',
    receives: 'outcomes',
    packet(bytes) {
      const ok = readOk(bytes, tracksSession)
      if (ok === undefined) return withHint(bytes)
      const isUnsure = ids.has(ok.insertId) && (ok.affectedRows === 0 || ok.duplicates > 0)
      return isUnsure ? withInsertId(bytes, 0n) : bytes
    },
  }
}

/**
 * Of a text with one statement: reports its first id where the server reports none, as MariaDB does for a table with
 * triggers, unless that row may have been there before; or, if it got none, the given id of the last row if that was inserted
 * for certain. Undefined: ids are texts, or the server reports the id of the row that was there.
 */
export function aloneFilter(
  { isIgnore, isReplace, onDuplicateEnd }: Insert,
  drawn: string | undefined,
  given: string | undefined,
  tracksSession: boolean,
): ReplyFilter | undefined {
  const id = BigInt(drawn ?? given ?? 0)
  // A server that is not strict stores another id than one that is too large.
  if (id === 0n || id >= 1n << 64n || onDuplicateEnd > 0) return undefined
  return {
    form: 'results',
    receives: 'outcomes',
    packet(bytes) {
      const ok = readOk(bytes, tracksSession)
      if (ok === undefined) return drawn === undefined ? withHint(bytes) : bytes
      const { affectedRows, insertId, duplicates } = ok
      const mayBeOther =
        affectedRows === 0 || (duplicates > 0 && (isIgnore || (drawn === undefined && !isReplace)))
      if (mayBeOther) return insertId === id && drawn !== undefined ? withInsertId(bytes, 0n) : bytes
      return insertId === 0n ? withInsertId(bytes, id) : bytes
    },
  }
}

function withHint(packet: Buffer): Buffer {
  if (packet[headerBytes] !== 0xff || !guardCodes.has(packet.readUInt16LE(headerBytes + 1))) return packet
  return withLength(Buffer.concat([packet, Buffer.from(hint)]))
}

/** What an OK packet says. */
type OkFacts = {
  readonly affectedRows: number
  readonly insertId: bigint
  /** Rows that were there before, by the info text of statements with several rows. */
  readonly duplicates: number
}

/** Reads a whole packet; undefined: it is an error. Throws if it is cut. `tracksSession`: the client has CLIENT_SESSION_TRACK. */
export function readOk(packet: Buffer, tracksSession: boolean): OkFacts | undefined {
  if (packet[headerBytes] !== 0) return undefined
  const idAt = insertIdAt(packet)
  const idEnd = idAt + lengthOfInteger(packet[idAt]!)
  const insertId = idEnd - idAt === 9 ? packet.readBigUInt64LE(idAt + 1) : BigInt(readInteger(packet, idAt))
  const affectedRows = readInteger(packet, headerBytes + 1)
  // Behind the insert id, the status flags and the number of warnings.
  let [from, to] = [idEnd + 4, packet.length]
  if (from >= to) return { affectedRows, insertId, duplicates: 0 }
  if (tracksSession) {
    const length = readInteger(packet, from)
    from += lengthOfInteger(packet[from]!)
    to = from + length
  }
  const [, duplicates = '0'] = /\d+\D+(\d+)\D+\d+/.exec(packet.toString('latin1', from, to)) ?? []
  return { affectedRows, insertId, duplicates: Number(duplicates) }
}

/** The packet with another insert id. */
export function withInsertId(packet: Buffer, id: bigint): Buffer {
  const at = insertIdAt(packet)
  const behind = packet.subarray(at + lengthOfInteger(packet[at]!))
  return withLength(Buffer.concat([packet.subarray(0, at), integerOf(id), behind]))
}

function insertIdAt(packet: Buffer): number {
  const at = headerBytes + 1
  return at + lengthOfInteger(packet[at]!)
}

/** The packet with its length in its header. */
function withLength(packet: Buffer): Buffer {
  packet.writeUIntLE(packet.length - headerBytes, 0, 3)
  return packet
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
