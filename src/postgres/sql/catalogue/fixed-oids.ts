/** Objects that PostgreSQL creates with every database, and their oids. */

/** Oids of single objects, as PostgreSQL 15 has them. */
export const fixedOids = {
  owner: 10,
  pgCatalog: 11,
  pgToast: 99,
  public: 2200,
  informationSchema: 13207,
  pgClass: 1259,
  pgNamespace: 2615,
  database: 5,
  defaultTablespace: 1663,
} as const

/** Roles that PostgreSQL has from the start. */
export const fixedRoles: readonly (readonly [oid: number, name: string])[] = [
  [6171, 'pg_database_owner'],
  [6181, 'pg_read_all_data'],
  [6182, 'pg_write_all_data'],
  [3373, 'pg_monitor'],
  [3374, 'pg_read_all_settings'],
  [3375, 'pg_read_all_stats'],
  [3377, 'pg_stat_scan_tables'],
  [4569, 'pg_read_server_files'],
  [4570, 'pg_write_server_files'],
  [4571, 'pg_execute_server_program'],
  [4200, 'pg_signal_backend'],
  [4544, 'pg_checkpoint'],
]

/** Schemas by oid. */
export const schemas: ReadonlyMap<number, string> = new Map([
  [fixedOids.pgToast, 'pg_toast'],
  [fixedOids.pgCatalog, 'pg_catalog'],
  [fixedOids.public, 'public'],
  [fixedOids.informationSchema, 'information_schema'],
])

/** Relations of all databases of a server. */
export const sharedRelations: ReadonlySet<string> = new Set(
  'pg_authid pg_auth_members pg_database pg_db_role_setting pg_parameter_acl pg_replication_origin pg_shdepend pg_shdescription pg_shseclabel pg_subscription pg_tablespace'.split(
    ' ',
  ),
)
