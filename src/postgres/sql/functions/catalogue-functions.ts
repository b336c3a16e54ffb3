/** Functions about what catalogues hold (PostgreSQL's manual, chapters 9.26.2 to 9.26.4 and 9.28). */
import { define, defineSet, type FunctionDefinition } from '../function-table.ts'
import { type Keyword, keywords } from '../keywords.ts'
import type { Context } from '../plan.ts'
import { SqlError, unsupported } from '../sql-error.ts'
import { findType } from '../text-input.ts'
import { formatType, relationOf, typeOf } from '../types.ts'
import { RowValue, type Value } from '../values.ts'

/** What initdb says about schemas. */
const schemaComments: Readonly<Record<number, string>> = {
  11: 'system catalog schema',
  99: 'reserved schema for TOAST tables',
  2200: 'standard public schema',
}

/** An error costs as much as so many steps. */
const errorSteps = 32

/** Finds an object, or gives null where to_regclass and its relatives give null. */
function orNull({ budget }: Context, find: () => number): Value {
  try {
    return find()
  } catch (error) {
    budget.step(errorSteps)
    if (error instanceof SqlError && !error.sqlState.startsWith('0A')) return null
    throw error
  }
}

function isVisible({ objects }: Context, oid: number): boolean | null {
  const relation = relationOf(oid)
  if (relation) return !relation.isInformation
  return objects.relation(oid) === undefined ? null : true
}

/** Functions that show the text of an object that this server never has. */
const absent = [
  'pg_get_expr(pg_node_tree,oid) text',
  'pg_get_expr(pg_node_tree,oid,bool) text',
  'pg_get_constraintdef(oid) text',
  'pg_get_constraintdef(oid,bool) text',
  'pg_get_indexdef(oid) text',
  'pg_get_indexdef(oid,int4,bool) text',
  'pg_get_viewdef(oid) text',
  'pg_get_viewdef(oid,bool) text',
  'pg_get_functiondef(oid) text',
  'pg_get_triggerdef(oid) text',
  'pg_get_triggerdef(oid,bool) text',
  'pg_get_ruledef(oid) text',
  'pg_get_ruledef(oid,bool) text',
  'pg_get_partkeydef(oid) text',
  'pg_get_partition_constraintdef(oid) text',
  'pg_get_statisticsobjdef_columns(oid) text',
  'pg_get_statisticsobjdef(oid) text',
  'pg_get_serial_sequence(text,text) text',
  'pg_get_replica_identity_index(regclass) regclass',
  'pg_relation_filepath(regclass) text',
  'pg_get_function_sqlbody(oid) text',
  'pg_index_column_has_property(regclass,int4,text) bool',
  'pg_indexam_has_property(oid,text) bool',
  'pg_index_has_property(regclass,text) bool',
  'col_description(oid,int4) text',
]

const privileges = [
  ['table', 'relation'],
  ['sequence', 'relation'],
  ['any_column', 'relation'],
  ['schema', 'schema'],
  ['database', ''],
  ['function', ''],
  ['language', ''],
  ['tablespace', ''],
  ['type', ''],
  ['server', ''],
  ['foreign_data_wrapper', ''],
] as const

function checkPrivilege(context: Context, kind: string, [object, privilege]: readonly Value[]): Value {
  const known = (privilege as string).split(',').every((each) => /^[\sA-Za-z]+$/.test(each))
  if (!known) throw new SqlError('22023', `unrecognized privilege type: "${privilege}"`)
  // The object must exist.
  if (kind === 'relation' && typeof object === 'string') context.objects.relation(object)
  if (kind === 'relation' && typeof object === 'number' && !relationOf(object))
    return context.objects.relation(object) === undefined ? null : true
  if (kind === 'schema' && typeof object === 'string')
    (context.objects.schema as (name: string) => number)(object)
  return true
}

/** Every form of has_…_privilege: with a user or without, by names and oids. */
function privilegeFunctions(): FunctionDefinition[] {
  return privileges.flatMap(([name, kind]) =>
    ['text', 'oid'].flatMap((object) => [
      define(`has_${name}_privilege(${object},text) bool`, (context, args) =>
        checkPrivilege(context, kind, args),
      ),
      ...['name', 'oid'].map((user) =>
        define(`has_${name}_privilege(${user},${object},text) bool`, (context, args) =>
          checkPrivilege(context, kind, args.slice(1)),
        ),
      ),
    ]),
  )
}

function columnPrivileges(): FunctionDefinition[] {
  return ['text', 'oid'].flatMap((table) =>
    ['text', 'int2'].flatMap((column) => [
      define(`has_column_privilege(${table},${column},text) bool`, () => true),
      define(`has_column_privilege(name,${table},${column},text) bool`, () => true),
    ]),
  )
}

/** Sizes in the words of pg_size_pretty. */
function prettySize(bytes: bigint): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB']
  let [value, unit] = [bytes, 0]
  while (unit < units.length - 1 && value >= 10_240n) {
    value = (value + 512n) / 1024n
    unit++
  }
  return `${value} ${units[unit]}`
}

