/** `fahao proxy check` by its program, on MariaDB. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { password } from '../../launch/database.ts'
import { upstreamOf } from '../../launch/guards.ts'
import { Scope } from '../../launch/lifetime.ts'
import { type MariaDb, startMariaDb } from '../../launch/mariadb.ts'
import { assertSentence, fahao } from '../cli-program.ts'

const scope = new Scope()
let db: MariaDb

before(async () => {
  db = await startMariaDb(scope)
  await db.admin(`
    CREATE DATABASE shop;
    USE shop;
    CREATE TABLE numbers (id BIGINT UNSIGNED DEFAULT NULL COMMENT 'it''s the id', v INT);
    CREATE TABLE texts (id VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT 'x', v INT);
    CREATE TABLE counted (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT);
    CREATE TABLE floats (id DOUBLE NOT NULL);
    CREATE VIEW shown AS SELECT * FROM numbers;
    CREATE USER looker@'127.0.0.1' IDENTIFIED BY '${password}';
    GRANT REFERENCES, TRIGGER ON shop.* TO looker@'127.0.0.1'`)
})
after(() => scope.end())

const check = (t: Parameters<typeof fahao>[0], tables: readonly string[], ...more: string[]) =>
  fahao(t, [
    'proxy',
    'check',
    '--upstream',
    `mysql://looker:${password}@127.0.0.1:${db.port}`,
    ...tables.flatMap((table) => ['--table', `shop.${table}=order`]),
    ...more,
  ])

/** Runs what was printed, without the form of the command line that triggers have. */
async function run(printed: string): Promise<void> {
  const statements = printed.split('\n').filter((line) => /^ALTER/.test(line))
  for (const statement of statements) await db.admin(statement)
}

describe('fahao proxy check', () => {
  for (const [table, values] of [
    ['numbers', ['(v) VALUES (1)', '(id, v) VALUES (0, 1)', '(id, v) VALUES (NULL, 1)']],
    ['texts', ['(v) VALUES (1)', "(id, v) VALUES ('', 1)", '(id, v) VALUES (NULL, 1)']],
    ['counted', ['(v) VALUES (1)', '(id, v) VALUES (0, 1)', '(id, v) VALUES (NULL, 1)']],
  ] as const)
    test(`of a table of ${table} exits with 1 and prints statements after which it exits with 0`, async (t) => {
      const lacking = await check(t, [`${table}.id`])
      assert.equal(lacking.code, 1)
      assert.match(lacking.stdout, new RegExp(`^shop.${table}.id: .*no guard refuses a row without an id`))
      assert.match(
        lacking.stdout,
        /^-- or, in place of the CHECK, which a session can switch off \(.*\):\nDELIMITER \/\/\nCREATE TRIGGER/m,
      )
      assertSentence(lacking.stderr, /1 of 1 tables are not filled in/)
      await run(lacking.stdout)
      const stands = await check(t, [`${table}.id`])
      assert.equal(stands.code, 0)
      assert.match(
        stands.stdout,
        /^shop\.\w+\.id: the guard stands \(CHECK\)\n-- or, in place of the CHECK, which a session can switch off/,
      )
      for (const each of values)
        await assert.rejects(db.admin(`SET sql_mode = ''; INSERT INTO ${table} ${each}`, 'shop'), each)
      assert.deepEqual(await db.admin(`SELECT * FROM ${table}`, 'shop'), [])
    })

  test('keeps the comment, the character set and the collation of a column that it makes NOT NULL', async () => {
    const columns = await db.admin(
      `SELECT COLUMN_NAME, COLUMN_COMMENT, COLLATION_NAME FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME IN ('numbers', 'texts') AND COLUMN_NAME = 'id' ORDER BY TABLE_NAME`,
    )
    assert.deepEqual(
      columns.map(({ COLUMN_COMMENT, COLLATION_NAME }) => [COLUMN_COMMENT, COLLATION_NAME]),
      [
        ["it's the id", null],
        ['', 'utf8mb4_bin'],
      ],
    )
  })

  test('knows a trigger, and prints JSON for scripts', async (t) => {
    await db.admin('ALTER TABLE numbers DROP CONSTRAINT fahao_numbers_id', 'shop')
    await db.admin(
      `CREATE TRIGGER guarding BEFORE INSERT ON numbers FOR EACH ROW
       IF NEW.id IS NULL OR NEW.id <= 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no id'; END IF`,
      'shop',
    )
    const stands = await check(t, ['numbers.id'], '--json')
    assert.deepEqual(
      [stands.code, JSON.parse(stands.stdout)],
      [
        0,
        [
          {
            column: 'shop.numbers.id',
            generator: 'order',
            stands: true,
            by: 'trigger',
            missing: [],
            ddl: [],
          },
        ],
      ],
    )
  })

  test('says what keeps a table from being filled in where no statement helps', async (t) => {
    const { code, stdout } = await check(t, ['floats.id', 'shown.id', 'absent.id', 'numbers.no'], '--json')
    const missing = JSON.parse(stdout).map((each: { missing: string[] }) => each.missing.join())
    assert.equal(code, 1)
    assert.match(missing[0], /its type double does not hold ids/)
    assert.match(missing[1], /is a view; name the table behind it/)
    assert.match(missing[2], /there is no table shop.absent/)
    assert.match(missing[3], /has no column no/)
  })

  test('exits with 2 without a table, and with 4 where the server does not let it in or is away', async (t) => {
    assertSentence((await check(t, [])).stderr, /nothing to look at; name the server with --upstream/)
    assert.equal((await check(t, [])).code, 2)
    const upstream = upstreamOf(db).replace(`:${password}@`, ':wrong@')
    const wrong = await fahao(t, ['proxy', 'check', '--upstream', upstream, '--table', 'shop.a.id=order'])
    assert.equal(wrong.code, 4)
    assertSentence(wrong.stderr, /cannot be asked: .*Access denied.*; check its address, user and password/)
    assert.doesNotMatch(wrong.stderr, /wrong/)
  })
})
