/**
 * Statements at random, read and edited by src/proxy/sql, on two real servers: one whose id columns have AUTO_INCREMENT
 * gets each statement as it is, the other one, whose id columns are plain, gets it edited.
 *
 *  1. What was edited gives the same answers and the same rows as the original, ids apart.
 *  2. No more statements were edited than the first server has executed as INSERT or REPLACE, by its own count.
 *  3. What was not edited inserted no row with a generated id on the first server.
 *  4. A statement that changes the session is known to do so.
 *  5. What is refused as wrong is wrong for the server too.
 *
 * `isApart` lists the few statements whose answers may differ.
 */
import { fillPrepared, fillText } from '../../../../src/proxy/sql/fill.ts'
import { FilledColumns } from '../../../../src/proxy/sql/filled-columns.ts'
import { type Insert, idsNeeded, needsId } from '../../../../src/proxy/sql/insert.ts'
import type { Reading } from '../../../../src/proxy/sql/reading.ts'
import { readStatements } from '../../../../src/proxy/sql/statements.ts'
import { password, superuser } from '../../../launch/database.ts'
import type { Lifetime } from '../../../launch/lifetime.ts'
import type { MariaDb } from '../../../launch/mariadb.ts'
import { Random } from './mutations.ts'
import { MysqlClient, type Parameter } from './mysql-client.ts'
import { changeOverlooked, compare, generatedIn, isAccepted, type Outcome, run } from './outcomes.ts'
import { filledTables, type SideName, startIds } from './stage.ts'
import { columns, makeTrial, type TableName, type Trial } from './trials.ts'

/** What the second server gets. */
type Edited = Pick<Trial, 'sql' | 'parameters'>

/** How much to try, and what to begin with. */
export type FuzzOptions = {
  readonly seed: number
  /** How many statements. */
  readonly statements: number
  /** Stops after so many failures. Default: 10. */
  readonly failuresMax?: number
  /** Ends it early. */
  readonly signal?: AbortSignal | undefined
}

/** What happened, and what was wrong. */
export type FuzzReport = {
  /** Statements by what became of them, and by what the first server said: `fill ok`, `refuse 1235 error` … */
  readonly counts: ReadonlyMap<string, number>
  readonly failures: readonly string[]
}

/**
 * Tries statements on a server with AUTO_INCREMENT and on one without, both with the tables of the corpus. Resolves to what
 * happened, whatever it was.
 */
export async function fuzzSql(
  lifetime: Lifetime,
  [direct, proxied]: readonly [direct: MariaDb, proxied: MariaDb],
  { seed, statements, failuresMax = 10, signal }: FuzzOptions,
): Promise<FuzzReport> {
  await startIds(direct)
  // The ids of tables that are not filled in differ between the servers as those of the others do.
  for (const [side, database] of Object.entries({ direct, proxied })) {
    const [made, dumped] = filledTables(side as SideName).slice(-2)
    await database.admin(`
      ALTER TABLE shop.plain MODIFY id BIGINT NOT NULL AUTO_INCREMENT, AUTO_INCREMENT = ${made!.firstId};
      ALTER TABLE other.orders MODIFY id BIGINT NOT NULL AUTO_INCREMENT, AUTO_INCREMENT = ${dumped!.firstId}`)
  }
  const fuzzer = new Fuzzer(lifetime, direct.port, proxied.port)
  const isOver = () => signal?.aborted === true || fuzzer.failures.length >= failuresMax
  for (let at = 0; at < statements && !isOver(); at++) {
    await fuzzer.try(makeTrial(new Random(seed + at * 7919)), `seed ${seed}, statement ${at}`)
  }
  return fuzzer
}

class Fuzzer implements FuzzReport {
  readonly counts = new Map<string, number>()
  readonly failures: string[] = []
  readonly #lifetime: Lifetime
  readonly #ports: readonly [direct: number, proxied: number]
  #clients: readonly [direct: MysqlClient, proxied: MysqlClient] | undefined
  readonly #columns: FilledColumns
  readonly #nextIds = new Map<string, number>()

