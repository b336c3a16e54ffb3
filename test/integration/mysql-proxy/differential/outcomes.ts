/** What a statement of the fuzzer does on a server, and what differs between the two. */
import type { Insert } from '../../../../src/proxy/sql/insert.ts'
import { sessionChange } from '../../../../src/proxy/sql/session-change.ts'
import type { MysqlClient, Parameter } from './mysql-client.ts'
import type { Reply } from './mysql-replies.ts'
import { SameIds, withoutIds } from './same-ids.ts'
import { showReply, showRows } from './transcripts.ts'
import { columns, type Trial } from './trials.ts'

/** Replies to a statement, and to the questions behind it. */
export type Outcome = {
  readonly replies: readonly Reply[]
  readonly after: readonly Reply[]
  /** The facts of the session before and after the statement, as text. */
  readonly facts: readonly [before: string, after: string]
  /** How many statements the server has executed as INSERT or REPLACE. */
  readonly inserts: number
}

const askCount = `SELECT SUM(VARIABLE_VALUE) FROM information_schema.SESSION_STATUS
  WHERE VARIABLE_NAME IN ('COM_INSERT', 'COM_REPLACE')`
const askFacts = 'SELECT DATABASE(), @@SESSION.sql_mode, @@SESSION.character_set_client'

/** Rows that are there before each statement, so that there are duplicates. */
const given = `
  INSERT INTO orders (id, note, code) VALUES (5, 'five', 'a'), (6, 'six', 'b');
  INSERT INTO \`Group\` (Id, \`key\`) VALUES (5, 'a'), (6, 'b');
  INSERT INTO items (id, name) VALUES (5, 'a')`
const questions = `SHOW WARNINGS; SELECT LAST_INSERT_ID(); ${Object.keys(columns)
  .concat('shop.plain', 'shop.logs', 'other.orders')
  .map((name) => `SELECT * FROM ${name.replace(/[^.]+/g, '`$&`')} ORDER BY 1, 2`)
  .join('; ')}`

/** Sends a statement in the session that it needs, and undoes what the one before did. */
export async function run(client: MysqlClient, { facts, sql, parameters }: Trial): Promise<Outcome> {
  await client.reset()
  const { charset, sqlMode, database } = facts
  const before = await client.query(
    `USE shop; SET NAMES utf8mb4; SET autocommit = 0; ${given}; SET NAMES ${charset}, sql_mode = '${sqlMode}'; USE ${database}; ${askCount}; ${askFacts}`,
  )
  const failed = before.find(({ kind }) => kind === 'error')
  if (failed) throw new Error(`the trial before was not undone: ${showReply(failed)}`)
  const replies = parameters ? await execute(client, sql, parameters) : await client.query(sql)
  const [now, count, ...after] = await client.query(
    `${askFacts}; ${askCount}; SET sql_mode = DEFAULT, character_set_client = utf8mb4; ${questions}`,
  )
  const inserts = countOf(count!) - countOf(before.at(-2)!)
  return { replies, after, facts: [showRows(before.at(-1)!), showRows(now!)], inserts }
}

function countOf(reply: Reply): number {
  return reply.kind === 'rows' ? Number(reply.rows[0]![0]) : Number.NaN
}

/** Whether no statement has failed. */
export function isAccepted({ replies }: Outcome): boolean {
  return replies.every(({ kind }) => kind !== 'error')
}

async function execute(client: MysqlClient, sql: Buffer, parameters: readonly Parameter[]): Promise<Reply[]> {
  const prepared = await client.prepare(sql)
  if (prepared.kind === 'error') return [prepared]
  const replies = await client.execute(prepared.id, parameters)
  client.closeStatement(prepared.id)
  return replies
}

/** A change of the session that `sessionChange` does not tell; undefined if there is none. */
export function changeOverlooked(
  { sql, session, parameters }: Trial,
  { facts: [before, after], replies }: Outcome,
): string | undefined {
  if (parameters) return undefined
  const change = sessionChange(sql, session)
  if (change === 'unknown') return undefined
  if (change === 'none') return before === after ? undefined : `the session has changed: ${before} ${after}`
  if (replies.some(({ kind }) => kind === 'error')) return undefined
  const expected = before.replace(/^\[\["\w+"/, `[["${change.database}"`)
  return after === expected ? undefined : `the session is not ${expected}, but ${after}`
}

/** The rows of a table with an id that AUTO_INCREMENT has generated; undefined if there is none. */
export function generatedIn({ after }: Outcome): string | undefined {
  const lines = after.slice(3, 3 + Object.keys(columns).length).map(showRows)
  return lines.find((line) => withoutIds(line, 'direct') !== line)
}

/** What differs; undefined if nothing does. */
export function compare(left: Outcome, right: Outcome, inserts: readonly Insert[]): string | undefined {
  const isPlain = inserts.every(
    ({ isIgnore, onDuplicate, rows }) =>
      !isIgnore && !onDuplicate && rows.every(({ state }) => state !== 'parameter'),
  )
  const isOk = left.replies.every(
    (reply) => reply.kind !== 'error' && (reply.kind !== 'ok' || reply.affected > 0n),
  )
  const [direct, proxied] = [linesOf(left, isOk && isPlain), linesOf(right, isOk && isPlain)]
  const same = new SameIds()
  const at = direct.findIndex((line, index) => !same.compare(line, proxied[index] ?? ''))
  if (at < 0 && direct.length === proxied.length) return undefined
  return `direct:  ${direct[at]}\n  proxied: ${proxied[at]}`
}

function linesOf({ replies, after }: Outcome, withInsertId: boolean): string[] {
  const answers = replies.map(showReply).map((line) =>
    line
      // The text that it quotes is the edited one.
      .replace(/^error 1064 (\S+) .*/s, 'error 1064 $1')
      // Of a row whose id was given: 0 where the column has no AUTO_INCREMENT.
      .replace(withInsertId ? / insertId=\d{1,9} / : / insertId=\S+ /, ' '),
  )
  // In front of the rows stand the answers to SET, SHOW WARNINGS and SELECT LAST_INSERT_ID().
  const shown = after.flatMap((reply, at) =>
    at === 0 || (at === 2 && !withInsertId) ? [] : [showRows(reply).replace(/"1064",".*"/s, '"1064"')],
  )
  return [...answers, ...shown]
}
