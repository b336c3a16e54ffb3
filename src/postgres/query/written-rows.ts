/**
 * The rows of system catalogs, as PostgreSQL 15 has them: for each table the names of columns, then rows. `~` is NULL, and `$name` a
 * value of the session or of a sequence. A column that is not named is empty, or NULL where PostgreSQL allows it; with `*` among
 * the names it is not known.
 */

/** Rows of a database. Those of relations, columns, types, functions, settings and cursors stand for one row of each of them. */
export const databaseRows: Readonly<Record<string, string>> = {
  pg_am: `oid|amname|amtype|amhandler
    2|heap|t|3
    403|btree|i|330
    405|hash|i|331
    783|gist|i|332
    2742|gin|i|333
    4000|spgist|i|334
    3580|brin|i|335`,
  pg_authid: `oid|rolname|rolsuper|rolinherit|rolcreaterole|rolcreatedb|rolcanlogin|rolreplication|rolconnlimit|rolpassword|rolbypassrls
    10|$user|t|t|t|t|t|t|-1|********|t
    6171|pg_database_owner|f|t|f|f|f|f|-1|********|f
    6181|pg_read_all_data|f|t|f|f|f|f|-1|********|f
    6182|pg_write_all_data|f|t|f|f|f|f|-1|********|f
    3373|pg_monitor|f|t|f|f|f|f|-1|********|f
    3374|pg_read_all_settings|f|t|f|f|f|f|-1|********|f
    3375|pg_read_all_stats|f|t|f|f|f|f|-1|********|f
    3377|pg_stat_scan_tables|f|t|f|f|f|f|-1|********|f
    4569|pg_read_server_files|f|t|f|f|f|f|-1|********|f
    4570|pg_write_server_files|f|t|f|f|f|f|-1|********|f
    4571|pg_execute_server_program|f|t|f|f|f|f|-1|********|f
    4200|pg_signal_backend|f|t|f|f|f|f|-1|********|f
    4544|pg_checkpoint|f|t|f|f|f|f|-1|********|f`,
  pg_collation: `oid|collname|collnamespace|collowner|collprovider|collisdeterministic|collencoding|collcollate|collctype
    100|default|11|10|d|t|-1|~|~
    950|C|11|10|c|t|-1|C|C
    951|POSIX|11|10|c|t|-1|POSIX|POSIX
    12340|ucs_basic|11|10|c|t|6|C|C`,
  pg_database: `oid|datname|datdba|encoding|datlocprovider|datistemplate|datallowconn|datconnlimit|datfrozenxid|datminmxid|dattablespace|datcollate|datctype
    5|$database|10|6|c|f|t|-1|716|1|1663|C|C`,
  pg_description: `objoid|classoid|objsubid|description
    11|2615|0|system catalog schema
    99|2615|0|reserved schema for TOAST tables
    2200|2615|0|standard public schema`,
  pg_language: `oid|lanname|lanowner|lanpltrusted
    12|internal|10|f
    13|c|10|f
    14|sql|10|t`,
  pg_namespace: `oid|nspname|nspowner|nspacl
    99|pg_toast|10|~
    11|pg_catalog|10|{$user=UC/$user,=U/$user}
    2200|public|6171|{pg_database_owner=UC/pg_database_owner,=U/pg_database_owner}
    13207|information_schema|10|{$user=UC/$user,=U/$user}`,
  pg_range: `rngtypid|rngsubtype|rngmultitypid|rngcollation|rngsubopc
    3904|23|4451|0|1978
    3906|1700|4532|0|3125
    3908|1114|4533|0|3128
    3910|1184|4534|0|3127
    3912|1082|4535|0|3122
    3926|20|4536|0|3124`,
  pg_stat_activity: `datid|datname|pid|usesysid|usename|application_name|state|backend_type
    5|$database|$backendId|10|$user|$application|active|client backend`,
  pg_stat_gssapi: `pid|gss_authenticated|encrypted
    $backendId|f|f`,
  pg_tablespace: `oid|spcname|spcowner
    1663|pg_default|10
    1664|pg_global|10`,
  pg_user: `usename|usesysid|usecreatedb|usesuper|userepl|usebypassrls|passwd
    $user|10|t|t|t|t|********`,
  information_schema_catalog_name: `catalog_name
    $database`,
  schemata: `catalog_name|schema_name|schema_owner
    $database|pg_toast|$user
    $database|pg_catalog|$user
    $database|public|pg_database_owner
    $database|information_schema|$user`,
  pg_class: `oid|relname|relnamespace|reltype|relowner|relam|reltablespace|relpages|reltuples|relhasindex|relisshared|relpersistence|relkind|relnatts|relhasrules|relispopulated|relreplident|relacl
    $oid|$name|$namespace|$rowType|10|$method|$tablespace|0|-1|$isTable|$isShared|p|$kind|$width|$isView|t|n|$access`,
  tables: `table_catalog|table_schema|table_name|table_type|is_insertable_into|is_typed
    $database|$schema|$name|$tableType|$isInsertable|NO`,
  pg_attribute: `attrelid|attname|attnum|atttypid|attlen|attbyval|attalign|attstorage|attndims|attcollation|attnotnull|attstattarget|attcacheoff|atttypmod|attislocal
    $relation|$column|$number|$oid|$length|$byValue|$align|$storage|$dimensions|$ownCollation|$notNull|-1|-1|-1|t`,
  columns: `table_catalog|table_schema|table_name|column_name|ordinal_position|is_nullable|data_type|udt_catalog|udt_schema|udt_name|is_identity|is_generated|is_self_referencing|identity_cycle|is_updatable|dtd_identifier|character_maximum_length|character_octet_length|numeric_precision|numeric_precision_radix|numeric_scale|datetime_precision|domain_catalog|domain_schema|domain_name|collation_catalog|collation_schema|collation_name
    $database|$schema|$table|$column|$number|$isNullable|$dataType|$database|pg_catalog|$plainName|NO|NEVER|NO|NO|$isUpdatable|$number|$characters|$bytes|$precision|$radix|$scale|$fraction|$domainCatalog|$domainSchema|$domain|$collationCatalog|$collationSchema|$collationName`,
  pg_type: `oid|typname|typnamespace|typowner|typlen|typbyval|typtype|typcategory|typispreferred|typisdefined|typdelim|typrelid|typelem|typarray|typinput|typoutput|typreceive|typsend|typmodin|typmodout|typsubscript|typanalyze|typalign|typstorage|typbasetype|typtypmod|typcollation
    $oid|$name|$namespace|10|$length|$byValue|$kind|$category|$isPreferred|t|$delimiter|$relation|$element|$array|$input|$output|$receive|$send|$modifierIn|$modifierOut|$subscript|$analyze|$align|$storage|$base|$baseModifier|$collation`,
  pg_proc: `oid|proname|pronamespace|proowner|prolang|procost|prokind|proisstrict|provolatile|proparallel|pronargs|prorettype|proargtypes|prosrc
    $oid|$name|11|10|12|1|f|$isStrict|$volatility|s|$width|$result|$args|$name`,
  pg_settings: `name|setting|*
    $name|$setting`,
  pg_cursors: `name|statement|is_holdable|is_binary|is_scrollable|creation_time
    $name|$text|$isHeld|f|$isScrollable|$sinceUs`,
}

