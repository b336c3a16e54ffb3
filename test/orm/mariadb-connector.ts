/** MariaDB's own connector for Node, which sends commands before earlier ones are answered, and batches in bulk. */
import type { Connection, UpsertResult } from 'mariadb'
import type { Report, Subject } from '../mysql-clients/report.ts'
import { type Step, steps } from '../mysql-clients/steps.ts'
import { installPackages } from './packages.ts'

await installPackages()
const { createConnection } = await import('mariadb')

const textsAlone: Subject = {
  name: 'MariaDB Connector/Node.js, query, bulk=false',
  run: (url) => reportsOf(url, 'query', false),
}
const preparedAlone: Subject = {
  name: 'MariaDB Connector/Node.js, execute, bulk=false',
  run: (url) => reportsOf(url, 'execute', false),
}

/** With statements as text, and with prepared ones. Through the proxy it finds no bulk commands, and does without. */
export const connectorSubjects: readonly Subject[] = [
  textsAlone,
  preparedAlone,
  {
    name: 'MariaDB Connector/Node.js, query',
    run: (url) => reportsOf(url, 'query', true),
    without: textsAlone,
  },
  {
    name: 'MariaDB Connector/Node.js, execute',
    run: (url) => reportsOf(url, 'execute', true),
    without: preparedAlone,
  },
]

type Method = 'query' | 'execute'

async function reportsOf(url: string, method: Method, bulk: boolean): Promise<Report[]> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const address = {
    host: hostname,
    port: Number(port),
    user: username,
    password,
    database: pathname.slice(1),
  }
  const connection = await createConnection({
    ...address,
    bulk,
    multipleStatements: true,
    insertIdAsNumber: true,
  })
  const reports: Report[] = []
  try {
    for (const step of steps) reports.push(await perform(step, connection, method))
  } finally {
    connection.destroy()
  }
  return reports
}

async function perform(step: Step, connection: Connection, method: Method): Promise<Report> {
  const report = {
    name: step.name,
    affected: [] as number[],
    ids: [] as string[],
    error: null as Report['error'],
  }
  const note = ({ affectedRows, insertId }: UpsertResult) => {
    report.affected.push(affectedRows)
    report.ids.push(`${insertId}`)
  }
  try {
    if (step.before !== undefined) await connection.query(step.before)
    if (step.way === 'batch') [await connection.batch(step.sql, step.rows)].flat().forEach(note)
    else if (step.way === 'statements') [await connection.query(step.sql)].flat().forEach(note)
    else if (step.way === 'text') note(await connection[method](step.sql))
    else if (step.way === 'bound') note(await connection[method](step.sql, step.rows[0]))
    else if (step.way === 'prepared') await prepared(step, connection, note)
    else {
      // None waits for the one before.
      const results = [
        connection.beginTransaction(),
        ...step.rows.map((row) => connection[method](step.sql, row)),
        connection[step.way](),
      ]
      for (const result of (await Promise.all(results)).slice(1, -1)) note(result)
    }
  } catch (error) {
    report.error = (error as { errno?: number }).errno ?? String(error)
  }
  const [row] = await connection.query('SELECT LAST_INSERT_ID() AS id')
  return { ...report, last: `${row.id}` }
}

async function prepared(
  step: Step,
  connection: Connection,
  note: (result: UpsertResult) => void,
): Promise<void> {
  const statement = await connection.prepare(step.sql)
  for (const row of step.rows) note(await statement.execute(row))
  statement.close()
}
