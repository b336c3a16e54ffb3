/** Functions about the session and about what system catalogs hold (PostgreSQL's manual, chapters 9.26 and 9.9.5). */
import { randomUUID } from 'node:crypto'
import { SqlError } from '../sql-error.ts'
import type { Run } from './analysed.ts'
import { functionNames, schemas } from './catalog-facts.ts'
import type { Functions, Implementation } from './function-table.ts'
import { keywords } from './quoting.ts'
import { sequenceOidMin } from './snapshot.ts'
import { findType } from './text-input.ts'
import { refused } from './tree.ts'
import { formatType, oids, relationOf, typeOf } from './types.ts'
import type { Value } from './values.ts'
import { databaseRows } from './written-rows.ts'

/** pg_encoding_to_char: the encodings of servers and clients by their numbers (`pg_wchar.h`). */
const encodings =
  'SQL_ASCII EUC_JP EUC_CN EUC_KR EUC_TW EUC_JIS_2004 UTF8 MULE_INTERNAL LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 LATIN7 LATIN8 LATIN9 LATIN10 WIN1256 WIN1258 WIN866 WIN874 KOI8R WIN1251 WIN1252 ISO_8859_5 ISO_8859_6 ISO_8859_7 ISO_8859_8 WIN1250 WIN1253 WIN1254 WIN1255 WIN1257 KOI8U SJIS BIG5 GBK UHC GB18030 JOHAB SHIFT_JIS_2004'.split(
    ' ',
  )

/** Functions that queries of clients name, and that see no value here but null: with any other they are refused. */
const absent = `
  pg_get_expr(pg_node_tree,oid) text; pg_get_expr(pg_node_tree,oid,bool) text; pg_get_viewdef(oid)= text
  pg_get_viewdef(oid,bool)= text; pg_get_functiondef(oid) text; pg_get_function_arguments(oid) text
  pg_get_function_result(oid) text; pg_get_function_sqlbody(oid) text
  pg_operator_is_visible(oid) bool; pg_opclass_is_visible(oid) bool; pg_opfamily_is_visible(oid) bool
  pg_conversion_is_visible(oid) bool; pg_statistics_obj_is_visible(oid) bool; pg_ts_config_is_visible(oid) bool
  pg_ts_dict_is_visible(oid) bool; pg_ts_parser_is_visible(oid) bool; pg_ts_template_is_visible(oid) bool
  acldefault(char,oid) _aclitem; btrim(text,text) text; rtrim(text,text) text; substring(text,int4,int4)= text
  lpad(text,int4,text) text; quote_literal(text) text; concat(any…)? text; format(text)? text; format(text,any…)? text
  array_to_json(anyarray) json; json_build_object(any…)? json
  pg_get_constraintdef(oid) text; pg_get_constraintdef(oid,bool) text; pg_get_indexdef(oid) text
  pg_get_indexdef(oid,int4,bool) text; pg_get_triggerdef(oid,bool) text; pg_get_ruledef(oid,bool) text
  pg_get_statisticsobjdef_columns(oid) text`

function refuse(): never {
  throw refused('This function of a value that is not null')
}

function isVisible({ objects }: Run, oid: number): Value {
  const relation = relationOf(oid)
  if (relation) return !relation.isInformation
  return objects.nameOf(oids.regclass, oid) === undefined ? null : true
}

/** The system catalogs in which objects of this server have no comments. */
const withoutComments = ['pg_class', 'pg_constraint', 'pg_tablespace', 'pg_trigger', 'pg_authid']

function comment({ session }: Run, oid: number, catalog: string): Value {
  if (withoutComments.includes(catalog)) return null
  if (catalog === 'pg_namespace') {
    const [, text] = new RegExp(`^ *${oid}\\|2615\\|0\\|(.*)$`, 'm').exec(databaseRows.pg_description!) ?? []
    return text ?? null
  }
  if (catalog === 'pg_database') return oid === 5 ? `sequences of Fahao, database ${session.database}` : null
  if (catalog === 'pg_type' && /[cdm]/.test(typeOf(oid)?.kind ?? '')) return null
  throw refused(`The comment of an object of ${catalog.slice(0, 100)}`)
}

