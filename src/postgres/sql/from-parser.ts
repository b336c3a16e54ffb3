/** Reads what stands behind FROM. */
import type { ExpressionParser } from './expression-parser.ts'
import { functionWords, reservedWords } from './keywords.ts'
import { unsupported } from './sql-error.ts'
import type { Alias, Call, FromItem, Select } from './syntax.ts'
import type { TokenReader } from './token-reader.ts'
import { readTypeName } from './type-name-parser.ts'

/** The part of the parser that knows FROM; subqueries are read by `readSelect`. */
export class FromParser {
  readonly #reader: TokenReader
  readonly #expressions: ExpressionParser
  readonly #readSelect: () => Select

  constructor(reader: TokenReader, expressions: ExpressionParser, readSelect: () => Select) {
    this.#reader = reader
    this.#expressions = expressions
    this.#readSelect = readSelect
  }

  /** Reads an element, with its joins. */
  item(): FromItem {
    return this.#reader.nested(() => {
      let left = this.#fromPrimary()
      for (;;) {
        const joined = this.#join(left)
        if (!joined) return left
        left = joined
      }
    })
  }

  #join(left: FromItem): FromItem | undefined {
    const reader = this.#reader
    const { at } = reader.token
    const base = { kind: 'join', left, on: undefined, using: undefined, natural: false, at } as const
    if (reader.takeWord('cross', 'join')) return { ...base, type: 'cross', right: this.#fromPrimary() }
    const natural = reader.takeWord('natural')
    const type = this.#joinType()
    if (!type) {
      if (natural) throw reader.unexpected()
      return undefined
    }
    // `a JOIN b JOIN c ON … ON …` joins b and c first.
    let right = this.#fromPrimary()
    if (natural) return { ...base, type, right, natural }
    while (!reader.isWord('on') && !reader.isWord('using')) {
      const inner = this.#join(right)
      if (!inner) throw reader.unexpected()
      right = inner
    }
    if (reader.takeWord('on')) return { ...base, type, right, on: this.#expressions.read() }
    reader.needWord('using')
    return { ...base, type, right, using: reader.parenthesised(() => reader.list(() => reader.takeName())) }
  }

  #joinType(): 'inner' | 'left' | 'right' | 'full' | undefined {
    const reader = this.#reader
    if (reader.takeWord('join') || reader.takeWord('inner', 'join')) return 'inner'
    for (const type of ['left', 'right', 'full'] as const)
      if (reader.takeWord(type, 'join') || reader.takeWord(type, 'outer', 'join')) return type
    return undefined
  }

  #fromPrimary(): FromItem {
    const reader = this.#reader
    const lateral = reader.takeWord('lateral')
    const { at } = reader.token
    if (reader.isSign('(')) {
      if (!this.#opensQuery()) return this.#parenthesisedJoin()
      return {
        kind: 'query',
        select: reader.parenthesised(this.#readSelect),
        alias: this.#alias(),
        lateral,
        at,
      }
    }
    if (reader.isWord('rows', 'from')) throw unsupported('ROWS FROM', at)
    reader.takeWord('only')
    if (this.#opensCall()) return this.#function(at)
    const names = this.tableName()
    reader.takeSign('*')
    const alias = this.#alias()
    if (reader.isWord('tablesample')) throw unsupported('TABLESAMPLE', at)
    return { kind: 'table', names, alias, at }
  }

  #parenthesisedJoin(): FromItem {
    const item = this.#reader.parenthesised(() => this.item())
    if (this.#alias()) throw unsupported('An alias of a join in parentheses', item.at)
    return item
  }

  #function(at: number): FromItem {
    const reader = this.#reader
    const call: Call = this.#expressions.call()
    const ordinality = reader.takeWord('with', 'ordinality')
    return { kind: 'function', calls: [call], ordinality, alias: this.#alias(), at }
  }

  /** Reads the qualified name of a table. */
  tableName(): string[] {
    const reader = this.#reader
    const names = [reader.takeName((word) => !reservedWords.has(word) && !functionWords.has(word))]
    while (reader.takeSign('.')) names.push(reader.takeLabel())
    return names
  }

  #alias(): Alias | undefined {
    const reader = this.#reader
    const { kind, text } = reader.token
    const isAs = reader.takeWord('as')
    if (isAs && reader.isSign('(')) return { name: '', ...this.#columnAliases() }
    const isName =
      kind === 'quoted' || (kind === 'name' && !reservedWords.has(text) && !functionWords.has(text))
    if (!isAs && !isName) return undefined
    const name = isAs ? reader.takeName() : reader.take().text
    return { name, ...(reader.isSign('(') ? this.#columnAliases() : { columns: [], types: [] }) }
  }

  #columnAliases(): Omit<Alias, 'name'> {
    const reader = this.#reader
    const columns: string[] = []
    const types: Alias['types'][number][] = []
    reader.parenthesised(() =>
      reader.list(() => {
        columns.push(reader.takeName())
        if (!reader.isSign(',') && !reader.isSign(')')) types.push(readTypeName(reader))
      }),
    )
    return { columns, types }
  }

  #opensQuery(): boolean {
    let distance = 0
    while (this.#reader.ahead(distance).kind === 'operator' && this.#reader.ahead(distance).text === '(')
      distance++
    const { kind, text } = this.#reader.ahead(distance)
    return kind === 'name' && /^(?:select|with|values)$/.test(text)
  }

  #opensCall(): boolean {
    let distance = 1
    while (this.#reader.ahead(distance).text === '.') distance += 2
    const { kind, text } = this.#reader.ahead(distance)
    return kind === 'operator' && text === '('
  }
}
