/**
 * What the proxy asks the server by itself, on the client's connection, in front of an INSERT, whose diagnostics replace those of
 * the question. A reply that is longer than any of its kind, or cannot be read, ends the connection.
 */
import type { FilledSession } from './exchange.ts'
import { commands, headerBytes, lengthOfInteger, readInteger } from './protocol.ts'
import { type SqlSession, sqlSession } from './sql/session.ts'

const question = Buffer.from(
  'SELECT @@SESSION.sql_mode, @@SESSION.character_set_client, HEX(CONVERT(DATABASE() USING utf8mb4))',
)
const replyBytesMax = 65_536
/** The session when the question has no answer that can be read: no text is read in it. */
const unreadable: SqlSession = sqlSession({ sqlMode: '', charset: '', database: null })

/** Asks for the facts of the session. */
export function askSession(session: FilledSession): Promise<SqlSession> {
  return new Promise((resolve) => {
    const packets: Buffer[] = []
    session.ask(commands.query, question, {
      form: 'results',
      receives: 'all',
      bytesMax: replyBytesMax,
      packet(bytes, isLast) {
        packets.push(bytes)
        if (isLast) resolve(bytes[headerBytes] === 0xff ? unreadable : sessionIn(valuesOfLastRow(packets)))
        return undefined
      },
    })
  })
}

/** In the form of another character set, such as UTF-16, the values would be taken for others. */
function sessionIn([sqlMode, charset, database]: readonly (string | null)[]): SqlSession {
  if (sqlMode == null || charset == null || database === undefined) return unreadable
  if (!/^[A-Z0-9_,]*$/.test(sqlMode) || !/^[0-9A-F]*$/.test(database ?? '')) return unreadable
  const name = database === null ? null : Buffer.from(database, 'hex').toString()
  return sqlSession({ sqlMode, charset, database: name })
}

/** The values of the last row of a result, or none: how many columns, their definitions, perhaps EOF, rows, and the end. */
function valuesOfLastRow(packets: readonly Buffer[]): (string | null)[] {
  const behind = 1 + readInteger(packets[0]!, headerBytes)
  const hasEof = packets[behind]?.[headerBytes] === 0xfe
  const row = packets.slice(hasEof ? behind + 1 : behind, -1).at(-1)
  if (row === undefined) return []
  const values: (string | null)[] = []
  for (let at = headerBytes; at < row.length; ) {
    if (row[at] === 0xfb) {
      values.push(null)
      at++
      continue
    }
    const start = at + lengthOfInteger(row[at]!)
    at = start + readInteger(row, at)
    if (at > row.length) throw new RangeError('a text that is cut')
    values.push(row.toString('utf8', start, at))
  }
  return values
}