function checkPrivilege(privilege: string, allowed: readonly string[]): Value {
  if (!allowed.includes(privilege.toUpperCase())) throw refused(`The privilege "${privilege.slice(0, 100)}"`)
  return true
}

const categories: Readonly<Record<string, string>> = {
  U: 'unreserved',
  C: 'unreserved (cannot be function or type name)',
  T: 'reserved (can be function or type name)',
  R: 'reserved',
}

function keywordRows(): Value[] {
  return [...keywords].map(([word, [category, bare]]) => {
    const description = bare === '1' ? 'can be bare label' : 'requires AS'
    return [word, category, bare === '1', categories[category]!, description]
  })
}

const searchPath = ['pg_catalog', 'public']
const collations: ReadonlySet<number> = new Set([100, 950, 951, 12_340])

function lastValue({ snapshot }: Run, oid: number): Value {
  const [facts] = snapshot.withOids([oid])
  if (facts === undefined) throw new SqlError('42809', `"${oid}" is not a sequence`)
  return snapshot.lastValues([facts.name])[0]!
}

function setting({ session }: Run, [name, isOptional]: readonly Value[]): Value {
  const wanted = (name as string).toLowerCase()
  const found = session.settings.find(([each]) => each.toLowerCase() === wanted)
  if (found !== undefined || isOptional === true) return found?.[1] ?? null
  throw new SqlError('42704', `unrecognized configuration parameter "${name}"`)
}

function changeSetting(run: Run, [name, value, isLocal]: readonly Value[]): Value {
  if (name === null) throw new SqlError('22004', 'SET requires parameter name')
  if (run.changeSetting === undefined) throw refused('set_config in a query of catalogues')
  return run.changeSetting(name as string, (value ?? '') as string, isLocal === true)
}

function encodingNumber(name: string): Value {
  const plain = name.toUpperCase().replace(/[^A-Z0-9]/g, '')
  const found = encodings.findIndex(
    (each) => each.replace(/_/g, '') === (plain === 'UNICODE' ? 'UTF8' : plain),
  )
  if (found < 0) throw refused(`The encoding ${name}`)
  return found
}

function relationNamedBy({ objects }: Run, name: string): Value {
  try {
    return objects.oidOf(oids.regclass, name)
  } catch (error) {
    if (error instanceof SqlError && error.sqlState === '42P01') return null
    throw error
  }
}

/** No column here has a sequence of its own. */
function ownSequence({ objects }: Run, table: string, column: string): Value {
  const names = relationOf(objects.oidOf(oids.regclass, table))?.columns.map(({ name }) => name)
  if ((names ?? ['last_value', 'log_cnt', 'is_called']).includes(column)) return null
  throw new SqlError('42703', `column "${column}" of relation "${table}" does not exist`)
}

function relationSize(oid: number): bigint {
  if (relationOf(oid)?.kind === 'v') return 0n
  if (oid < sequenceOidMin) throw refused("The size of a table of PostgreSQL's own")
  // A sequence of PostgreSQL is a table of one page.
  return 8192n
}

const databasePrivileges = ['CREATE', 'CONNECT', 'TEMPORARY', 'TEMP']
const schemaPrivileges = ['CREATE', 'USAGE']