const categories: Readonly<Record<string, string>> = {
  U: 'unreserved',
  C: 'unreserved (cannot be function or type name)',
  T: 'reserved (can be function or type name)',
  R: 'reserved',
}

function keywordRow({ word, category, isBareLabel }: Keyword): RowValue {
  const description = isBareLabel ? 'can be bare label' : 'requires AS'
  return new RowValue([], [], [word, category, isBareLabel, categories[category]!, description])
}

/** Functions about catalogues. */
export const catalogueFunctions: readonly FunctionDefinition[] = [
  ...absent.map((signature) => define(signature, () => null)),
  ...privilegeFunctions(),
  ...columnPrivileges(),
  define('pg_has_role(name,text) bool', () => true),
  define('pg_has_role(oid,text) bool', () => true),
  define('pg_has_role(name,name,text) bool', () => true),
  define('pg_has_role(name,oid,text) bool', () => true),
  define('row_security_active(oid) bool', () => false),
  define('pg_table_is_visible(oid) bool', (context, [oid]) => isVisible(context, oid as number)),
  define('pg_type_is_visible(oid) bool', (_, [oid]) => {
    const type = typeOf(oid as number)
    return type ? !type.isInformation : null
  }),
  ...[
    'function',
    'operator',
    'opclass',
    'opfamily',
    'collation',
    'conversion',
    'statistics_obj',
    'ts_config',
    'ts_dict',
    'ts_parser',
    'ts_template',
  ].map((kind) => define(`pg_${kind}_is_visible(oid) bool`, () => true)),
  define(
    'pg_get_userbyid(oid) name',
    ({ objects }, [oid]) => objects.role(oid as number) ?? `unknown (OID=${oid})`,
  ),
  define('format_type(oid,int4)? text', (_, [oid, modifier]) =>
    oid === null ? null : formatType(oid as number, modifier as number | null),
  ),
  define('obj_description(oid,name) text', (_, [oid, catalogue]) =>
    catalogue === 'pg_namespace' ? (schemaComments[oid as number] ?? null) : null,
  ),
  define('obj_description(oid) text', (_, [oid]) => schemaComments[oid as number] ?? null),
  define('shobj_description(oid,name) text', ({ session }, [oid, catalogue]) =>
    catalogue === 'pg_database' && oid === 5 ? `sequences of Fahao, database ${session.database}` : null,
  ),
  define('to_regclass(text) regclass', (context, [name]) =>
    orNull(context, () => context.objects.relation(name as string) as number),
  ),
  define('to_regtype(text) regtype', (_, [name]) => findType(name as string) || null),
  define('to_regproc(text) regproc', (context, [name]) =>
    orNull(context, () => context.objects.function(name as string) as number),
  ),
  define('to_regnamespace(text) regnamespace', (context, [name]) =>
    orNull(context, () => context.objects.schema(name as string) as number),
  ),
  define('to_regrole(text) regrole', (context, [name]) =>
    orNull(context, () => context.objects.role(name as string) as number),
  ),
  define('pg_tablespace_location(oid) text', () => ''),
  define('pg_size_pretty(int8) text', (_, [bytes]) => prettySize(bytes as bigint)),
  ...['pg_table_size', 'pg_relation_size', 'pg_total_relation_size', 'pg_indexes_size'].map((name) =>
    // A sequence of PostgreSQL is a table of one page.
    define(`${name}(regclass) int8`, (_, [oid]) =>
      relationOf(oid as number) || name === 'pg_indexes_size' ? 0n : 8192n,
    ),
  ),
  define('pg_database_size(name) int8', () => 0n),
  define('pg_database_size(oid) int8', () => 0n),
  define('pg_tablespace_size(oid) int8', () => 0n),
  define('pg_relation_is_publishable(regclass) bool', () => false),
  define('pg_get_function_result(oid) text', () => null),
  define('pg_get_function_arguments(oid) text', () => null),
  define('pg_get_function_identity_arguments(oid) text', () => null),
  define('pg_relation_is_updatable(regclass,bool) int4', () => 0),
  define('pg_column_is_updatable(regclass,int2,bool) bool', () => false),
  define('pg_stat_get_numscans(oid) int8', () => 0n),
  define('pg_stat_get_live_tuples(oid) int8', () => 0n),
  defineSet('pg_options_to_table(_text) setof record', () => [], 'option_name text, option_value text'),
  defineSet(
    'aclexplode(_aclitem) setof record',
    () => [],
    'grantor oid, grantee oid, privilege_type text, is_grantable bool',
  ),
  defineSet(
    'pg_get_keywords() setof record',
    () => keywords.map(keywordRow),
    'word text, catcode char, barelabel bool, catdesc text, baredesc text',
  ),
  define('acldefault(char,oid) _aclitem', () => null),
  define('pg_sleep(float8) void', () => {
    throw unsupported('pg_sleep')
  }),
]
