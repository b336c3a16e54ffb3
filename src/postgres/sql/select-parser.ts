/** Reads SELECT statements, VALUES and TABLE included (PostgreSQL's manual, SELECT). */
import { ExpressionParser } from './expression-parser.ts'
import { FromParser } from './from-parser.ts'
import { noBareLabels, reservedWords } from './keywords.ts'
import { type Token, tokenize } from './lexer.ts'
import { SqlError, unsupported } from './sql-error.ts'
import type { Expression, FromItem, Select, SelectBody, Target, WithQuery } from './syntax.ts'
import { TokenReader } from './token-reader.ts'

/** The most tokens of a query. Those of drivers and ORMs have some hundreds, and one of pgjdbc (getUDTs) 5,021. */
const wordsMax = 8000
/** How deep a tree may be. What walks it later recurses so deep. */
const depthMax = 600

/**
 * Reads one SELECT statement; a semicolon may end it. Throws SqlError: 42601, 0A000 for what is not supported, 54000 and
 * 54001 for what is too long or too deep.
 */
export function parseSelect(text: string): Select {
  return parseSelectTokens(tokenize(text))
}

/**
 * Reads one SELECT statement from its tokens, `end` included. Throws as `parseSelect` does. To read and compile a statement of
 * as many words as are admitted takes about 20 ms, in which no other client is served.
 */
export function parseSelectTokens(tokens: readonly Token[]): Select {
  // `end` is no word.
  if (tokens.length - 1 > wordsMax)
    throw new SqlError('54000', `a query has at most ${wordsMax} words and signs; send shorter queries`)
  const reader = new TokenReader(tokens)
  const select = new SelectParser(reader).read()
  while (reader.takeSign(';'));
  if (reader.token.kind !== 'end') throw reader.unexpected()
  checkDepth(select)
  return select
}

/** Long chains of operators nest to the left without recursion of the parser. Walks without recursion too. */
function checkDepth(select: Select): void {
  let level: object[] = [select]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depthMax)
      throw new SqlError('54001', 'the statement nests too deep; write shorter chains of operators')
    const below: object[] = []
    for (const node of level as Record<string, unknown>[])
      for (const key in node) {
        const value = node[key]
        if (typeof value === 'object' && value !== null) below.push(value)
      }
    level = below
  }
}

class SelectParser {
  readonly #reader: TokenReader
  readonly #expressions: ExpressionParser
  readonly #from: FromParser

  constructor(reader: TokenReader) {
    this.#reader = reader
    this.#expressions = new ExpressionParser(reader, this.read)
    this.#from = new FromParser(reader, this.#expressions, this.read)
  }

