/**
 * What the proxy asks the server by itself, on the client's connection: commands whose replies do not reach the client.
 * They stand in front of an INSERT, whose diagnostics take the place of theirs. A reply that is longer than any of its kind,
 * or cannot be read, ends the connection.
 */
import { type ColumnType, columnType } from './column-types.ts'
import { commands, headerBytes, lengthOfInteger, readInteger } from './protocol.ts'
import type { ReplyFilter, ReplyForm } from './reply-filter.ts'
import type { FilledColumn } from './sql/filled-columns.ts'
import { type SqlSession, sqlSession } from './sql/session.ts'

/** Sends a command whose reply the filter receives; undefined: it has none. */
export type Ask = (command: number, body: Uint8Array, reply: ReplyFilter | undefined) => void

/** The server has answered a question with an error: the packet, which the client may receive as the reply. */
export class RefusedQuestion extends Error {
  readonly packet: Buffer

  constructor(packet: Buffer) {
    super('the server has refused a question of the proxy')
    this.packet = packet
  }

  /** MySQL's number of the error. */
  get code(): number {
    return this.packet.readUInt16LE(headerBytes + 1)
  }
}

/** The facts of the session, and whether names of tables ignore case. */
export type AskedSession = { readonly session: SqlSession; readonly ignoreCase: boolean }

/** Bytes of a reply: of one row, and of a table of as many columns as servers allow (4096), with long names. */
const [rowBytesMax, tableBytesMax] = [65_536, 8 * 1_048_576]
/** The shortest error: 0xff, and its number. */
const errorBytes = 3
/** Of a definition of a column: its length, character set, length, type, flags, decimals, and two zeros. */
const fixedBytes = 13

const sessionQuestion = Buffer.from(
  'SELECT @@SESSION.sql_mode, @@SESSION.character_set_client, HEX(CONVERT(DATABASE() USING utf8mb4)), @@GLOBAL.lower_case_table_names, @@SESSION.insert_id',
)

/** Asks for the facts of the session. Rejects with RefusedQuestion. */
export async function askSession(ask: Ask, serverVersion: string): Promise<AskedSession> {
  const reply = { form: 'results', bytesMax: rowBytesMax, read: valuesOfLastRow } as const
  const values = await replyTo(ask, commands.query, sessionQuestion, reply)
  const [sqlMode, charset, database, lowerCase, insertId] = values
  // In the form of another character set, such as UTF-16, the values would be taken for others.
  const isReadable =
    values.length === 5 &&
    /^[A-Z0-9_,]*$/.test(sqlMode ?? '?') &&
    /^[a-z0-9_]+$/.test(charset ?? '') &&
    /^[0-9A-F]*$/.test(database ?? '') &&
    /^[012]$/.test(lowerCase ?? '') &&
    /^\d+$/.test(insertId ?? '')
  if (!isReadable || sqlMode == null || charset == null) throw new RefusedQuestion(noAnswer)
  const facts = {
    sqlMode,
    charset,
    database: database == null ? null : Buffer.from(database, 'hex').toString(),
    serverVersion,
    forcedId: insertId !== '0',
  }
  return { session: sqlSession(facts), ignoreCase: lowerCase !== '0' }
}

/** Asks for the columns of a table that `SELECT *` shows, in order. Rejects with RefusedQuestion. */
export async function askColumns(ask: Ask, { database, table }: FilledColumn): Promise<readonly string[]> {
  const sql = Buffer.from(`SELECT * FROM ${quoted(database)}.${quoted(table)}`)
  const reply = { form: 'prepare', bytesMax: tableBytesMax, read: preparedTable } as const
  const { statement, columns } = await replyTo(ask, commands.statementPrepare, sql, reply)
  ask(commands.statementClose, statement, undefined)
  return columns
}

function preparedTable(packets: readonly Buffer[]): { statement: Buffer; columns: readonly string[] } {
  const first = packets[0]!
  return {
    statement: first.subarray(headerBytes + 1, headerBytes + 5),
    columns: packets.slice(1, 1 + first.readUInt16LE(headerBytes + 5)).map(nameOf),
  }
}

