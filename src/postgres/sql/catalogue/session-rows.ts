/** The rows of catalogues that depend on the session: its database, roles and settings; and those of information_schema. */
import type { SqlSession } from '../plan.ts'
import { allRelations, baseOf, formatType, isArray, type Relation, typeOf } from '../types.ts'
import { fixedOids, fixedRoles, schemas, sharedRelations } from './fixed-oids.ts'
import type { NamedRow } from './sequence-rows.ts'

type Rows = readonly NamedRow[]

/** The rows of a relation for a session; undefined: they do not depend on it. */
export function sessionRowsOf({
  name,
  isInformation,
}: Relation): ((session: SqlSession) => Rows) | undefined {
  return sessionRows[isInformation ? `information_schema.${name}` : name]
}

function databaseRow(session: SqlSession): NamedRow {
  return {
    oid: fixedOids.database,
    datname: session.database,
    datdba: fixedOids.owner,
    encoding: 6,
    datlocprovider: 'c',
    datistemplate: false,
    datallowconn: true,
    datconnlimit: -1,
    datfrozenxid: 716,
    datminmxid: 1,
    dattablespace: fixedOids.defaultTablespace,
    datcollate: 'C',
    datctype: 'C',
    daticulocale: null,
    datcollversion: null,
    datacl: null,
  }
}

/** Roles: the session's user owns all; the other users of the server follow. */
export function roles(session: SqlSession): readonly (readonly [oid: number, name: string])[] {
  const others = session.users().filter((name) => name !== session.user)
  return [
    [fixedOids.owner, session.user],
    ...fixedRoles,
    ...others.map((name, index) => [16_384 + index, name] as const),
  ]
}

function roleRows(session: SqlSession): Rows {
  return roles(session).map(([oid, rolname]) => {
    const isOwner = oid === fixedOids.owner
    return {
      oid,
      rolname,
      rolsuper: isOwner,
      rolinherit: true,
      rolcreaterole: isOwner,
      rolcreatedb: isOwner,
      rolcanlogin: isOwner || oid >= 16_384,
      rolreplication: isOwner,
      rolconnlimit: -1,
      rolpassword: '********',
      rolvaliduntil: null,
      rolbypassrls: isOwner,
      rolconfig: null,
    }
  })
}

function userRows(session: SqlSession): Rows {
  return roles(session)
    .filter(([oid]) => oid === fixedOids.owner || oid >= 16_384)
    .map(([usesysid, usename]) => {
      const isOwner = usesysid === fixedOids.owner
      return {
        usename,
        usesysid,
        usecreatedb: isOwner,
        usesuper: isOwner,
        userepl: isOwner,
        usebypassrls: isOwner,
        passwd: '********',
        valuntil: null,
        useconfig: null,
      }
    })
}

function settingRows(session: SqlSession): Rows {
  return [...session.settings()].map(([name, setting]) => ({
    name,
    setting,
    unit: null,
    category: 'Preset Options',
    short_desc: '',
    extra_desc: null,
    context: 'user',
    vartype: 'string',
    source: 'default',
    min_val: null,
    max_val: null,
    enumvals: null,
    boot_val: setting,
    reset_val: setting,
    sourcefile: null,
    sourceline: null,
    pending_restart: false,
  }))
}

function cursorRows(session: SqlSession): Rows {
  return [...session.cursors()].map(({ name, text, isHeld, isForward, sinceUs }) => ({
    name,
    statement: text,
    is_holdable: isHeld,
    is_binary: false,
    is_scrollable: !isForward,
    creation_time: sinceUs,
  }))
}

function schemaRows(session: SqlSession): Rows {
  return [...schemas.values()].map((schema_name) => ({
    catalog_name: session.database,
    schema_name,
    schema_owner: schema_name === 'public' ? 'pg_database_owner' : session.user,
    default_character_set_catalog: null,
    default_character_set_schema: null,
    default_character_set_name: null,
    sql_path: null,
  }))
}

function namespaceRows(session: SqlSession): Rows {
  return [...schemas].map(([oid, nspname]) => {
    const isPublic = oid === fixedOids.public
    const owner = isPublic ? 'pg_database_owner' : session.user
    return {
      oid,
      nspname,
      nspowner: isPublic ? 6171 : fixedOids.owner,
      nspacl: oid === fixedOids.pgToast ? null : [`${owner}=UC/${owner}`, `=U/${owner}`],
    }
  })
}

function informationTables(session: SqlSession): Rows {
  return [...allRelations()].map(({ name, kind, isInformation }) => ({
    table_catalog: session.database,
    table_schema: isInformation ? 'information_schema' : 'pg_catalog',
    table_name: name,
    table_type: kind === 'v' ? 'VIEW' : 'BASE TABLE',
    is_insertable_into: kind === 'v' ? 'NO' : 'YES',
    is_typed: 'NO',
    self_referencing_column_name: null,
    reference_generation: null,
    user_defined_type_catalog: null,
    user_defined_type_schema: null,
    user_defined_type_name: null,
    commit_action: null,
  }))
}

function informationColumns(session: SqlSession): Rows {
  return [...allRelations()].flatMap(({ name, isInformation, columns }) =>
    columns.map((column, index) => ({
      table_catalog: session.database,
      table_schema: isInformation ? 'information_schema' : 'pg_catalog',
      table_name: name,
      column_name: column.name,
      ordinal_position: index + 1,
      is_nullable: column.notNull ? 'NO' : 'YES',
      data_type: isArray(column.type) ? 'ARRAY' : formatType(baseOf(column.type)),
      udt_catalog: session.database,
      udt_schema: 'pg_catalog',
      udt_name: typeOf(baseOf(column.type))!.name,
      is_identity: 'NO',
      is_generated: 'NEVER',
      is_self_referencing: 'NO',
      identity_cycle: 'NO',
      is_updatable: 'NO',
      dtd_identifier: String(index + 1),
    })),
  )
}

const sessionRows: Readonly<Record<string, (session: SqlSession) => Rows>> = {
  pg_database: (session) => [databaseRow(session)],
  pg_namespace: namespaceRows,
  pg_authid: roleRows,
  pg_roles: roleRows,
  pg_user: userRows,
  pg_shadow: userRows,
  pg_settings: settingRows,
  pg_cursors: cursorRows,
  'information_schema.schemata': schemaRows,
  'information_schema.tables': informationTables,
  'information_schema.columns': informationColumns,
  'information_schema.information_schema_catalog_name': ({ database }) => [{ catalog_name: database }],
  pg_tables: ({ user }) =>
    [...allRelations()]
      .filter(({ kind }) => kind === 'r')
      .map(({ name, isInformation }) => ({
        schemaname: isInformation ? 'information_schema' : 'pg_catalog',
        tablename: name,
        tableowner: user,
        tablespace: sharedRelations.has(name) ? 'pg_global' : null,
        hasindexes: true,
        hasrules: false,
        hastriggers: false,
        rowsecurity: false,
      })),
  pg_stat_activity: (session) => [
    {
      datid: fixedOids.database,
      datname: session.database,
      pid: session.backendId,
      usesysid: fixedOids.owner,
      usename: session.user,
      application_name: session.setting('application_name') ?? '',
      state: 'active',
      backend_type: 'client backend',
    },
  ],
}
