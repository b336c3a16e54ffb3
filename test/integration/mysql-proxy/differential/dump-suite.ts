/** Dumps of mariadb-dump, loaded through the proxy by the client `mariadb`: all rows come back as they were. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { password, superuser } from '../../../launch/database.ts'
import { guardTables } from '../../../launch/guards.ts'
import { temporaryFolder } from '../../../launch/places.ts'
import { runProgram } from '../../../launch/program.ts'
import { MysqlClient } from './mysql-client.ts'
import type { FilledColumn, Stage } from './stage.ts'

/** The columns that these tests need filled. */
export const dumpColumns: readonly FilledColumn[] = [
  { column: 'restored.orders.id', generator: 'restored-order', create: ['KIND', 'sequence', 'START', 5000] },
  { column: 'restored.items.id', generator: 'restored-item', create: ['KIND', 'sequence', 'START', 5000] },
  { column: 'restored.types.id', generator: 'restored-type', create: ['KIND', 'sequence', 'START', 5000] },
]

/** What is dumped. Ids of `orders` include 0, and the largest that fits. */
const schema = `
  CREATE DATABASE archive CHARACTER SET utf8mb4;
  USE archive;
  CREATE TABLE orders (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    note VARCHAR(200) DEFAULT NULL,
    data BLOB DEFAULT NULL,
    doubled INT AS (LENGTH(note) * 2) VIRTUAL
  );
  SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
  INSERT INTO orders (id, note, data) VALUES
    (0, 'zero', x'00'),
    (1, 'it''s "quoted" \`so\` \\\\ and \\n\\r\\t\\Z\\0', x'00010a0d1a225c275c5c27ff'),
    (2, '),(NULL,''x''); -- /* INSERT INTO orders VALUES (NULL)', x''),
    (9000000000000000000, '发号 😀', REPEAT(x'275c', 500));
  INSERT INTO orders (id, note, data) SELECT seq, CONCAT('row ', seq), UNHEX(SHA1(seq)) FROM seq_10_to_2009;
  CREATE TABLE items (name VARCHAR(40) NOT NULL, id INT NOT NULL AUTO_INCREMENT, PRIMARY KEY (id), UNIQUE KEY (name));
  INSERT INTO items (id, name) SELECT seq, CONCAT('item ', seq) FROM seq_1_to_300;
  CREATE TABLE types (
    a_tiny TINYINT UNSIGNED, a_small SMALLINT, a_medium MEDIUMINT, an_int INT UNSIGNED ZEROFILL, a_big BIGINT UNSIGNED,
    a_bool BOOLEAN, a_decimal DECIMAL(30,10), a_float FLOAT, a_double DOUBLE, a_bit BIT(33),
    a_date DATE, a_time TIME(6), a_datetime DATETIME(6), a_stamp TIMESTAMP(6) NULL, a_year YEAR,
    a_char CHAR(20), a_varchar VARCHAR(200), a_binary BINARY(6), a_varbinary VARBINARY(60),
    a_tinyblob TINYBLOB, a_blob BLOB, a_longblob LONGBLOB, a_tinytext TINYTEXT, a_text TEXT, a_longtext LONGTEXT,
    an_enum ENUM('a','b''c','d,e',''), a_set SET('x','y''z','(1)'), a_json JSON, a_uuid UUID, an_inet4 INET4, an_inet6 INET6,
    a_point POINT, a_line LINESTRING, a_geometry GEOMETRY,
    a_gbk VARCHAR(60) CHARACTER SET gbk, a_sjis VARCHAR(60) CHARACTER SET sjis, a_big5 VARCHAR(60) CHARACTER SET big5,
    a_latin1 VARCHAR(60) CHARACTER SET latin1, a_ucs2 VARCHAR(60) CHARACTER SET ucs2, a_utf32 VARCHAR(60) CHARACTER SET utf32,
    \`a "quoted" column, (odd)\` VARCHAR(20), \`名称\` VARCHAR(20), \`values\` INT DEFAULT (1 + 1), \`a\`\`b\` INT INVISIBLE,
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    a_virtual INT AS (a_tiny + 1) VIRTUAL, a_stored VARCHAR(250) AS (CONCAT(a_varchar, ';')) PERSISTENT,
    PRIMARY KEY (id), CHECK (a_tiny < 250)
  );
  INSERT INTO types SET id = 0;
  INSERT INTO types SET id = 18446744073709551614, a_tiny = 249, a_small = -32768, a_medium = -8388608, an_int = 42,
    a_big = 18446744073709551615, a_bool = TRUE, a_decimal = '-12345678901234567890.0123456789', a_float = -1.5e-30,
    a_double = 1.7976931348623157e308, a_bit = b'100000000000000000000000000000111', a_date = '9999-12-31',
    a_time = '-838:59:59.999999', a_datetime = '2024-02-29 23:59:59.999999', a_stamp = '2037-01-19 03:14:07.123456',
    a_year = 2155, a_char = 'spaces  ', a_varchar = '\\\\''"\`\\0\\n\\r\\Z\\t%_', a_binary = x'275c00220a1a',
    a_varbinary = x'5c5c27275c', a_tinyblob = x'ff5c27', a_blob = x'bf5c27bf27', a_longblob = REPEAT(x'00ff5c27', 400),
    a_tinytext = '; -- x', a_text = '/*! (NULL) */', a_longtext = REPEAT('),(NULL,''', 900), an_enum = 'b''c',
    a_set = 'y''z,(1)', a_json = '{"a": ["it''s", "\\\\\\\\", null]}', a_uuid = '123e4567-e89b-12d3-a456-426655440000',
    an_inet4 = '10.0.0.1', an_inet6 = 'fe80::1', a_point = POINT(1.5, -2), a_line = ST_GeomFromText('LINESTRING(0 0,1 1)'),
    a_geometry = ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))'), a_gbk = '縗發', a_sjis = 'ソ表', a_big5 = '許功', a_latin1 = 'é\\\\',
    a_ucs2 = '发号', a_utf32 = '😀', \`a "quoted" column, (odd)\` = 'x', \`名称\` = '名', \`values\` = 3, \`a\`\`b\` = 4;
  INSERT INTO types (id, an_enum, a_set, a_float, a_date) VALUES (7, '', '', 0, '0000-00-00'), (8, 1, 7, 1e20, NULL);`