/**
 * Asks for the type of a filled column, also of a temporary table; undefined: there is none, or the user has no privilege on
 * it. Any privilege is enough, such as INSERT. Rejects with RefusedQuestion.
 */
export async function askType(ask: Ask, filled: FilledColumn): Promise<ColumnType | undefined> {
  const { database, table, column } = filled
  const name = `_utf8mb4 x'${Buffer.from(column).toString('hex')}'`
  const sql = `SHOW FULL COLUMNS FROM ${quoted(database)}.${quoted(table)} WHERE Field = ${name}`
  const reply = { form: 'results', bytesMax: rowBytesMax, read: valuesOfLastRow } as const
  const [, type, collation] = await replyTo(ask, commands.query, Buffer.from(sql), reply)
  if (type === undefined) return undefined
  if (type === null || !/^[a-z]/.test(type)) throw new RefusedQuestion(noAnswer)
  return columnType(type, collation ?? '')
}

/** ER_UNKNOWN_ERROR, for a session in which a question has no answer that can be read. */
const noAnswer = Buffer.concat([
  Buffer.from([0, 0, 0, 1, 0xff, 0x51, 0x04]),
  Buffer.from(
    '#HY000fahao proxy: the session does not answer SELECT in a form that can be read; set sql_select_limit and character_set_results to their defaults',
  ),
])
noAnswer.writeUIntLE(noAnswer.length - headerBytes, 0, 3)

/** A reply to a question: what it is, and how a complete one is read. `read` throws if it cannot be read. */
type Reply<Answer> = {
  readonly form: ReplyForm
  readonly bytesMax: number
  readonly read: (packets: readonly Buffer[]) => Answer
}

function replyTo<Answer>(
  ask: Ask,
  command: number,
  body: Uint8Array,
  { form, bytesMax, read }: Reply<Answer>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const packets: Buffer[] = []
    ask(command, body, {
      form,
      receives: 'all',
      bytesMax,
      packet(bytes, isLast) {
        packets.push(bytes)
        if (!isLast) return undefined
        if (bytes[headerBytes] !== 0xff) resolve(read(packets))
        else if (bytes.length < headerBytes + errorBytes) throw new RangeError('an error without a number')
        else reject(new RefusedQuestion(bytes))
        return undefined
      },
    })
  })
}

/** The values of the last row of a result, or none: how many columns, their definitions, perhaps EOF, rows, and the end. */
function valuesOfLastRow(packets: readonly Buffer[]): (string | null)[] {
  const behind = 1 + readInteger(packets[0]!, headerBytes)
  const hasEof = packets[behind]?.[headerBytes] === 0xfe
  const row = packets.slice(hasEof ? behind + 1 : behind, -1).at(-1)
  if (row === undefined) return []
  const values: (string | null)[] = []
  for (let at = headerBytes; at < row.length; ) {
    const isNull = row[at] === 0xfb
    const text = isNull ? undefined : textAt(row, at)
    values.push(text?.value ?? null)
    at = text?.end ?? at + 1
  }
  return values
}

/** The name of a column in its definition: catalogue, schema, table, original table, name. */
function nameOf(packet: Buffer): string {
  let at = headerBytes
  for (let skipped = 0; skipped < 4; skipped++) at = textAt(packet, at).end
  const { value, end } = textAt(packet, at)
  if (end > packet.length - fixedBytes) throw new RangeError('a definition of a column that is cut')
  return value
}

/** A text with its length in front, and where it ends. */
function textAt(packet: Buffer, at: number): { readonly value: string; readonly end: number } {
  const start = at + lengthOfInteger(packet[at]!)
  const end = start + readInteger(packet, at)
  if (end > packet.length) throw new RangeError('a text that is cut')
  return { value: packet.toString('utf8', start, end), end }
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
