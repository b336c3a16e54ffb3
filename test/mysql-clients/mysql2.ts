/** mysql2, with callbacks and with promises, by `query` and by `execute`. */
import {
  type Connection,
  createConnection,
  type QueryError,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2'
import type { Connection as PromiseConnection } from 'mysql2/promise'
import type { Report, Subject } from './report.ts'
import { type Step, steps, type Value } from './steps.ts'

type Method = 'query' | 'execute'

/** Runs one statement. */
type Run = (method: Method, sql: string, values?: unknown[]) => Promise<ResultSetHeader | RowDataPacket[]>

/** All four. */
export const mysql2Subjects: readonly Subject[] = (['callback', 'promise'] as const).flatMap((style) =>
  (['query', 'execute'] as const).map((method) => ({
    name: `mysql2, ${style}, ${method}`,
    run: (url: string) => reportsOf(url, style, method),
  })),
)

async function reportsOf(url: string, style: 'callback' | 'promise', method: Method): Promise<Report[]> {
  const connection = createConnection({ uri: url, multipleStatements: true, supportBigNumbers: true })
  const run = style === 'callback' ? byCallback(connection) : byPromise(connection.promise())
  const reports: Report[] = []
  try {
    for (const step of steps) reports.push(await perform(step, run, method))
  } finally {
    connection.destroy()
  }
  return reports
}

function byCallback(connection: Connection): Run {
  return (method, sql, values = []) =>
    new Promise((resolve, reject) => {
      const done = (error: QueryError | null, result: ResultSetHeader) =>
        error ? reject(error) : resolve(result)
      if (method === 'query') connection.query<ResultSetHeader>(sql, values, done)
      else connection.execute<ResultSetHeader>(sql, values as Value[], done)
    })
}

function byPromise(connection: PromiseConnection): Run {
  return async (method, sql, values = []) => {
    if (method === 'query') return (await connection.query<ResultSetHeader>(sql, values))[0]
    return (await connection.execute<ResultSetHeader>(sql, values as Value[]))[0]
  }
}

async function perform(step: Step, run: Run, method: Method): Promise<Report> {
  const report = {
    name: step.name,
    affected: [] as number[],
    ids: [] as string[],
    error: null as Report['error'],
  }
  const insert = async (how: Method, sql: string, values?: unknown[]) => {
    for (const { affectedRows, insertId } of [await run(how, sql, values)].flat() as ResultSetHeader[]) {
      report.affected.push(affectedRows)
      report.ids.push(String(insertId))
    }
  }
  try {
    if (step.before !== undefined) await run('query', step.before)
    // A list of lists is mysql2's form of many rows, and `query` alone has it.
    if (step.way === 'batch') await insert('query', step.sql.replace(/VALUES .*/, 'VALUES ?'), [step.rows])
    // Neither may several statements be prepared at once.
    else if (step.way === 'statements') await insert('query', step.sql)
    else if (step.way === 'text') await insert(method, step.sql)
    else {
      const inTransaction = step.way === 'rollback' || step.way === 'commit'
      if (inTransaction) await run('query', 'START TRANSACTION')
      for (const row of step.rows)
        await insert(step.way === 'prepared' ? 'execute' : method, step.sql, [...row] as Value[])
      if (inTransaction) await run('query', step.way)
    }
  } catch (error) {
    report.error = (error as QueryError).errno ?? String(error)
  }
  const [row] = (await run('query', 'SELECT LAST_INSERT_ID() AS id')) as RowDataPacket[]
  return { ...report, last: String(row?.id) }
}
