/** The command line client of MariaDB: statements as its input, several at once, and results as its output. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Report, Subject } from './report.ts'
import { type Step, steps } from './steps.ts'

/** `mariadb`, which reads statements from its input. */
export const cliSubject: Subject = { name: 'mariadb CLI', run: reportsOf }

async function reportsOf(url: string): Promise<Report[]> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const args = [
    '--no-defaults',
    '--batch',
    '--skip-column-names',
    '--force',
    '--unbuffered',
    `--host=${hostname}`,
  ]
  const child = spawn('mariadb', [...args, `--port=${port}`, `--user=${username}`, pathname.slice(1)], {
    env: { ...process.env, MYSQL_PWD: password },
    // Errors stand between the results, where they belong.
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(steps.map(script).join(''))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  const lines = output.split('\n').map((line) => line.split('\t'))
  return steps.map((step) => reportOf(step, lines, errors))
}

function script(step: Step): string {
  const asked = `SELECT '${step.name}', ROW_COUNT(), LAST_INSERT_ID();\n`
  if (!isText(step)) return ''
  const before = step.before === undefined ? '' : `${step.before};\n`
  if (step.way === 'rollback' || step.way === 'commit')
    return `START TRANSACTION;\n${step.rows.map((row) => `${filledIn(step.sql, row)};\n${asked}`).join('')}${step.way};\n`
  return `${before}${step.rows.length > 0 ? filledIn(step.sql, step.rows[0]!) : step.sql};\n${asked}`
}

/** PREPARE takes a text of a statement; the program sends many rows only as one statement, and one statement at a time. */
function isText(step: Step): boolean {
  return !['prepared', 'batch', 'statements'].includes(step.way)
}

function filledIn(sql: string, values: readonly unknown[]): string {
  let at = 0
  return sql.replace(/\?/g, () => {
    const value = values[at++]
    return value === null ? 'NULL' : typeof value === 'number' ? `${value}` : `'${value}'`
  })
}

function reportOf(step: Step, lines: readonly string[][], errors: string): Report {
  if (!isText(step)) return { name: step.name, affected: [], absent: true }
  const own = lines.filter(([name]) => name === step.name)
  const last = own.at(-1)?.[2] ?? ''
  const error = new RegExp(`^ERROR (\\d+) .*${step.name}-`, 'm').exec(errors)
  if (error) return { name: step.name, affected: [], error: Number(error[1]), last }
  return { name: step.name, affected: own.map(([, count]) => Number(count)), last }
}
