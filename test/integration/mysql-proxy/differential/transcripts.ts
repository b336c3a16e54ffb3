/** What a script does on one of the two servers, written as text. */
import { superuser } from '../../../launch/database.ts'
import type { Script, Statement } from './corpus.ts'
import { MysqlClient } from './mysql-client.ts'
import type { Column, Reply } from './mysql-replies.ts'
import type { Side } from './stage.ts'

/** What a script did. */
export type Transcript = {
  /** For each statement that was sent: its replies, and those to the questions after it. */
  readonly statements: readonly { readonly place: string; readonly lines: readonly string[] }[]
  /** The rows of all tables at the end. */
  readonly tables: readonly string[]
}

/** utf8mb4_general_ci. */
const utf8mb4 = 45

/** Runs a script on one side, and empties its tables. Statements that the guard refuses are sent to the proxy alone. */
export async function runScript(script: Script, side: Side, isProxied: boolean, capabilities: number) {
  const login = { user: superuser, database: 'shop' }
  const { collation = utf8mb4 } = script
  const client = await MysqlClient.connect({ ...login, port: side.port, capabilities, collation })
  const statements: { place: string; lines: string[] }[] = []
  try {
    for (const statement of script.statements) {
      if (statement.isGuarded && !isProxied) continue
      statements.push({ place: statement.place, lines: await runStatement(client, statement, script.quiet) })
    }
  } finally {
    client.end()
  }
  const admin = await MysqlClient.connect({ ...login, port: side.database.port })
  try {
    return { statements, tables: await takeTables(admin) }
  } finally {
    admin.end()
  }
}

async function runStatement(client: MysqlClient, statement: Statement, quiet: boolean): Promise<string[]> {
  const lines: string[] = []
  const add = async (replies: readonly Reply[]) => {
    lines.push(...replies.map(showReply))
    if (quiet) return
    const last = replies.at(-1)!
    if (last.kind === 'error' || last.warnings > 0) {
      lines.push(...(await client.query('SHOW WARNINGS')).map(showRows))
    }
    lines.push(...(await client.query('SELECT LAST_INSERT_ID()')).map(showRows))
  }
  if (statement.executions === undefined) {
    await add(await send(client, statement))
    return lines
  }
  const prepared = await client.prepare(statement.sql)
  if (prepared.kind === 'error') {
    await add([prepared])
    return lines
  }
  const { parameters, columns, warnings } = prepared
  lines.push(`prepared ${parameters.length} parameters, warnings=${warnings}, [${columns.map(showColumn)}]`)
  for (const values of statement.executions) await add(await client.execute(prepared.id, values))
  client.closeStatement(prepared.id)
  return lines
}

function send(client: MysqlClient, { sql, command }: Statement): Promise<Reply[]> {
  if (command === undefined) return client.query(sql)
  return command === 'reset' ? client.reset() : client.useDatabase(command.database)
}

/** The rows of all tables, which are deleted, and tables of scripts dropped. */
async function takeTables(admin: MysqlClient): Promise<string[]> {
  const [listed] = await admin.query(
    `SELECT CONCAT('\`', table_schema, '\`.\`', table_name, '\`'), table_schema = 'other' OR table_name IN (${own})
     FROM information_schema.tables WHERE table_schema IN ('shop', 'other') AND table_type = 'BASE TABLE' ORDER BY 1`,
  )
  if (listed?.kind !== 'rows') throw new Error(`the tables cannot be listed: ${JSON.stringify(listed)}`)
  const names = listed.rows.map(([name]) => name!)
  const contents = await admin.query(names.map((name) => `SELECT * FROM ${name} ORDER BY 1, 2`).join(';'))
  const shown = contents
    .map((reply, at) => `${names[at]}: ${showRows(reply)}`)
    .filter((line) => !line.endsWith(': []'))
  const cleaning = listed.rows.map(([name, isOwn]) =>
    isOwn === '1' ? `DELETE FROM ${name}` : `DROP TABLE ${name}`,
  )
  const cleaned = await admin.query(`SET foreign_key_checks = 0; ${cleaning.join(';')}`)
  const failed = cleaned.find(({ kind }) => kind === 'error')
  if (failed) throw new Error(`the tables cannot be emptied: ${JSON.stringify(failed)}`)
  return shown
}

const own = [
  'orders',
  'items',
  'Group',
  'kinds',
  'rules',
  'parts',
  'chinese',
  'my_isam',
  'wp_posts',
  'wp_options',
]
  .concat('plain', 'logs')
  .map((name) => `'${name}'`)
  .join(', ')

// The rest is decided by the time that a statement takes.
const comparedStatus = ~0x800

/** A reply in one line, without what depends on the time that it took. */
export function showReply(reply: Reply): string {
  switch (reply.kind) {
    case 'ok': {
      const { affected, insertId, status, warnings, info } = reply
      const flags = (status & comparedStatus).toString(16)
      return `ok affected=${affected} insertId=${insertId} warnings=${warnings} status=${flags} "${info}"`
    }
    case 'error':
      return `error ${reply.code} ${reply.state} ${reply.message}`
    case 'rows': {
      const flags = (reply.status & comparedStatus).toString(16)
      const columns = reply.columns.map(showColumn)
      return `rows [${columns}] ${showRows(reply)} warnings=${reply.warnings} status=${flags}`
    }
  }
}

/** The rows of a reply, without its columns. */
export function showRows(reply: Reply): string {
  return reply.kind === 'rows' ? JSON.stringify(reply.rows) : showReply(reply)
}

// NOT NULL without a default, and AUTO_INCREMENT: an id column has one on each side.
const comparedFlags = ~(0x1000 | 0x200)

function showColumn(column: Column): string {
  const { database, table, orgTable, name, orgName, collation, length, type, flags, decimals } = column
  const origin = orgTable === '' ? '' : ` of ${database}.${table}(${orgTable}).${orgName}`
  return `${name}:${type}(${length},${decimals}) ${collation} ${(flags & comparedFlags).toString(16)}${origin}`
}
