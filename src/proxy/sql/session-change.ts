/** What statements change of the facts in `SqlSession`. */
import type { Charset } from './charsets.ts'
import { Cursor, mark } from './cursor.ts'
import { Lexer, token } from './lexer.ts'
import type { SqlSession } from './session.ts'
import { shortText } from './short-texts.ts'
import { latin1, nameOf, wordOf } from './words.ts'

/** `none`; `unknown`: ask the server before the next statement that matters; or the new current database. */
export type SessionChange = 'none' | 'unknown' | { readonly database: string }

/** Statements of these verbs change no fact of the session, whatever follows the verb. */
const harmlessVerbs = new Set(
  `SELECT INSERT UPDATE DELETE REPLACE LOAD TABLE VALUES WITH COMMIT ROLLBACK START SAVEPOINT RELEASE LOCK UNLOCK SHOW DESC
  DESCRIBE HELP CREATE ALTER RENAME TRUNCATE GRANT REVOKE FLUSH PURGE RESET OPTIMIZE REPAIR CHECK CHECKSUM KILL DO HANDLER
  PREPARE DEALLOCATE XA CACHE INSTALL UNINSTALL BINLOG CHANGE STOP IMPORT CLONE BACKUP`.split(/\s+/),
)

/** Variables on which no fact of the session depends. */
const harmlessVariables = new Set(
  `autocommit tx_isolation transaction_isolation tx_read_only transaction_read_only foreign_key_checks unique_checks
  sql_safe_updates sql_select_limit sql_log_bin sql_notes sql_warnings sql_auto_is_null sql_big_selects
  time_zone lc_time_names lc_messages timestamp last_insert_id identity net_read_timeout net_write_timeout net_buffer_length
  wait_timeout interactive_timeout innodb_lock_wait_timeout lock_wait_timeout max_statement_time max_execution_time
  max_allowed_packet group_concat_max_len sort_buffer_size join_buffer_size read_buffer_size tmp_table_size
  max_heap_table_size optimizer_switch optimizer_search_depth profiling profiling_history_size sql_quote_show_create
  character_set_results collation_connection character_set_connection character_set_filesystem
  information_schema_stats_expiry low_priority_updates session_track_schema session_track_system_variables
  session_track_state_change session_track_gtids session_track_transaction_info div_precision_increment
  default_storage_engine storage_engine completion_type auto_increment_increment auto_increment_offset
  long_query_time min_examined_row_limit old_alter_table alter_algorithm big_tables binlog_format binlog_row_image
  wsrep_sync_wait wsrep_on gtid_next gtid_seq_no server_id rand_seed1 rand_seed2 pseudo_thread_id
  print_identified_with_as_hex show_create_table_skip_secondary_engine sql_require_primary_key`.split(/\s+/),
)

const quickVerb = /^(?:SELECT|INSERT|UPDATE|DELETE|COMMIT|ROLLBACK|REPLACE|SHOW)$/i
const [space, longestQuickVerb] = [32, 8]
/** What a longer text, or a longer SET, changes is not read, because that would take too long: the server is asked. */
const readBytesMax = 65_536

/** What the statements of a text change, all in all, if they succeed. */
export function sessionChange(sql: Buffer, session: SqlSession): SessionChange {
  let end = 0
  while (end <= longestQuickVerb && (sql[end] ?? space) > space) end++
  const ending = sql.indexOf(mark.semicolon)
  if ((ending < 0 || ending === sql.length - 1) && quickVerb.test(shortText(sql, 0, end))) return 'none'
  if (sql.length > readBytesMax) return 'unknown'
  const lexer = new Lexer(sql, session, { executable: 'read', parameters: true })
  const cursor = new Cursor(lexer, session.charset)
  let change: SessionChange = 'none'
  for (cursor.step(); lexer.kind !== token.end; cursor.step()) {
    const next = changeOfStatement(cursor)
    if (next === 'unknown' || lexer.sawExecutable || lexer.sawOdd) return 'unknown'
    if (next !== 'none') change = next
    skipStatement(cursor)
    if (lexer.kind === token.broken) return 'unknown'
    if (lexer.kind === token.end) break
  }
  return change
}

