/**
 * Statements from their texts. What is about sequences and sessions is read here; a SELECT of anything else goes to the
 * evaluator; the rest of SQL is refused.
 */
import { systemClock } from '../base/clock.ts'
import { readCatalogueSelect } from './catalogue-select.ts'
import { readCursorStatement } from './cursor-statements.ts'
import { notSupported } from './errors.ts'
import { readPrepareStatement } from './prepare-statements.ts'
import { Reader } from './reader.ts'
import { resultOf } from './result.ts'
import { readAlter, readCreate, readDrop } from './sequence-definitions.ts'
import { readSequenceSelect } from './sequence-functions.ts'
import { stateOf } from './sequence-moves.ts'
import type { Statement } from './session.ts'
import { readSettingStatement } from './setting-statements.ts'
import { Lexer, type Token } from './sql/lexer.ts'
import { SqlError } from './sql/sql-error.ts'
import { compileWork, evaluatedCosts, plainCosts, sized } from './statement-size.ts'
import { readTransactionStatement } from './transaction-statements.ts'
import { types } from './values.ts'

/** The statements of a text, which semicolons separate. Throws 42601, 0A000, 54000. */
export function compile(text: string): readonly Statement[] {
  const compilation = new Compilation(text)
  const statements: Statement[] = []
  for (;;) {
    const statement = compilation.next()
    if (statement === undefined) return statements
    statements.push(statement)
  }
}

/** The most tokens of a statement. Queries of the evaluator have fewer. */
const wordsMax = 10_000

/**
 * Compiles the statements of a text one after the other. Nothing is kept of those that were compiled: a megabyte of text can
 * hold thousands of statements, of which each takes some kilobytes.
 */
export class Compilation {
  /** About how much memory the text takes, in bytes. */
  readonly heldBytes: number
  /** How long the newest call of `next` took, as a reply of so many bytes; also if it threw. */
  work = 0
  readonly #lexer: Lexer

  constructor(text: string) {
    this.#lexer = new Lexer(text)
    this.heldBytes = text.length * 2
  }

  /** The next statement; undefined: there is none. Throws 42601, 0A000, 54000. */
  next(): Statement | undefined {
    const { at, text } = this.#lexer
    const startUs = systemClock.monoUs()
    let heldBytes = 0
    try {
      const tokens = this.#tokens()
      const statement = tokens && readStatement(new Reader(tokens, text), tokens)
      heldBytes = statement?.heldBytes ?? 0
      return statement
    } finally {
      this.work = compileWork(systemClock.monoUs() - startUs, this.#lexer.at - at, heldBytes)
    }
  }

  /** The tokens of the next statement, with `end` after them; undefined: there is none. Statements without tokens do not count. */
  #tokens(): Token[] | undefined {
    const tokens: Token[] = []
    for (;;) {
      const token = this.#lexer.next()
      const isEnd = token.kind === 'end' || (token.kind === 'operator' && token.text === ';')
      if (!isEnd && tokens.length === wordsMax)
        throw new SqlError(
          '54000',
          `a statement has at most ${wordsMax} words and signs; send shorter statements`,
        )
      if (!isEnd) tokens.push(token)
      else if (tokens.length > 0) {
        tokens.push({ kind: 'end', text: '', raw: '', at: token.at, to: token.at })
        return tokens
      } else if (token.kind === 'end') return undefined
    }
  }
}

/** Statements of PostgreSQL that have no meaning here. */
const others = new Set(
  'alter analyze call checkpoint cluster comment copy create cursor delete do drop explain grant import insert listen load lock merge notify reassign refresh reindex revoke security truncate update vacuum'.split(
    ' ',
  ),
)

function readStatement(
  reader: Reader,
  tokens: readonly Token[],
  parameterTypes: readonly number[] = [],
): Statement {
  if (isQuery(reader.token)) {
    const known = readSequenceQuery(reader)
    if (known !== undefined) return sized(known, tokens, plainCosts)
    return sized(readCatalogueSelect(tokens, parameterTypes), tokens, evaluatedCosts)
  }
  const statement = readCommand(reader)
  reader.demandEnd()
  return sized(statement, tokens, plainCosts)
}

