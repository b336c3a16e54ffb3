/**
 * The corpus of statements, read from the files in corpus/. A file is a sequence of scripts:
 *
 *     === Title of a script, which runs on a connection of its own, on empty tables
 *     # a comment
 *     INSERT INTO orders (note) VALUES ('one line')
 *     <<<
 *     INSERT INTO orders (note) VALUES
 *       ('several lines')
 *     >>>
 *     INSERT INTO orders (note) VALUES (?)
 *     \params ["prepared, and executed with this"]
 *     \params [null]
 *     \guarded
 *     INSERT INTO orders (note) SELECT 'which the proxy does not fill, and the table refuses'
 *     \apart ignored
 *     INSERT IGNORE INTO orders (note, code) VALUES ('whose ids in the reply may differ', 'taken')
 *     \use shop
 *     \reset
 *
 * The names behind \apart are those of differences.ts.
 *
 * ‹5c27› stands for the bytes 0x5c 0x27, for character sets that are not UTF-8. In \params, {"hex": "ff"} stands for
 * bytes, {"int": "9223372036854775807"} for an integer that JSON cannot hold. \quiet before the first statement leaves
 * out the questions after each statement (SHOW WARNINGS, LAST_INSERT_ID()), which change what FOUND_ROWS() and others say.
 * \collation, before the first statement too, has the number of the collation that the login asks for.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DeviationName, deviations } from './differences.ts'
import type { Parameter } from './mysql-client.ts'

/** A statement, and what is known of it. */
export type Statement = {
  /** Where it stands: file and line. */
  readonly place: string
  readonly sql: Buffer
  /** COM_INIT_DB with this name, or COM_RESET_CONNECTION, in place of a statement. */
  readonly command: { readonly database: string } | 'reset' | undefined
  /** The values of each execution of a prepared statement. Undefined: it is sent as text. */
  readonly executions: readonly (readonly Parameter[])[] | undefined
  /** The guard of the table refuses its rows; it is not sent to the other side. */
  readonly isGuarded: boolean
  /** Why the insert id and LAST_INSERT_ID() differ. */
  readonly apart: DeviationName | undefined
}

/** Statements of one connection. */
export type Script = {
  readonly title: string
  readonly quiet: boolean
  /** Of the login; undefined: the client's usual one. */
  readonly collation: number | undefined
  readonly statements: readonly Statement[]
}

/** A file of the corpus. */
export type CorpusFile = { readonly name: string; readonly scripts: readonly Script[] }

const folder = join(import.meta.dirname, 'corpus')

/** The corpus, in the order of the names of its files. */
export function readCorpus(): CorpusFile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.txt'))
  return names.sort().map((name) => ({ name, scripts: readScripts(name) }))
}

/** The statements that create tables. @auto stands where a column has AUTO_INCREMENT on the direct side. */
export function readSchema(name: 'schema' | 'dumped'): string {
  return readFileSync(join(folder, `${name}.sql`), 'utf8')
}

function readScripts(name: string): Script[] {
  const parts = readFileSync(join(folder, name), 'utf8').split(/^=== /m)
  let line = parts.shift()!.split('\n').length
  return parts.map((part) => {
    const script = readScript(part, name, line)
    line += part.split('\n').length - 1
    return script
  })
}

function readScript(part: string, file: string, firstLine: number): Script {
  const [title = '', ...lines] = part.split('\n')
  const statements: Statement[] = []
  let quiet = false
  let collation: number | undefined
  let isGuarded = false
  let apart: DeviationName | undefined
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!
    const place = `${file}:${firstLine + at + 1}`
    if (line === '' || line.startsWith('# ')) continue
    const command = commandOf(line)
    if (line === '\\quiet') quiet = true
    else if (line.startsWith('\\collation ')) collation = Number(line.slice(11))
    else if (line === '\\guarded') isGuarded = true
    else if (line.startsWith('\\apart ')) apart = deviationOf(line.slice(7), place)
    else if (line.startsWith('\\params ')) {
      const last = statements.pop()
      if (last === undefined) throw new Error(`${place}: no statement stands before the values`)
      const executions = [...(last.executions ?? []), parametersOf(line.slice(8))]
      statements.push({ ...last, executions })
    } else if (line.startsWith('\\') && !command) throw new Error(`${place}: ${line} is no known word`)
    else {
      const end = line === '<<<' ? lines.indexOf('>>>', at) : at
      if (end < 0) throw new Error(`${place}: the block has no end`)
      const text = end === at ? line : lines.slice(at + 1, end).join('\n')
      statements.push({
        place,
        sql: bytesOf(text),
        command,
        executions: undefined,
        isGuarded,
        apart,
      })
      isGuarded = false
      apart = undefined
      at = end
    }
  }
  return { title, quiet, collation, statements }
}

function deviationOf(name: string, place: string): DeviationName {
  if (!Object.hasOwn(deviations, name)) throw new Error(`${place}: differences.ts has no '${name}'`)
  return name as DeviationName
}

function commandOf(line: string): Statement['command'] {
  if (line === '\\reset') return 'reset'
  return line.startsWith('\\use ') ? { database: line.slice(5) } : undefined
}

/** A statement of the corpus as bytes: `‹bf5c›` stands for two. */
export function bytesOf(text: string): Buffer {
  const pieces = text.split(/‹([0-9a-f]+)›/)
  return Buffer.concat(pieces.map((piece, at) => Buffer.from(piece, at % 2 === 0 ? 'utf8' : 'hex')))
}

function parametersOf(json: string): Parameter[] {
  const values: (null | number | string | { hex: string } | { int: string })[] = JSON.parse(json)
  return values.map((value) => {
    if (value === null || typeof value !== 'object') return value
    return 'hex' in value ? Buffer.from(value.hex, 'hex') : BigInt(value.int)
  })
}
