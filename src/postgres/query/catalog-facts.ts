/** PostgreSQL's own relations, columns, types and functions: the facts that the rows of system catalogs show. */
import type { SessionFacts } from './analysed.ts'
import { functionsFacts } from './facts/functions.ts'
import { itemType } from './text-output.ts'
import { baseOf, byOid, formatType, oids, type Relation, relationsByOid, type Type, typeOf } from './types.ts'
import type { Value } from './values.ts'
import type { Facts } from './written-tables.ts'

/** Schemas by oid. */
export const schemas: ReadonlyMap<number, string> = new Map([
  [99, 'pg_toast'],
  [11, 'pg_catalog'],
  [2200, 'public'],
  [13_207, 'information_schema'],
])

/** Relations of all databases of a server. */
const sharedRelations: ReadonlySet<string> = new Set(
  'pg_authid pg_auth_members pg_database pg_db_role_setting pg_parameter_acl pg_replication_origin pg_shdepend pg_shdescription pg_shseclabel pg_subscription pg_tablespace'.split(
    ' ',
  ),
)

function schemaFacts(isInformation: boolean): Facts {
  return {
    namespace: isInformation ? 13_207 : 11,
    schema: isInformation ? 'information_schema' : 'pg_catalog',
  }
}

/** Relations that not everybody may read; the views of information_schema without an owner's grant have none. */
const ownersRelations: ReadonlySet<string> = new Set(
  'pg_statistic pg_authid pg_shadow pg_statistic_ext_data pg_file_settings pg_hba_file_rules pg_ident_file_mappings pg_config pg_user_mapping pg_replication_origin_status pg_subscription pg_largeobject pg_shmem_allocations pg_backend_memory_contexts'.split(
    ' ',
  ),
)

/** The access list of a relation, as PostgreSQL makes it for the owner of a database. */
function accessTo(name: string, owner: string): Value {
  if (/^(?:sql_parts|transforms|_pg_.*)$/.test(name)) return null
  const others = name === 'pg_settings' ? [`=rw/${owner}`] : ownersRelations.has(name) ? [] : [`=r/${owner}`]
  const statistics = /^pg_(?:shmem|backend)_/.test(name) ? [`pg_read_all_stats=r/${owner}`] : []
  return [`${owner}=arwdDxt/${owner}`, ...statistics, ...others]
}

function relationFacts(relation: Relation, user: string): Facts {
  const [isView, isShared] = [relation.kind === 'v', sharedRelations.has(relation.name)]
  const { oid, name, kind, rowType, columns, isInformation } = relation
  return {
    ...schemaFacts(isInformation),
    ...{ oid, name, kind, rowType, isView, isShared, isTable: !isView, width: columns.length },
    access: accessTo(name, user),
    method: isView ? 0 : 2,
    tablespace: isShared ? 1664 : 0,
    tableType: isView ? 'VIEW' : 'BASE TABLE',
    isInsertable: isView ? 'NO' : 'YES',
  }
}

const precisions: Readonly<Record<number, number>> = {
  [oids.int2]: 16,
  [oids.int4]: 32,
  [oids.int8]: 64,
  [oids.float4]: 24,
  [oids.float8]: 53,
}