/** The tables, and what a row consists of: `*` leaves out a column that is invisible. */
const tables = { orders: '*', items: '*', types: '*, `a``b`' } as const
type Table = keyof typeof tables

/** How the options of mariadb-dump are combined. */
const forms: readonly (readonly string[])[] = [
  [],
  ['--complete-insert'],
  ['--skip-extended-insert', '--where=id<30'],
  ['--skip-extended-insert', '--complete-insert', '--hex-blob', '--where=id<30'],
  ['--hex-blob', '--no-autocommit'],
  ['--insert-ignore', '--skip-add-locks'],
  ['--replace', '--complete-insert', '--skip-comments', '--skip-dump-date'],
  ['--skip-quote-names', '--skip-set-charset', '--skip-tz-utc', '--ignore-table=archive.types'],
  ['--single-transaction', '--order-by-primary', '--skip-disable-keys', '--add-drop-trigger'],
  ['--default-character-set=utf8mb4', '--max-allowed-packet=1M', '--net-buffer-length=4096'],
  ['--compatible=ansi', '--complete-insert', '--default-character-set=utf8mb4'],
  ['--skip-opt', '--set-charset', '--create-options', '--hex-blob', '--where=id<30'],
]

/** Registers the tests. */
export function dumpSuite(stage: () => Stage): void {
  describe('dumps that are loaded through the proxy', () => {
    const database = () => stage().proxied.database
    const dump = (options: readonly string[], file: string, ...some: readonly string[]) =>
      shell(
        `mariadb-dump ${login(database().port)} ${options.map((each) => `'${each}'`).join(' ')} archive ${some.join(' ')} > ${file}`,
      )
    const empty = (further = '') =>
      database().admin(
        `DROP DATABASE IF EXISTS restored; CREATE DATABASE restored CHARACTER SET utf8mb4; ${further}`,
      )

    const rowsOf = async (schemaName: string, table: Table, where = '') => {
      const [reply] = await client.query(
        `SELECT ${tables[table]} FROM ${schemaName}.${table} ${where} ORDER BY id`,
      )
      assert.ok(reply?.kind === 'rows', JSON.stringify(reply))
      assert.ok(reply.rows.length > 2)
      return reply.rows.map((row) => JSON.stringify(row))
    }
    let client: MysqlClient

    before(async () => {
      await database().admin(schema)
      client = await MysqlClient.connect({ port: database().port, user: superuser, password })
    })
    after(() => client.end())

    for (const form of forms) {
      test(`have the same rows, in the form ${form.join(' ') || 'without options'}`, async (t) => {
        const file = join(temporaryFolder(t), 'dump.sql')
        const isSmall = form.includes('--where=id<30')
        await empty()
        await dump(form, file)
        assert.ok(statSync(file).size > (isSmall ? 1000 : 50_000))
        await shell(
          `mariadb ${login(stage().proxied.port)} --default-character-set=utf8mb4 restored < ${file}`,
        )
        for (const table of tablesOf(form)) {
          const where = isSmall ? 'WHERE id < 30' : ''
          const [restored, archived] = [
            await rowsOf('restored', table),
            await rowsOf('archive', table, where),
          ]
          assert.deepEqual(
            restored.filter((row, at) => row !== archived[at]),
            [],
          )
          assert.equal(restored.length, archived.length)
        }
      })
    }

    test('get ids for the rows that have none', async (t) => {
      const file = join(temporaryFolder(t), 'dump.sql')
      await empty(
        'CREATE TABLE restored.orders (id BIGINT NOT NULL PRIMARY KEY, note VARCHAR(200), code INT)',
      )
      await guardTables(database(), ['restored.orders.id'])
      await dump(['--no-create-info', '--complete-insert'], file, 'items')
      const withoutIds = `sed -E 's/INSERT INTO .items. \\(.name., .id.\\)/INSERT INTO orders (note, id)/; s/,[0-9]+\\)/,NULL)/g; /LOCK|KEYS/d'`
      await shell(`${withoutIds} ${file} | mariadb ${login(stage().proxied.port)} restored`)
      const [row] = await database().admin(
        'SELECT COUNT(*) AS rows_, MIN(id) AS least, MAX(id) AS largest, COUNT(DISTINCT note) AS notes FROM restored.orders',
      )
      assert.deepEqual({ ...row }, { rows_: '300', least: '5000', largest: '5299', notes: '300' })
    })
  })
}

function tablesOf(form: readonly string[]): Table[] {
  const all = Object.keys(tables) as Table[]
  return all.filter((table) => !form.includes(`--ignore-table=archive.${table}`))
}

function login(port: number): string {
  return `--no-defaults --protocol=tcp --host=127.0.0.1 --port=${port} --user=${superuser} --password=${password}`
}

function shell(command: string): Promise<string> {
  return runProgram(['sh', '-c', command])
}