  constructor(lifetime: Lifetime, directPort: number, proxiedPort: number) {
    this.#lifetime = lifetime
    this.#ports = [directPort, proxiedPort]
    const filled = filledTables('proxied').filter(({ table }) => table in columns)
    for (const { table, firstId } of filled) this.#nextIds.set(table, firstId)
    this.#columns = new FilledColumns(
      filled.map(({ table: name, column }) => {
        const [database = '', table = ''] = name.split('.')
        return { database, table, column, generator: name }
      }),
    )
  }

  async try(trial: Trial, place: string): Promise<void> {
    const reading = this.#read(trial)
    if (this.#isApart(trial)) return this.#count('apart')
    const edited = reading.kind === 'fill' ? this.#fill(trial, reading) : undefined
    const fail = (what: string) => this.failures.push(describe(trial, place, reading, edited, what))
    this.#clients ??= [await this.#connect(0), await this.#connect(1)]
    const [direct, proxied] = this.#clients
    try {
      const [left, right] = await Promise.all([
        run(direct, trial),
        edited ? run(proxied, { ...trial, ...edited }) : undefined,
      ])
      const code = reading.kind === 'refuse' ? ` ${reading.refusal.code}` : ''
      this.#count(`${reading.kind}${code} ${isAccepted(left) ? 'accepted' : 'rejected'}`)
      const wrong = changeOverlooked(trial, left) ?? whatIsWrong(reading, left, right)
      if (wrong !== undefined) fail(wrong)
    } catch (error) {
      fail(`${error}`)
      for (const client of [direct, proxied]) client.end()
      this.#clients = undefined
    }
  }

  #count(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
  }

  #connect(at: 0 | 1): Promise<MysqlClient> {
    return MysqlClient.connect(
      { port: this.#ports[at], user: superuser, password, database: 'shop' },
      this.#lifetime,
    )
  }

  #isApart(trial: Trial): boolean {
    const reading = this.#read(trial, true)
    return reading.kind === 'fill' && isApart(trial, reading.inserts)
  }

  #read({ sql, session, parameters }: Trial, keepsGiven = false): Reading {
    if (!this.#columns.mayMatter(sql)) return { kind: 'relay' }
    const factsOf = ({ database, table }: { database: string; table: string }) => ({
      columns: columns[`${database}.${table}` as TableName],
      isText: false,
    })
    return readStatements(sql, {
      session,
      columns: this.#columns,
      prepared: parameters !== undefined,
      factsOf,
      isShadowed: () => false,
      keepsGiven,
    })
  }

  #fill(
    { sql, parameters, session }: Trial,
    { inserts, parametersAt }: Extract<Reading, { kind: 'fill' }>,
  ): Edited {
    if (!parameters) {
      const drawn = inserts.map((insert) => ({
        ids: Array.from({ length: idsNeeded(insert) }, () => `${this.#nextId(insert)}`),
        isText: false,
      }))
      return { sql: fillText(sql, inserts, drawn), parameters }
    }
    const [insert] = inserts
    const prepared = fillPrepared(sql, insert!, parametersAt, false)
    const isMissing = (value: Parameter) =>
      value === null || (!session.noAutoValueOnZero && Number(value) === 0)
    const values = [...parameters]
    const ids = insert!.rows.map((row) => {
      const isAsked = row.state === 'parameter' ? isMissing(values[row.parameter]!) : needsId(row)
      const id = isAsked ? this.#nextId(insert!) : null
      if (isAsked && row.state === 'parameter') values[row.parameter] = id
      return id
    })
    return {
      sql: prepared.sql,
      parameters: prepared.parameters.map((of) => (of < 0 ? ids[-1 - of]! : values[of]!)),
    }
  }

  #nextId({ column: { database, table } }: Insert): number {
    const id = this.#nextIds.get(`${database}.${table}`)!
    this.#nextIds.set(`${database}.${table}`, id + 1)
    return id
  }
}

function whatIsWrong(reading: Reading, direct: Outcome, edited: Outcome | undefined): string | undefined {
  switch (reading.kind) {
    case 'fill':
      return editedTooMuch(reading.inserts, direct) ?? compare(direct, edited!, reading.inserts)
    case 'refuse': {
      const isWrong = reading.refusal.code !== 1235
      return isWrong && isAccepted(direct) ? 'refused as wrong, and accepted by the server' : undefined
    }
    default: {
      const rows = generatedIn(direct)
      return rows === undefined ? undefined : `not noticed: ${rows}`
    }
  }
}

/** More statements were edited than the server says that it has executed as INSERT or REPLACE; undefined if not. */
function editedTooMuch({ length }: readonly Insert[], direct: Outcome): string | undefined {
  if (!isAccepted(direct) || length <= direct.inserts) return undefined
  return `${length} statements were edited, and the server has executed ${direct.inserts} INSERTs`
}

/** Whether AUTO_INCREMENT itself does something that the proxy does not imitate. */
function isApart({ sql, session }: Trial, inserts: readonly Insert[]): boolean {
  const text = sql.toString('latin1')
  const [readsLastId, isReplace] = [/last_insert_id|identity/i.test(text), /replace/i.test(text)]
  const readsId = /(?:\bvalues?\b[\s\S]*|=\s*)(?:\w+`?\s*\.\s*)?`?id\b/i.test(text)
  return inserts.some(({ rows, isIgnore, onDuplicate }) => {
    // A value that reads the column of the id: it is 0 with AUTO_INCREMENT.
    if (readsId && onDuplicate === undefined) return true
    // LAST_INSERT_ID() after IGNORE is the id of the first row that was tried, and not that of the first one that is there.
    if (isIgnore && readsLastId) return true
    // DEFAULT(id) for another column: the plain column has no default.
    if (/default\s*\([^)]*id/i.test(text)) return true
    // With NO_AUTO_VALUE_ON_ZERO, the DEFAULT of the id is 0.
    if (session.noAutoValueOnZero && /\bdefault\b/i.test(text)) return true
    // A REPLACE of a given id that comes after a generated one, in one statement, fails as a duplicate.
    if (isReplace && rows.some(({ state }) => state === 'given' || state === 'parameter') && rows.length > 1)
      return true
    return rows.some(({ state, start, end }) => {
      const id = sql.toString('latin1', start, end)
      // A text that is no number is 0, with a warning, where the mode is not strict.
      return state === 'zero' && /['"]/.test(id) && !/^b?['"]\s*[-+]?[\d.]+\s*['"]$/.test(id)
    })
  })
}

function describe(
  trial: Trial,
  place: string,
  reading: Reading,
  edited: Edited | undefined,
  what: string,
): string {
  const { sql, facts } = trial
  const refusal = reading.kind === 'refuse' ? `: ${reading.refusal.code} ${reading.refusal.message}` : ''
  return [
    `${place}: ${JSON.stringify(facts)}`,
    `  sql:     ${JSON.stringify(sql.toString('latin1'))} ${JSON.stringify(trial.parameters ?? '')}`,
    `  reading: ${reading.kind}${refusal}`,
    ...(edited
      ? [
          `  edited:  ${JSON.stringify(edited.sql.toString('latin1'))} ${JSON.stringify(edited.parameters ?? '')}`,
        ]
      : []),
    `  ${what}`,
  ].join('\n')
}