  /** A whole SELECT, with WITH, ORDER BY and LIMIT. */
  read = (): Select => {
    return this.#reader.nested(() => {
      const reader = this.#reader
      const { at } = reader.token
      const recursive = reader.isWord('with', 'recursive')
      const withQueries = reader.takeWord('with') ? this.#with() : []
      const body = this.#union()
      const orderBy = reader.takeWord('order', 'by') ? this.#expressions.sortKeys() : []
      const { limit, offset } = this.#limit()
      if (reader.isWord('for')) this.#locking()
      return { kind: 'select', recursive, with: withQueries, body, orderBy, limit, offset, at }
    })
  }

  #with(): WithQuery[] {
    const reader = this.#reader
    reader.takeWord('recursive')
    return reader.list(() => {
      const { at } = reader.token
      const name = reader.takeName()
      const columns = reader.isSign('(')
        ? reader.parenthesised(() => reader.list(() => reader.takeName()))
        : []
      reader.needWord('as')
      if (reader.takeWord('not')) reader.needWord('materialized')
      else reader.takeWord('materialized')
      return { name, columns, select: reader.parenthesised(this.read), at }
    })
  }

  #limit(): { limit: Expression | undefined; offset: Expression | undefined } {
    const reader = this.#reader
    let limit: Expression | undefined
    let offset: Expression | undefined
    for (;;) {
      if (reader.takeWord('limit')) limit = reader.takeWord('all') ? undefined : this.#expressions.read()
      else if (reader.takeWord('offset')) {
        offset = this.#expressions.read()
        if (!reader.takeWord('row')) reader.takeWord('rows')
      } else if (reader.takeWord('fetch')) limit = this.#fetch()
      else return { limit, offset }
    }
  }

  #fetch(): Expression {
    const reader = this.#reader
    const { at } = reader.token
    if (!reader.takeWord('first')) reader.needWord('next')
    const count: Expression = /^rows?$/.test(reader.token.text)
      ? { kind: 'number', text: '1', at }
      : this.#expressions.read()
    if (!reader.takeWord('row')) reader.needWord('rows')
    reader.needWord('only')
    return count
  }

  /** FOR UPDATE and its relatives lock nothing here. */
  #locking(): void {
    throw unsupported('SELECT … FOR UPDATE or SHARE', this.#reader.token.at)
  }

  #union(): SelectBody {
    let left = this.#intersect()
    for (;;) {
      const operation = this.#reader.isWord('union') ? 'union' : 'except'
      if (!this.#reader.takeWord(operation)) return left
      const all = this.#all()
      left = { kind: 'set', operation, all, left: plain(left), right: plain(this.#intersect()) }
    }
  }

  #intersect(): SelectBody {
    let left = this.#simple()
    while (this.#reader.takeWord('intersect')) {
      const all = this.#all()
      left = { kind: 'set', operation: 'intersect', all, left: plain(left), right: plain(this.#simple()) }
    }
    return left
  }

  #all(): boolean {
    const all = this.#reader.takeWord('all')
    if (!all) this.#reader.takeWord('distinct')
    return all
  }

  #simple(): SelectBody {
    const reader = this.#reader
    if (reader.isSign('(')) return this.#wrapped(reader.parenthesised(this.read))
    if (reader.takeWord('values')) {
      const row = () => reader.parenthesised(() => reader.list(() => this.#expressions.read()))
      return { kind: 'values', rows: reader.list(row) }
    }
    if (reader.takeWord('table')) {
      const { at } = reader.token
      const from: FromItem = { kind: 'table', names: this.#from.tableName(), alias: undefined, at }
      return { ...emptyBody, targets: [{ expression: star(at), label: undefined }], from: [from] }
    }
    reader.needWord('select')
    return this.#selectBody()
  }

  /** `(SELECT … ORDER BY …)` keeps its order as a subquery in FROM would. */
  #wrapped(select: Select): SelectBody {
    const isPlain = select.with.length === 0 && select.orderBy.length === 0 && !select.limit && !select.offset
    if (isPlain) return select.body
    const { at } = select
    const alias = { name: '*select*', columns: [], types: [] }
    const from: FromItem = { kind: 'query', select, alias, lateral: false, at }
    return { ...emptyBody, targets: [{ expression: star(at), label: undefined }], from: [from] }
  }

  #selectBody(): SelectBody {
    const reader = this.#reader
    const distinct = reader.takeWord('distinct')
    if (!distinct) reader.takeWord('all')
    const distinctOn =
      distinct && reader.takeWord('on')
        ? reader.parenthesised(() => reader.list(() => this.#expressions.read()))
        : []
    const { kind, text } = reader.token
    const isPlainEnd = kind === 'end' || (kind === 'operator' && /^[);]$/.test(text))
    const isEmpty =
      isPlainEnd || (kind === 'name' && /^(?:from|where|group|order|limit|union|having)$/.test(text))
    const targets = isEmpty ? [] : reader.list(() => this.#target())
    if (reader.isWord('into')) throw unsupported('SELECT INTO', reader.token.at)
    const from = reader.takeWord('from') ? reader.list(() => this.#from.item()) : []
    const where = reader.takeWord('where') ? this.#expressions.read() : undefined
    const groupBy = reader.takeWord('group', 'by') ? this.#groupBy() : []
    const having = reader.takeWord('having') ? this.#expressions.read() : undefined
    if (reader.isWord('window')) throw unsupported('WINDOW', reader.token.at)
    return { kind: 'simple', distinct, distinctOn, targets, from, where, groupBy, having }
  }

  #groupBy(): Expression[] {
    if (/^(?:rollup|cube|grouping)$/.test(this.#reader.token.text))
      throw unsupported('GROUP BY with grouping sets', this.#reader.token.at)
    return this.#reader.list(() => this.#expressions.read())
  }

  #target(): Target {
    const reader = this.#reader
    const { at } = reader.token
    if (reader.takeSign('*')) return { expression: star(at), label: undefined }
    const expression = this.#expressions.read()
    if (reader.takeWord('as')) return { expression, label: reader.takeLabel() }
    const { kind, text } = reader.token
    const isLabel = kind === 'quoted' || (kind === 'name' && !noBareLabels.has(text) && !isClause(text))
    return { expression, label: isLabel ? reader.take().text : undefined }
  }
}

const emptyBody = {
  kind: 'simple',
  distinct: false,
  distinctOn: [],
  targets: [],
  from: [],
  where: undefined,
  groupBy: [],
  having: undefined,
} as const

function star(at: number): Expression {
  return { kind: 'column', names: [], star: true, at }
}

function plain(body: SelectBody): Select {
  return {
    kind: 'select',
    recursive: false,
    with: [],
    body,
    orderBy: [],
    limit: undefined,
    offset: undefined,
    at: 0,
  }
}

/** Words that can follow a target and are free as labels only behind AS. */
function isClause(text: string): boolean {
  return (
    reservedWords.has(text) &&
    /^(?:from|where|group|having|order|limit|offset|fetch|union|intersect|except|for|window|into|as)$/.test(
      text,
    )
  )
}
