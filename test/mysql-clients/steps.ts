/**
 * What every client of MySQL is asked to do: steps that the programs of all languages read as JSON.
 *
 * Each step writes rows of its own: the customer of a row is the name of the step, a hyphen and a number.
 */

/** A value that a client binds to a parameter. */
export type Value = string | number | null

/**
 * How a step runs.
 *  - `text`: the statement without parameters.
 *  - `bound`: one statement with parameters, as the client usually sends such a one.
 *  - `prepared`: one prepared statement, executed for each row of `rows`.
 *  - `batch`: the rows by what the client has for many rows.
 *  - `statements`: several statements without parameters, joined by `; `, at once.
 *  - `rollback`, `commit`: a transaction that executes the statement for each row, and ends so.
 */
export type Way = 'text' | 'bound' | 'prepared' | 'batch' | 'statements' | 'rollback' | 'commit'

/** One statement, and how it runs. */
export type Step = {
  readonly name: string
  readonly way: Way
  readonly sql: string
  /** Values of the parameters, for each execution. Empty for `text` and `statements`. */
  readonly rows: readonly (readonly Value[])[]
  /**
   * The customers whose ids the client can report, in the order of its reports: one for each execution; for a statement
   * with several rows that of the first generated id, and more where a client reports more.
   */
  readonly customers: readonly string[]
  /** A statement that runs first, by itself. */
  readonly before?: string
}

const absent = 'INSERT INTO orders (customer, amount) VALUES (?, ?)'
const given = 'INSERT INTO orders (id, customer, amount) VALUES (?, ?, ?)'
const update = 'ON DUPLICATE KEY UPDATE amount = amount + VALUES(amount)'

/** The steps in their order; each uses what the earlier ones left only through LAST_INSERT_ID(). */
export const steps: readonly Step[] = [
  text('single', single('single-1', 1)),
  bound('single-bound', absent, ['single-bound-1', 1]),
  text(
    'multi',
    `INSERT INTO orders (customer, amount) VALUES ('multi-1', 1), ('multi-2', 2), ('multi-3', 3)`,
    3,
  ),
  {
    ...bound('multi-bound', `${absent}, (?, ?), (?, ?)`, [
      'multi-bound-1',
      1,
      'multi-bound-2',
      2,
      'multi-bound-3',
      3,
    ]),
    customers: ['multi-bound-1', 'multi-bound-2', 'multi-bound-3'],
  },
  many('prepared', 'prepared', absent, 3),
  givenIds('prepared-ids', 'prepared'),
  many('batch', 'batch', absent, 5),
  // Of a batch in one statement the client knows only the run of ids from the first one on.
  { ...givenIds('batch-ids', 'batch'), customers: numbered('batch-ids', 2) },
  {
    ...text('statements', [1, 2, 3, 4].map((at) => single(`statements-${at}`, at)).join('; '), 4),
    way: 'statements',
  },
  many('rollback', 'rollback', absent, 2),
  many('commit', 'commit', absent, 2),
  text('null', `INSERT INTO orders (id, customer, amount) VALUES (NULL, 'null-1', 1)`),
  bound('null-bound', given, [null, 'null-bound-1', 1]),
  text('zero', `INSERT INTO orders (id, customer, amount) VALUES (0, 'zero-1', 1)`),
  bound('zero-bound', given, [0, 'zero-bound-1', 1]),
  text('default', `INSERT INTO orders (id, customer, amount) VALUES (DEFAULT, 'default-1', 1)`),
  text('unlisted', `INSERT INTO orders VALUES (NULL, 'unlisted-1', 1)`),
  text('set', `INSERT INTO \`orders\` SET customer = 'set-1', amount = 1`),
  text('explicit', `INSERT INTO orders (id, customer, amount) VALUES (7001, 'explicit-1', 1)`),
  bound('explicit-bound', given, [7002, 'explicit-bound-1', 1]),
  {
    ...text(
      'mixed',
      `INSERT INTO orders (id, customer, amount) VALUES (7003, 'mixed-1', 1), (NULL, 'mixed-2', 2), (0, 'mixed-3', 3)`,
    ),
    customers: ['mixed-2', 'mixed-3'],
  },
  {
    ...text('duplicate', `INSERT INTO orders (customer, amount) VALUES ('duplicate-1', 5) ${update}`),
    before: existing('duplicate-1'),
  },
  {
    ...text(
      'duplicate-same',
      `INSERT INTO orders (customer, amount) VALUES ('duplicate-same-1', 1) ON DUPLICATE KEY UPDATE amount = 1`,
    ),
    before: existing('duplicate-same-1'),
  },
  text('duplicate-new', `INSERT INTO orders (customer, amount) VALUES ('duplicate-new-1', 5) ${update}`),
  {
    ...many('duplicate-prepared', 'prepared', `${absent} ${update}`, 2),
    before: existing('duplicate-prepared-1'),
  },
  {
    ...text('ignore', `INSERT IGNORE INTO orders (customer, amount) VALUES ('ignore-1', 5)`),
    before: existing('ignore-1'),
  },
  {
    ...text('replace', `REPLACE INTO orders (customer, amount) VALUES ('replace-1', 5)`),
    before: existing('replace-1'),
  },
  {
    ...text('clash', `INSERT INTO orders (customer, amount) VALUES ('clash-1', 5)`),
    before: existing('clash-1'),
  },
  text('after', single('after-1', 1)),
]

function single(customer: string, amount: number): string {
  return `INSERT INTO orders (customer, amount) VALUES ('${customer}', ${amount})`
}

function text(name: string, sql: string, rows = 1): Step {
  return { name, way: 'text', sql, rows: [], customers: numbered(name, rows) }
}

function bound(name: string, sql: string, values: readonly Value[]): Step {
  return { name, way: 'bound', sql, rows: [values], customers: numbered(name, 1) }
}

function many(name: string, way: Way, sql: string, count: number): Step {
  const customers = numbered(name, count)
  return { name, way, sql, rows: customers.map((customer, at) => [customer, at + 1]), customers }
}

function givenIds(name: string, way: Way): Step {
  const customers = numbered(name, 4)
  const ids = [null, 0, way === 'batch' ? 7101 : 7201, null]
  return { name, way, sql: given, rows: customers.map((customer, at) => [ids[at]!, customer, at]), customers }
}

function existing(customer: string): string {
  return `INSERT INTO orders (id, customer, amount) VALUES (${8000 + customer.length}, '${customer}', 1)`
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${name}-${at + 1}`)
}
