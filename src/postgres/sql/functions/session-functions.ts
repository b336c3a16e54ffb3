/** Functions about the session, its settings and the time (PostgreSQL's manual, chapters 9.9.5, 9.26 and 9.27). */
import { define, defineSet, type FunctionDefinition } from '../function-table.ts'
import { SqlError } from '../sql-error.ts'
import type { Value } from '../values.ts'

/** pg_encoding_to_char: the encodings of servers and clients by their numbers (`pg_wchar.h`). */
const encodings =
  'SQL_ASCII EUC_JP EUC_CN EUC_KR EUC_TW EUC_JIS_2004 UTF8 MULE_INTERNAL LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 LATIN7 LATIN8 LATIN9 LATIN10 WIN1256 WIN1258 WIN866 WIN874 KOI8R WIN1251 WIN1252 ISO_8859_5 ISO_8859_6 ISO_8859_7 ISO_8859_8 WIN1250 WIN1253 WIN1254 WIN1255 WIN1257 KOI8U SJIS BIG5 GBK UHC GB18030 JOHAB SHIFT_JIS_2004'.split(
    ' ',
  )

function encodingOf(name: string): number {
  const plain = name.toUpperCase().replace(/[^A-Z0-9]/g, '')
  const alias = plain === 'UNICODE' ? 'UTF8' : plain
  return encodings.findIndex((each) => each.replace(/_/g, '') === alias)
}

const searchPath = ['pg_catalog', 'public']
/** Functions about the session. */
export const sessionFunctions: readonly FunctionDefinition[] = [
  define('version() text', ({ session }) => session.version),
  define('current_database() name', ({ session }) => session.database),
  define('current_catalog() name', ({ session }) => session.database),
  define('current_schema() name', () => 'public'),
  define('current_schemas(bool) _name', (_, [all]) => (all ? searchPath : ['public'])),
  ...['current_user', 'session_user', 'user', 'current_role'].map((name) =>
    define(`${name}() name`, ({ session }) => session.user),
  ),
  define('pg_backend_pid() int4', ({ session }) => session.backendId),
  define('pg_is_in_recovery() bool', () => false),
  define('pg_is_wal_replay_paused() bool', () => false),
  define('pg_postmaster_start_time() timestamptz', ({ session }) => session.serverStartUs),
  define('pg_conf_load_time() timestamptz', ({ session }) => session.serverStartUs),
  ...['now', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp', 'current_timestamp'].map(
    (name) => define(`${name}() timestamptz`, ({ session }) => session.transactionUs),
  ),
  define('localtimestamp() timestamp', ({ session }) => session.transactionUs),
  define('current_date() date', ({ session }) => Number(session.transactionUs / 86_400_000_000n)),
  define('txid_current() int8', ({ session }) => BigInt(session.backendId)),
  define('txid_current_if_assigned() int8', () => null),
  define('pg_current_xact_id() xid8', ({ session }) => String(session.backendId)),
  define('current_setting(text) text', ({ session }, [name]) => {
    const value = session.setting(name as string)
    if (value === undefined) throw new SqlError('42704', `unrecognized configuration parameter "${name}"`)
    return value
  }),
  define('current_setting(text,bool) text', ({ session }, [name, missingOk]) => {
    const value = session.setting(name as string)
    if (value === undefined && !missingOk)
      throw new SqlError('42704', `unrecognized configuration parameter "${name}"`)
    return value ?? null
  }),
  define('set_config(text,text,bool)? text', ({ session }, [name, value, isLocal]) => {
    if (name === null) throw new SqlError('22004', 'SET requires parameter name')
    return session.changeSetting(name as string, (value ?? '') as string, isLocal === true)
  }),
  define('pg_encoding_to_char(int4) name', (_, [number]) => encodings[number as number] ?? ''),
  define('pg_char_to_encoding(name) int4', (_, [name]) => encodingOf(name as string)),
  define('getdatabaseencoding() name', () => 'UTF8'),
  define('pg_client_encoding() name', () => 'UTF8'),
  ...[
    'inet_server_addr() inet',
    'inet_client_addr() inet',
    'inet_server_port() int4',
    'inet_client_port() int4',
  ].map((signature) => define(signature, () => null)),
  define('pg_advisory_unlock_all() void', () => ''),
  define('pg_trigger_depth() int4', () => 0),
  define('pg_is_other_temp_schema(oid) bool', () => false),
  define('pg_my_temp_schema() oid', () => 0),
  defineSet('pg_listening_channels() setof text', () => []),
  define('pg_typeof(any)? regtype', (_, __, [type]): Value => type ?? 705),
]
