/** psql: what it lists, and what it says after statements. A step's value is what psql prints, errors by their SQLSTATE. */
import { type Client, program, url } from './client.ts'

/** Printed in front of each step's output. */
const mark = '@@'

/** Commands whose whole output is compared. The sizes of sequences are none here. */
const lists = [
  ...[
    '\\ds',
    '\\ds+',
    '\\ds ord*',
    '\\ds public.*',
    '\\ds missing',
    '\\d',
    '\\d+',
    '\\d orders',
    '\\d+ invoices',
  ],
  ...[
    '\\d missing',
    '\\d public.orders',
    '\\dt',
    '\\dv',
    '\\dm',
    '\\di',
    '\\df',
    '\\dT',
    '\\dn',
    '\\dp',
    '\\z orders',
    '\\ddp',
  ],
  ...['\\encoding', '\\conninfo'],
]

/** Commands that list things of the server itself: what is compared is which columns they have. */
const headers = ['\\l', '\\du', '\\dg', '\\db', '\\dx', '\\dn+', '\\dconfig server_version']

const statements: Readonly<Record<string, string>> = {
  gset: "SELECT nextval('orders') AS id \\gset\n\\echo drawn :id",
  variable:
    "\\set n 5\n\\set name orders\nSELECT nextval('orders') FROM generate_series(1, :n);\nSELECT nextval(:'name');",
  gx: "SELECT nextval('orders') AS a, nextval('orders') AS b \\gx",
  gdesc: "SELECT nextval('orders') \\gdesc",
  gexec: "SELECT 'SELECT nextval(''orders'')' \\gexec",
  'currval, lastval': "\\x on\nSELECT currval('orders'), lastval();\n\\x off",
  'a sequence as a table': 'SELECT last_value, is_called FROM orders;',
  setval: "SELECT setval('orders', 100), setval('invoices', 501, false);",
  'after setval': "SELECT nextval('orders'), nextval('invoices');",
  'rolled back': "BEGIN;\nSELECT nextval('orders');\nROLLBACK;\nSELECT nextval('orders');",
  'several statements': "SELECT nextval('orders') \\; SELECT nextval('invoices');",
  missing: "SELECT nextval('missing');\n\\echo :SQLSTATE",
  created:
    "CREATE SEQUENCE created INCREMENT BY 10 START WITH 5 MAXVALUE 1000;\nSELECT nextval('created');\n\\d created",
  CACHE: 'CREATE SEQUENCE cached CACHE 20;\n\\d cached',
  altered: "ALTER SEQUENCE created RESTART WITH 105;\nSELECT nextval('created');",
  dropped: 'DROP SEQUENCE created;\n\\ds created',
  ON_ERROR_ROLLBACK:
    "\\set ON_ERROR_ROLLBACK on\nBEGIN;\nSELECT nextval('missing');\nSELECT nextval('orders');\nCOMMIT;",
  reconnected: "\\c\nSELECT nextval('orders');",
  FETCH_COUNT:
    "\\set FETCH_COUNT 2\nSELECT nextval('orders') FROM generate_series(1, 5);\nVALUES (1), (2);\n\\unset FETCH_COUNT",
  cursor:
    'BEGIN;\nDECLARE c CURSOR FOR SELECT generate_series FROM generate_series(1, 5);\nFETCH 2 c;\nMOVE c;\nFETCH ALL c;\nCOMMIT;\nFETCH c;',
  'held cursor':
    "DECLARE h SCROLL CURSOR WITH HOLD FOR VALUES (1, 'a'), (2, NULL);\nFETCH LAST h;\nFETCH PRIOR h;\nSELECT name, is_holdable FROM pg_cursors;\nCLOSE ALL;",
  prepared:
    "PREPARE p (text, int) AS SELECT nextval($1) FROM generate_series(1, $2);\nEXECUTE p('orders', 3);\nDEALLOCATE p;\nEXECUTE p('orders', 1);",
  crosstab: "SELECT 'a' AS row, 'b' AS col, nextval('orders') AS id \\crosstabview",
  transaction:
    'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ WRITE;\nSHOW transaction_isolation;\nCOMMIT;',
}

/** Statements that are refused here. The connection goes on. */
export const refused: readonly string[] = [
  'COPY orders TO STDOUT',
  '\\copy orders FROM /dev/null',
  'CREATE TABLE t (id int)',
  'INSERT INTO orders VALUES (1)',
  'UPDATE orders SET last_value = 1',
  'LOCK TABLE orders',
  'VACUUM',
  'DO $$ BEGIN END $$',
  'CREATE SEQUENCE s CYCLE',
  'CREATE SEQUENCE s INCREMENT BY -1',
  'CREATE TEMP SEQUENCE s',
]

/** psql with its lists. */
export const psqlLists: Client = psql('psql, \\d and lists', {
  ...Object.fromEntries([...lists, ...headers].map((command) => [command, command])),
})

/** psql with statements, variables and its other commands. */
export const psqlStatements: Client = psql('psql, statements', statements)

/** psql with what is refused: a SQLSTATE for each. */
export const psqlRefused: Client = psql(
  'psql, refused',
  Object.fromEntries(refused.map((sql) => [sql, sql.startsWith('\\') ? sql : `${sql};`])),
)

function psql(name: string, steps: Readonly<Record<string, string>>): Client {
  const script = Object.entries(steps).map(([step, text]) => `\\echo '${mark} ${quoted(step)}'\n${text}\n`)
  // Errors stand between the results, where they belong.
  const command = 'exec stdbuf -oL psql -X --no-password "$0" 2>&1'
  return program(name, ['sh', '-c', command, url], {
    input: `\\set VERBOSITY sqlstate\n${script.join('')}`,
    lines: (printed) => printed.split(`${mark} `).slice(1).map(lineOf),
  })
}

/** In a quoted argument of a backslash command. */
function quoted(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "''")
}

function lineOf(section: string): string {
  const [step = '', ...rest] = section.trimEnd().split('\n')
  const kept = rest.filter((line) => !line.startsWith('SSL connection'))
  const printed = headers.includes(step) ? kept.slice(0, 2) : kept
  return `${step}\t${printed.map((line) => plain(line)).join('\n')}`
}

/** Without what no two servers have in common: ports, sizes, and white space that aligns columns of them. */
function plain(line: string): string {
  return line
    .replaceAll(/\d+ (bytes|kB)/g, 'SIZE')
    .replaceAll(/port "\d+"/g, 'port')
    .replaceAll(/-{2,}/g, '--')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
}
