/** The tables of the old services, as their own instructions create them, and how rows get there. */
import type { Dialect, Send } from './database.ts'

/** An old service's table. */
export type Schema = 'leaf' | 'idbuilder' | 'tinyid'

/** All of them. */
export const schemas = ['leaf', 'idbuilder', 'tinyid'] as const satisfies readonly Schema[]

/** Its name. */
export const tableOf: Readonly<Record<Schema, string>> = {
  leaf: 'leaf_alloc',
  idbuilder: 't_id_builder_config',
  tinyid: 'tiny_id_info',
}

/** The column with the name of a row. */
export const keyColumnOf: Readonly<Record<Schema, string>> = {
  leaf: 'biz_tag',
  idbuilder: 'id',
  tinyid: 'biz_type',
}

const leafMysql = `CREATE TABLE leaf_alloc (
  biz_tag varchar(128) NOT NULL DEFAULT '',
  max_id bigint(20) NOT NULL DEFAULT '1',
  step int(11) NOT NULL,
  description varchar(256) DEFAULT NULL,
  update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (biz_tag)
) ENGINE=InnoDB`

const leafPostgres = `CREATE TABLE leaf_alloc (
  biz_tag varchar(128) NOT NULL DEFAULT '' PRIMARY KEY,
  max_id bigint NOT NULL DEFAULT 1,
  step int NOT NULL,
  description varchar(256) DEFAULT NULL,
  update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP
)`

const idbuilderMysql = `CREATE TABLE t_id_builder_config (
  id int NOT NULL AUTO_INCREMENT,
  des varchar(255) DEFAULT NULL,
  init_num bigint DEFAULT NULL,
  current_threshold bigint DEFAULT NULL,
  step int DEFAULT NULL,
  biz_code varchar(60) DEFAULT NULL,
  version int NOT NULL DEFAULT 0,
  is_seq smallint DEFAULT 0,
  create_time datetime DEFAULT CURRENT_TIMESTAMP,
  update_time datetime DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8`

const idbuilderPostgres = `CREATE TABLE t_id_builder_config (
  id serial PRIMARY KEY,
  des varchar(255) DEFAULT NULL,
  init_num bigint DEFAULT NULL,
  current_threshold bigint DEFAULT NULL,
  step int DEFAULT NULL,
  biz_code varchar(60) DEFAULT NULL,
  version int NOT NULL DEFAULT 0,
  is_seq smallint DEFAULT 0,
  create_time timestamp DEFAULT CURRENT_TIMESTAMP,
  update_time timestamp DEFAULT CURRENT_TIMESTAMP
)`

const tinyidMysql = [
  `CREATE TABLE tiny_id_info (
  id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  biz_type varchar(63) NOT NULL DEFAULT '',
  begin_id bigint(20) NOT NULL DEFAULT '0',
  max_id bigint(20) NOT NULL DEFAULT '0',
  step int(11) DEFAULT '0',
  delta int(11) NOT NULL DEFAULT '1',
  remainder int(11) NOT NULL DEFAULT '0',
  create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
  update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
  version bigint(20) NOT NULL DEFAULT '0',
  PRIMARY KEY (id),
  UNIQUE KEY uniq_biz_type (biz_type)
) ENGINE=InnoDB AUTO_INCREMENT=1 DEFAULT CHARSET=utf8`,
  `CREATE TABLE tiny_id_token (
  id int(11) unsigned NOT NULL AUTO_INCREMENT,
  token varchar(255) NOT NULL DEFAULT '',
  biz_type varchar(63) NOT NULL DEFAULT '',
  remark varchar(255) NOT NULL DEFAULT '',
  create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
  update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
  PRIMARY KEY (id)
) ENGINE=InnoDB AUTO_INCREMENT=1 DEFAULT CHARSET=utf8`,
]