/** Functions about the session and system catalogs. */
export const informationFunctions: Functions = {
  [absent]: refuse,
  'setof generate_subscripts(anyarray,int4) int4': refuse,
  'setof _pg_expandarray(anyarray) record x anyelement, n int4': refuse,
  'pg_function_is_visible(oid) bool': (_, [oid]) => (functionNames.has(oid as number) ? true : null),
  // No table here has partitions, and no column a comment.
  'pg_get_partkeydef(oid) text; col_description(oid,int4) text': () => null,
  'pg_collation_is_visible(oid) bool': (_, [oid]) => (collations.has(oid as number) ? true : null),
  'version() text': ({ session }) => session.version,
  'current_database() name; current_catalog() name': ({ session }) => session.database,
  'current_schema() name': () => 'public',
  'current_schemas(bool) _name': (_, [all]) => (all ? searchPath : ['public']),
  'current_user() name; session_user() name; user() name; current_role() name': ({ session }) => session.user,
  'pg_backend_pid() int4': ({ session }) => session.backendId,
  'pg_is_in_recovery() bool; pg_relation_is_publishable(regclass) bool': () => false,
  'pg_postmaster_start_time() timestamptz': ({ session }) => session.serverStartUs,
  'now() timestamptz; transaction_timestamp() timestamptz': ({ session }) => session.transactionUs,
  'statement_timestamp() timestamptz; current_timestamp() timestamptz': ({ session }) =>
    session.transactionUs,
  'current_setting(text) text; current_setting(text,bool) text': setting,
  'set_config(text,text,bool)?! text': changeSetting,
  'nextval(text)! int8': drawing('nextval'),
  'currval(text)! int8': drawing('currval'),
  'lastval()! int8': drawing('lastval'),
  'setval(text,int8)! int8; setval(text,int8,bool)! int8': drawing('setval'),
  'gen_random_uuid()! uuid': () => randomUUID(),
  'getdatabaseencoding() name': () => 'UTF8',
  'pg_encoding_to_char(int4) name': (_, [number]) => encodings[number as number] ?? '',
  'pg_char_to_encoding(name) int4': (_, [name]) => encodingNumber(name as string),
  'pg_advisory_unlock_all() void; pg_tablespace_location(oid) text': () => '',
  'pg_table_is_visible(oid) bool': (run, [oid]) => isVisible(run, oid as number),
  'pg_type_is_visible(oid) bool': (_, [oid]) => {
    const type = typeOf(oid as number)
    return type ? !type.isInformation : null
  },
  'pg_get_userbyid(oid) name': ({ objects }, [oid]) =>
    objects.nameOf(oids.regrole, oid as number) ?? `unknown (OID=${oid})`,
  'format_type(oid,int4)? text': (_, [oid, modifier]) =>
    oid === null ? null : formatType(oid as number, modifier as number | null),
  'obj_description(oid,name) text; shobj_description(oid,name) text': (run, [oid, catalog]) =>
    comment(run, oid as number, catalog as string),
  'to_regclass(text) regclass': (run, [name]) => relationNamedBy(run, name as string),
  'to_regtype(text) regtype': (_, [name]) => findType(name as string) || null,
  'pg_size_pretty(int8)= text': (_, [bytes]) => {
    if ((bytes as bigint) < 0n || (bytes as bigint) >= 10_240n) throw refused('A size of 10 kB or more')
    return `${bytes} bytes`
  },
  'pg_table_size(regclass) int8; pg_relation_size(regclass) int8': (_, [oid]) => relationSize(oid as number),
  // Databases and tablespaces hold nothing here.
  'pg_database_size(name)= int8; pg_database_size(oid)= int8; pg_tablespace_size(oid)= int8': () => 0n,
  'pg_get_serial_sequence(text,text) text': (run, [table, column]) =>
    ownSequence(run, table as string, column as string),
  'pg_sequence_last_value(regclass) int8': (run, [oid]) => lastValue(run, oid as number),
  'has_database_privilege(oid,text)= bool': (_, [, privilege]) =>
    checkPrivilege(privilege as string, databasePrivileges),
  'has_database_privilege(name,text)= bool': ({ session }, [name, privilege]) => {
    if (name !== session.database) throw new SqlError('3D000', `database "${name}" does not exist`)
    return checkPrivilege(privilege as string, databasePrivileges)
  },
  'has_schema_privilege(oid,text)= bool': (_, [oid, privilege]) =>
    checkPrivilege(privilege as string, schemaPrivileges) && schemas.has(oid as number) ? true : null,
  'has_schema_privilege(name,text)= bool': (_, [name, privilege]) => {
    if (![...schemas.values()].includes(name as string))
      throw new SqlError('3F000', `schema "${name}" does not exist`)
    return checkPrivilege(privilege as string, schemaPrivileges)
  },
  'setof pg_get_keywords() record word text, catcode char, barelabel bool, catdesc text, baredesc text':
    keywordRows,
}

function drawing(name: string): Implementation {
  return (run, args) => {
    if (run.draw === undefined) throw refused(`${name} in a query of catalogues`)
    return run.draw(name, args)
  }
}