/** Whether a statement that gives rows begins here. */
function isQuery({ kind, text }: Token): boolean {
  return (
    (kind === 'name' && /^(?:select|with|values|table)$/.test(text)) || (kind === 'operator' && text === '(')
  )
}

/** The statements that programs send most, which need no evaluator; undefined: it is another one. */
function readSequenceQuery(reader: Reader): Statement | undefined {
  if (!reader.words('select')) return undefined
  const statement = readSequenceSelect(reader) ?? readState(reader)
  return statement !== undefined && reader.isDone ? statement : undefined
}

function readCommand(reader: Reader): Statement {
  const { token, mark } = reader
  if (token.kind !== 'name') throw reader.error()
  const first = reader.take().text
  const known =
    readTransactionStatement(first, reader) ??
    readSettingStatement(first, reader) ??
    readCursorStatement(first, reader, readRest) ??
    readPrepareStatement(first, reader, readRest)
  if (known !== undefined) return known
  if (first === 'create' && readKind(reader)) return readCreate(reader)
  if (first === 'alter' && reader.words('sequence')) return readAlter(reader)
  if (first === 'drop' && reader.words('sequence')) return readDrop(reader)
  if (others.has(first)) {
    const isOfKind = /^(?:create|alter|drop)$/.test(first) && reader.token.kind === 'name'
    throw unsupportedVerb(isOfKind ? `${first} ${reader.token.text}` : first)
  }
  reader.reset(mark)
  throw reader.error()
}

/** The query at the end of DECLARE and PREPARE. */
function readRest(outer: Reader, parameterTypes: readonly number[] = []): Statement {
  if (!isQuery(outer.token)) {
    if (others.has(outer.token.text)) throw unsupportedVerb(outer.token.text)
    throw outer.error()
  }
  const { reader, tokens } = outer.takeRest()
  return readStatement(reader, tokens, parameterTypes)
}

function unsupportedVerb(verb: string): Error {
  return notSupported(
    `${verb.toUpperCase()} is not supported: this server has sequences and no tables`,
    'Sequences are made with CREATE SEQUENCE.',
  )
}

/** Takes SEQUENCE behind CREATE. */
function readKind(reader: Reader): boolean {
  if (reader.words('sequence')) return true
  const { mark } = reader
  if (reader.oneOf('temp', 'temporary', 'unlogged') && reader.words('sequence'))
    throw notSupported(
      'only plain sequences are supported: their ids never repeat',
      'Leave TEMPORARY and UNLOGGED out.',
    )
  reader.reset(mark)
  return false
}

const stateTypes: Readonly<Record<string, number>> = {
  last_value: types.int8,
  log_cnt: types.int8,
  is_called: types.bool,
}

/** Reads `last_value, is_called FROM name`, behind SELECT; undefined: the statement has another form. */
function readState(reader: Reader): Statement | undefined {
  const { mark } = reader
  const names: string[] = []
  if (reader.symbol('*')) names.push(...Object.keys(stateTypes))
  else
    do {
      const name = reader.typed('name') ?? reader.typed('quoted') ?? ''
      if (!Object.hasOwn(stateTypes, name)) return void reader.reset(mark)
      names.push(name)
    } while (reader.symbol(','))
  const isThere = reader.words('from') && ['name', 'quoted'].includes(reader.token.kind)
  const generator = isThere ? reader.generator() : 'pg_'
  // Catalogues have columns of these names too.
  if (/^(?:pg_|information_schema\.)/.test(generator) || !reader.isDone) return void reader.reset(mark)
  const columnTypes = names.map((name) => stateTypes[name]!)
  return {
    parameters: [],
    columns: names.map((name, index) => ({ name, type: columnTypes[index]! })),
    async run(session) {
      const { last, isCalled } = await stateOf(session, generator)
      const values: Readonly<Record<string, string>> = {
        last_value: last,
        log_cnt: '0',
        is_called: isCalled ? 't' : 'f',
      }
      return resultOf(columnTypes, [names.map((name) => values[name]!)])
    },
  }
}