/** Rows of a sequence. */
export const sequenceRows: Readonly<Record<string, string>> = {
  pg_class: `oid|relname|relnamespace|relowner|relfilenode|relpages|reltuples|relpersistence|relkind|relnatts|relispopulated|relreplident
    $oid|$name|2200|10|$oid|1|1|p|S|3|t|n`,
  pg_attribute: `attrelid|attname|attnum|atttypid|attlen|attbyval|attalign|attstorage|attstattarget|attcacheoff|atttypmod|attnotnull|attislocal
    $oid|tableoid|-6|26|4|t|i|p|0|-1|-1|t|t
    $oid|cmax|-5|29|4|t|i|p|0|-1|-1|t|t
    $oid|xmax|-4|28|4|t|i|p|0|-1|-1|t|t
    $oid|cmin|-3|29|4|t|i|p|0|-1|-1|t|t
    $oid|xmin|-2|28|4|t|i|p|0|-1|-1|t|t
    $oid|ctid|-1|27|6|f|s|p|0|-1|-1|t|t
    $oid|last_value|1|20|8|t|d|p|-1|-1|-1|t|t
    $oid|log_cnt|2|20|8|t|d|p|-1|-1|-1|t|t
    $oid|is_called|3|16|1|t|c|p|-1|-1|-1|t|t`,
  pg_depend: `classid|objid|objsubid|refclassid|refobjid|refobjsubid|deptype
    1259|$oid|0|2615|2200|0|n`,
  pg_sequence: `seqrelid|seqtypid|seqstart|seqincrement|seqmax|seqmin|seqcache|seqcycle
    $oid|$type|$start|$increment|$max|$min|$cache|f`,
  pg_sequences: `schemaname|sequencename|sequenceowner|data_type|start_value|min_value|max_value|increment_by|cycle|cache_size|last_value
    public|$name|$user|$type|$start|$min|$max|$increment|f|$cache|$last`,
  sequences: `sequence_catalog|sequence_schema|sequence_name|data_type|numeric_precision|numeric_precision_radix|numeric_scale|start_value|minimum_value|maximum_value|increment|cycle_option
    $database|public|$name|$dataType|$bits|2|0|$start|$min|$max|$increment|NO`,
}

/**
 * Tables that are read as empty: those that are so in every new database of PostgreSQL, and those of constraints, indexes,
 * extensions and statistics: this server has none.
 */
export const emptyTables: ReadonlySet<string> = new Set(
  `_pg_foreign_data_wrappers _pg_foreign_servers _pg_foreign_tables _pg_user_mappings foreign_data_wrappers foreign_servers
  foreign_tables key_column_usage pg_attrdef pg_auth_members pg_constraint pg_db_role_setting pg_default_acl pg_enum
  pg_event_trigger pg_extension pg_foreign_data_wrapper pg_foreign_server pg_foreign_table pg_index pg_inherits pg_largeobject
  pg_largeobject_metadata pg_matviews pg_partitioned_table pg_policies pg_policy pg_prepared_xacts pg_publication
  pg_publication_namespace pg_publication_rel pg_publication_tables pg_replication_origin pg_replication_slots pg_rewrite
  pg_seclabel pg_seclabels pg_shdepend pg_shdescription pg_shseclabel pg_statio_all_tables pg_statistic_ext
  pg_statistic_ext_data pg_stat_replication pg_subscription pg_subscription_rel pg_transform pg_trigger pg_user_mapping
  pg_user_mappings referential_constraints table_constraints triggers`.split(/\s+/),
)