function columnFacts(relation: Relation, number: number, database: string): Facts {
  const { name, type, notNull, hasDefaultCollation } = relation.columns[number - 1]!
  const facts = typeOf(type)!
  const plain = baseOf(type)
  const modifier = facts.baseModifier
  const precision = precisions[plain] ?? null
  const isDomain = facts.kind === 'd'
  const collation = facts.collation === 0 || hasDefaultCollation ? null : 'C'
  const isText = plain === oids.text || plain === oids.varchar
  const characters = isText && modifier >= 0 ? modifier - 4 : null
  return {
    ...schemaFacts(relation.isInformation),
    ...{ relation: relation.oid, table: relation.name, column: name, number, notNull, ...sizes(type) },
    ...{ characters, bytes: !isText ? null : characters === null ? 2 ** 30 : characters * 4 },
    dimensions: itemType(type) && relation.kind === 'r' ? 1 : 0,
    ownCollation: hasDefaultCollation ? 100 : collation === null ? 0 : 950,
    isUpdatable:
      relation.kind === 'r' || /^pg_(?:group|stat_database_conflicts)$/.test(relation.name) ? 'YES' : 'NO',
    isNullable: notNull ? 'NO' : 'YES',
    dataType: itemType(type) ? 'ARRAY' : formatType(plain),
    plainName: typeOf(plain)!.name,
    ...{
      precision,
      radix: plain === oids.numeric ? 10 : precision && 2,
      scale: plain === oids.float4 || plain === oids.float8 ? null : precision && 0,
    },
    fraction: plain === oids.timestamptz || plain === oids.interval ? (modifier >= 0 ? modifier : 6) : null,
    ...{ domain: isDomain ? facts.name : null, domainSchema: isDomain ? 'information_schema' : null },
    ...{ domainCatalog: isDomain ? database : null, collationCatalog: collation && database },
    ...{ collationSchema: collation && 'pg_catalog', collationName: collation },
  }
}

function sizes(type: number): Facts {
  const { oid, length, byValue, align, storage } = typeOf(type)!
  return { oid, length, byValue, align, storage }
}

function typeFacts({ isInformation, ...facts }: Type): Facts {
  // array_typanalyze and range_typanalyze.
  const analyze = facts.category === 'A' && facts.length === -1 ? 3816 : facts.kind === 'r' ? 3916 : 0
  return { ...facts, ...schemaFacts(isInformation), analyze }
}

const functions = functionsFacts
  .trim()
  .split(/[\n;]/)
  .map((line): Facts => {
    const [oid, name = '', result, args = '', volatility = '', isStrict] = line.split('|')
    const types = args === '' ? [] : args.split(' ').map(Number)
    return {
      ...{ oid: Number(oid), name, result: Number(result), args: types, width: types.length },
      ...{ volatility, isStrict: isStrict === '1' },
    }
  })

/** The oids of functions by their signatures, as regprocedure reads them: `array_in(cstring,oid,integer)`. */
export const functionSignatures: ReadonlyMap<string, number> = new Map(
  functions.map(({ oid, name, args }) => [
    `${name}(${(args as readonly number[]).map((type) => formatType(type)).join()})`,
    oid as number,
  ]),
)

/** Functions that read and write values of types, by oid; those of sequences and access methods. */
export const functionNames: ReadonlyMap<number, string> = new Map([
  ...functions.map(({ oid, name }) => [oid as number, name as string] as const),
  [3816, 'array_typanalyze'],
  [3916, 'range_typanalyze'],
  ...'heap_tableam_handler bthandler hashhandler gisthandler ginhandler spghandler brinhandler'
    .split(' ')
    .map((name, index) => [index === 0 ? 3 : 329 + index, name] as const),
])

const relations = ({ user, database }: SessionFacts) =>
  [...relationsByOid.values()].map((relation) => ({ ...relationFacts(relation, user), database }))
const columns = ({ database }: SessionFacts) =>
  [...relationsByOid.values()].flatMap((relation) =>
    relation.columns.map((_, index) => ({ ...columnFacts(relation, index + 1, database), database })),
  )

/** The facts of the rows of some tables. */
const factsOfTables: Readonly<Record<string, (session: SessionFacts) => readonly Facts[]>> = {
  pg_class: relations,
  tables: relations,
  pg_attribute: columns,
  columns,
  pg_type: () => [...byOid.values()].map(typeFacts),
  pg_proc: () => functions,
  pg_settings: ({ settings }) => settings.map(([name, setting]) => ({ name, setting })),
  pg_cursors: ({ cursors }) => cursors.map((cursor) => ({ ...cursor, isScrollable: !cursor.isForward })),
}

/** The facts of the rows of a table. */
export function factsOfTable(table: string, session: SessionFacts): readonly Facts[] {
  const facts = factsOfTables[table]
  if (facts !== undefined) return facts(session)
  const { user, database, backendId, settings } = session
  const application = settings.find(([name]) => name === 'application_name')?.[1] ?? ''
  return [{ user, database, backendId, application }]
}
