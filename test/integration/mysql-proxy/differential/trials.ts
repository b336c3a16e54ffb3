/** Statements at random, and the sessions in which they are sent. */
import { type SqlSession, sqlSession } from '../../../../src/proxy/sql/session.ts'
import { readCorpus } from './corpus.ts'
import { generate, type Modes } from './generated.ts'
import { mutate, type Random } from './mutations.ts'
import type { Parameter } from './mysql-client.ts'

/** What a session is set to. */
export type Facts = { readonly sqlMode: string; readonly charset: string; readonly database: string }
/** A statement, and its session. */
export type Trial = {
  readonly sql: Buffer
  readonly facts: Facts
  readonly session: SqlSession
  /** Undefined: the statement is sent as text. */
  readonly parameters: readonly Parameter[] | undefined
}
/** The columns of the tables that are filled in, by their names. */
export const columns = {
  'shop.orders': ['id', 'note', 'amount', 'code'],
  'shop.items': ['name', 'price', 'orders_id', 'id'],
  'shop.Group': ['key', 'Id', 'values'],
  'other.facts': ['id', 'fact'],
} as const
/** A table that is filled in. */
export type TableName = keyof typeof columns

const sqlModes = [
  'STRICT_TRANS_TABLES',
  'STRICT_TRANS_TABLES',
  '',
  'ANSI_QUOTES,STRICT_TRANS_TABLES',
  'NO_BACKSLASH_ESCAPES',
  'NO_AUTO_VALUE_ON_ZERO',
  'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO',
]
const charsets = ['utf8mb4', 'utf8mb4', 'utf8mb4', 'latin1', 'gbk', 'sjis', 'big5', 'cp932']
/** Statements with these words are left out: they end the transaction that undoes each trial, take long, or differ anyway. */
const unwanted =
  /\b(?:commit|begin(?!\s+not)|rollback|start|savepoint|xa|autocommit|unlock|lock|create|drop|alter|truncate|rename|grant|revoke|flush|kill|shutdown|handler|load|outfile|sleep|get_lock|release_lock|rand|uuid|uuid_short|now|sysdate|current_timestamp|connection_id|version|check|analyze table|optimize|repair|my_isam|kinds|parts|rules|chinese|wp_\w+|dumped|made|global|timestamp|insert_id\s*=|order_notes|delayed|binlog|install|benchmark|prepare|execute|last_insert_id\s*=|password|character_set_results|sql_select_limit|seq_\w+)\b/i

const bases = readCorpus()
  .flatMap(({ scripts }) => scripts.flatMap((script) => script.statements))
  .filter(
    ({ sql, executions }) =>
      executions === undefined && sql.length < 1000 && /insert|replace|^\s*(?:set|use)\b/i.test(`${sql}`),
  )
  .map(({ sql }) => sql)
  .filter((sql) => !unwanted.test(`${sql}`))

/** The next statement, which depends on the numbers alone. */
export function makeTrial(random: Random): Trial {
  const facts = {
    sqlMode: random.of(sqlModes),
    charset: random.of(charsets),
    database: random.once(10) ? 'other' : 'shop',
  }
  const session = sqlSession({ ...facts, serverVersion: '5.5.5-10.11.6-MariaDB' })
  for (;;) {
    const parameters: Parameter[] | undefined = random.once(3) ? [] : undefined
    const modes: Modes = { ...session, charset: facts.charset, ...(parameters && { parameters }) }
    if (parameters) return { sql: generate(random, modes), facts, session, parameters }
    const base = random.once(2) ? generate(random, modes) : random.of(bases)
    const sql = random.once(3) ? base : mutate(base, bases, random)
    // A large id that is given ends the ids of AUTO_INCREMENT.
    if (!unwanted.test(sql.toString('latin1')) && !/\d{8}|[0-9a-f]{7}|e\d{2}/i.test(sql.toString('latin1')))
      return { sql, facts, session, parameters }
  }
}