/** Goes to the end of a statement. */
export function skipStatement(cursor: Cursor): void {
  while (!cursor.atEnd && cursor.lexer.kind !== token.broken) cursor.step()
}

/** What the statement changes whose first token is the current one. Goes on to any of its tokens. */
export function changeOfStatement(cursor: Cursor): SessionChange {
  if (cursor.atEnd || cursor.atMark(mark.leftParen)) return 'none'
  const verb = wordOf(cursor.lexer)
  if (harmlessVerbs.has(verb)) return 'none'
  cursor.step()
  switch (verb) {
    case 'USE':
      return changeOfUse(cursor, cursor.charset)
    case 'SET':
      return changesNothing(cursor) ? 'none' : 'unknown'
    case 'BEGIN':
      return cursor.atEnd || cursor.at('WORK') ? 'none' : 'unknown'
    case 'DROP':
      // A session whose current database is dropped has none afterwards.
      return cursor.at('DATABASE') || cursor.at('SCHEMA') ? 'unknown' : 'none'
    case 'ANALYZE':
    case 'EXPLAIN':
      return 'none'
    default:
      return 'unknown'
  }
}

function changeOfUse(cursor: Cursor, charset: Charset): SessionChange {
  const { lexer } = cursor
  if (lexer.kind !== token.word && lexer.kind !== token.quotedName) return 'unknown'
  const database = nameOf(lexer, charset)
  cursor.step()
  return database === undefined || !cursor.atEnd ? 'unknown' : { database }
}

/** Whether a SET, whose current token is the one behind SET, assigns only harmless variables. */
function changesNothing(cursor: Cursor): boolean {
  const { lexer } = cursor
  const first = wordOf(lexer)
  const end = lexer.start + readBytesMax
  if (['TRANSACTION', 'ROLE', 'DEFAULT', 'RESOURCE'].includes(first)) return true
  do {
    let scope = wordOf(lexer)
    if (scope === 'TRANSACTION') return true
    if (['GLOBAL', 'SESSION', 'LOCAL', 'PERSIST', 'PERSIST_ONLY'].includes(scope)) {
      cursor.step()
      if (wordOf(lexer) === 'TRANSACTION') return true
    } else scope = ''
    if (!isHarmlessVariable(cursor, scope)) return false
    if (!skipAssigned(cursor, end)) return false
  } while (cursor.takeMark(mark.comma))
  return cursor.atEnd
}

/** Goes beyond the name of a variable. */
function isHarmlessVariable(cursor: Cursor, scope: string): boolean {
  const { lexer } = cursor
  const text = latin1(lexer.bytes, lexer.start, lexer.end).toLowerCase()
  if (lexer.kind === token.variable) return isHarmlessName(cursor, text)
  if (lexer.kind !== token.word) return false
  cursor.step()
  return scope === 'GLOBAL' || scope.startsWith('PERSIST') || harmlessVariables.has(text)
}

/** @name, @`name`, or @@scope.name */
function isHarmlessName(cursor: Cursor, text: string): boolean {
  const { lexer } = cursor
  if (text === '@') cursor.step()
  const isQuoted = lexer.kind === token.quotedName || lexer.kind === token.string
  if (text === '@' && !isQuoted) return false
  cursor.step()
  if (!text.startsWith('@@')) return true
  const match = /^@@(?:(session|local|global|persist|persist_only)\.)?([a-z0-9_]+)$/.exec(text)
  if (!match) return false
  return match[1] === 'global' || match[1]?.startsWith('persist') === true || harmlessVariables.has(match[2]!)
}

/** Goes beyond `= expression`, unless that goes on beyond `end`. */
function skipAssigned(cursor: Cursor, end: number): boolean {
  cursor.takeMark(mark.colon)
  if (!cursor.takeMark(mark.equal)) return false
  for (let depth = 0; !cursor.atEnd; cursor.step()) {
    if (cursor.lexer.kind === token.broken || cursor.lexer.start > end) return false
    if (depth === 0 && cursor.atMark(mark.comma)) return true
    if (cursor.atMark(mark.leftParen)) depth++
    else if (cursor.atMark(mark.rightParen)) depth--
  }
  return true
}