const tinyidPostgres = [
  `CREATE TABLE tiny_id_info (
  id bigserial PRIMARY KEY,
  biz_type varchar(63) NOT NULL DEFAULT '' UNIQUE,
  begin_id bigint NOT NULL DEFAULT 0,
  max_id bigint NOT NULL DEFAULT 0,
  step int DEFAULT 0,
  delta int NOT NULL DEFAULT 1,
  remainder int NOT NULL DEFAULT 0,
  create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
  update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
  version bigint NOT NULL DEFAULT 0
)`,
  `CREATE TABLE tiny_id_token (
  id serial PRIMARY KEY,
  token varchar(255) NOT NULL DEFAULT '',
  biz_type varchar(63) NOT NULL DEFAULT '',
  remark varchar(255) NOT NULL DEFAULT '',
  create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',
  update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00'
)`,
]

const statements: Readonly<Record<Schema, Readonly<Record<Dialect, readonly string[]>>>> = {
  leaf: { mysql: [leafMysql], postgres: [leafPostgres] },
  idbuilder: { mysql: [idbuilderMysql], postgres: [idbuilderPostgres] },
  tinyid: { mysql: tinyidMysql, postgres: tinyidPostgres },
}

/** Creates an old service's tables. */
export async function createTables(send: Send, dialect: Dialect, schema: Schema): Promise<void> {
  for (const statement of statements[schema][dialect]) await send(statement)
}

/** Columns that users have added, and a `description` under its older name, which is a reserved word. */
export async function addOddColumns(send: Send, dialect: Dialect, schema: Schema): Promise<void> {
  const table = tableOf[schema]
  const quote = dialect === 'mysql' ? '`' : '"'
  await send(`ALTER TABLE ${table} ADD COLUMN ${quote}order${quote} varchar(20) NOT NULL DEFAULT 'kept'`)
  await send(`ALTER TABLE ${table} ADD COLUMN owner_team varchar(20) DEFAULT NULL`)
  if (schema !== 'leaf') return
  await send(
    dialect === 'mysql'
      ? `ALTER TABLE leaf_alloc CHANGE description ${quote}desc${quote} varchar(256) DEFAULT NULL`
      : `ALTER TABLE leaf_alloc RENAME COLUMN description TO ${quote}desc${quote}`,
  )
}

/** A rule for an old service, in the words of Fahao: `bound` is what the next range starts with. */
export type Rule = {
  readonly key: string
  readonly bound: bigint
  readonly step: number
  readonly increment?: number
  readonly offset?: number
  readonly shuffled?: boolean
  /** IdBuilder's `biz_code`; empty by default. */
  readonly prefix?: string | null
}

/** Adds a row as the old service's people do. */
export async function addRow(send: Send, schema: Schema, rule: Rule): Promise<void> {
  const { key, bound, step } = rule
  if (schema === 'leaf') {
    await send('INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, ?, ?)', [key, String(bound), step])
  } else if (schema === 'idbuilder') {
    await send(
      'INSERT INTO t_id_builder_config (id, init_num, current_threshold, step, biz_code, is_seq) VALUES (?, ?, ?, ?, ?, ?)',
      [
        key,
        String(bound),
        String(bound),
        step,
        rule.prefix === undefined ? '' : rule.prefix,
        rule.shuffled ? 1 : 0,
      ],
    )
  } else {
    const last = String(bound - 1n)
    await send(
      'INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder) VALUES (?, ?, ?, ?, ?, ?)',
      [key, last, last, step, rule.increment ?? 1, rule.offset ?? 0],
    )
  }
}

/** What the next range of a row starts with; undefined when there is no such row. */
export async function boundOf(send: Send, schema: Schema, key: string): Promise<bigint | undefined> {
  const [row] = (await send(boundStatements[schema], [key])).rows
  if (row === undefined) return undefined
  return BigInt(row.bound!) + (schema === 'tinyid' ? 1n : 0n)
}

const boundStatements: Readonly<Record<Schema, string>> = {
  leaf: 'SELECT max_id AS bound FROM leaf_alloc WHERE biz_tag = ?',
  idbuilder: 'SELECT current_threshold AS bound FROM t_id_builder_config WHERE id = ?',
  tinyid: 'SELECT max_id AS bound FROM tiny_id_info WHERE biz_type = ?',
}
