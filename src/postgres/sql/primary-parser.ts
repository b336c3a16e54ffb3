/** Reads expressions without operators: constants, names, calls, CASE, subqueries (the grammar's `c_expr`). */
import { functionWords, reservedWords } from './keywords.ts'
import type { Token } from './lexer.ts'
import { positionOf, SqlError, unsupported } from './sql-error.ts'
import type { Call, Expression, Select, SortKey, TypeName } from './syntax.ts'
import type { TokenReader } from './token-reader.ts'
import { isTypeWord, readTypeName } from './type-name-parser.ts'

/** Functions that are written without parentheses. */
const bareFunctions: ReadonlySet<string> = new Set(
  'current_catalog current_date current_role current_schema current_time current_timestamp current_user localtime localtimestamp session_user user'.split(
    ' ',
  ),
)

/** IN binds so: what stands before it is read above this. */
const listBinding = 6

/** The part of the parser that knows expressions without operators; subqueries are read by `readSelect`. */
export abstract class PrimaryParser {
  protected readonly reader: TokenReader
  protected readonly readSelect: () => Select

  constructor(reader: TokenReader, readSelect: () => Select) {
    this.reader = reader
    this.readSelect = readSelect
  }

  /** Reads an expression whose operators bind tighter than `above`. */
  abstract read(above?: number): Expression

  /** ORDER BY's list. */
  sortKeys(): SortKey[] {
    return this.reader.list(() => {
      const expression = this.read()
      if (this.reader.isWord('using')) throw unsupported('ORDER BY … USING', this.reader.token.at)
      const descending = this.reader.takeWord('desc')
      if (!descending) this.reader.takeWord('asc')
      let nullsFirst: boolean | undefined
      if (this.reader.takeWord('nulls')) {
        nullsFirst = this.reader.takeWord('first')
        if (!nullsFirst) this.reader.needWord('last')
      }
      return { expression, descending, nullsFirst }
    })
  }

  /** Reads an expression without operators around it. */
  protected primary(): Expression {
    const reader = this.reader
    const { kind, text, at } = reader.token
    if (kind === 'string') return { kind: 'string', value: reader.take().text, at }
    if (kind === 'number') return { kind: 'number', text: reader.take().text, at }
    if (kind === 'parameter') return { kind: 'parameter', index: this.#parameterIndex(reader.take()), at }
    if (kind === 'bits') throw unsupported('A bit string', at)
    if (kind === 'operator') return text === '(' ? this.#inParentheses() : this.#fail()
    if (kind === 'quoted') return this.#named()
    if (kind === 'name') return this.#word(text, at)
    return this.#fail()
  }

  #word(text: string, at: number): Expression {
    const reader = this.reader
    const isCall = reader.ahead(1).kind === 'operator' && reader.ahead(1).text === '('
    if (text === 'null' || text === 'true' || text === 'false') {
      reader.take()
      return text === 'null' ? { kind: 'null', at } : { kind: 'boolean', value: text === 'true', at }
    }
    if (text === 'case') return this.#case()
    if (text === 'cast') return this.#cast()
    if (text === 'array') return this.#array()
    if (text === 'row' && isCall) return this.#row()
    if (text === 'exists' && isCall) {
      reader.take()
      return { kind: 'query', use: 'exists', select: reader.parenthesised(this.readSelect), at }
    }
    if (bareFunctions.has(text) && !isCall) {
      reader.take()
      return callOf([text], [], at)
    }
    if (isTypeWord(reader) || (reader.ahead(1).kind === 'string' && !reservedWords.has(text)))
      return this.#typed(at)
    if (reservedWords.has(text) && !isCall) return this.#fail()
    return this.#named()
  }

  /** `type 'text'`. */
  #typed(at: number): Expression {
    const type = readTypeName(this.reader)
    const { kind, text, at: textAt } = this.reader.token
    if (kind !== 'string') return this.#fail()
    this.reader.take()
    return { kind: 'cast', operand: { kind: 'string', value: text, at: textAt }, type, at }
  }

  #case(): Expression {
    const reader = this.reader
    const { at } = reader.take()
    const operand = reader.isWord('when') ? undefined : this.read()
    const branches: { when: Expression; result: Expression }[] = []
    while (reader.takeWord('when')) {
      const when = this.read()
      reader.needWord('then')
      branches.push({ when, result: this.read() })
    }
    if (branches.length === 0) return this.#fail()
    const otherwise = reader.takeWord('else') ? this.read() : undefined
    reader.needWord('end')
    return { kind: 'case', operand, branches, otherwise, at }
  }

  #cast(): Expression {
    const { at } = this.reader.take()
    return this.reader.parenthesised(() => {
      const operand = this.read()
      this.reader.needWord('as')
      return { kind: 'cast', operand, type: readTypeName(this.reader), at }
    })
  }

  #array(): Expression {
    const reader = this.reader
    const { at } = reader.take()
    if (reader.isSign('('))
      return { kind: 'query', use: 'array', select: reader.parenthesised(this.readSelect), at }
    return this.#arrayItems(at)
  }

  #arrayItems(at: number): Expression {
    const reader = this.reader
    reader.needSign('[')
    const items = reader.isSign(']')
      ? []
      : reader.list(() =>
          reader.isSign('[') ? reader.nested(() => this.#arrayItems(reader.token.at)) : this.read(),
        )
    reader.needSign(']')
    return { kind: 'array', items, at }
  }

  #row(): Expression {
    const reader = this.reader
    const { at } = reader.take()
    reader.needSign('(')
    const items = reader.isSign(')') ? [] : reader.list(() => this.read())
    reader.needSign(')')
    return { kind: 'row', items, at }
  }

  #inParentheses(): Expression {
    const reader = this.reader
    const { at } = reader.token
    if (this.startsSelect(1))
      return { kind: 'query', use: 'scalar', select: reader.parenthesised(this.readSelect), at }
    reader.take()
    const items = reader.list(() => this.read())
    reader.needSign(')')
    return items.length === 1 ? this.#closed(items[0]!) : { kind: 'row', items, at }
  }

  /** `(x).y` selects from the value of x; `x.y` is a name. A row of one column keeps the two apart. */
  #closed(item: Expression): Expression {
    return item.kind === 'column' && this.reader.isSign('.')
      ? { kind: 'row', items: [item], at: item.at }
      : item
  }

  #named(): Expression {
    const reader = this.reader
    const { at } = reader.token
    const names = this.qualifiedName()
    if (reader.isSign('.') && reader.ahead(1).text === '*') {
      reader.take()
      reader.take()
      return { kind: 'column', names, star: true, at }
    }
    if (reader.isSign('(')) return this.#arguments(names, at)
    if (reader.token.kind === 'string' && names.length > 1) return this.#typedByName(names, at)
    const [first = ''] = names
    if (names.length === 1 && reader.ahead(-1).kind === 'name' && functionWords.has(first))
      return this.#fail()
    return { kind: 'column', names, star: false, at }
  }

  #typedByName(names: readonly string[], at: number): Expression {
    const { text, at: textAt } = this.reader.take()
    const type: TypeName = { names, modifiers: [], isArray: false, at }
    return { kind: 'cast', operand: { kind: 'string', value: text, at: textAt }, type, at }
  }

  #arguments(names: readonly string[], at: number): Expression {
    const reader = this.reader
    const worded = this.#worded(names, at)
    if (worded) return worded
    reader.needSign('(')
    const star = reader.takeSign('*')
    const distinct = reader.takeWord('distinct')
    if (!distinct) reader.takeWord('all')
    let variadic = false
    const readArgument = () => {
      variadic = reader.takeWord('variadic') || variadic
      return this.read()
    }
    const args = star || reader.isSign(')') ? [] : reader.list(readArgument)
    const orderBy = reader.takeWord('order', 'by') ? this.sortKeys() : []
    reader.needSign(')')
    if (reader.isWord('within')) throw unsupported('WITHIN GROUP', at)
    const filter = reader.takeWord('filter')
      ? reader.parenthesised(() => {
          reader.needWord('where')
          return this.read()
        })
      : undefined
    const over = reader.takeWord('over') ? this.#window() : undefined
    return { kind: 'call', names, args, star, distinct, variadic, orderBy, filter, over, at }
  }

  /** Calls whose arguments words separate: `substring(x FROM y FOR z)`, `trim(BOTH y FROM x)`, `position(x IN y)`. */
  #worded(names: readonly string[], at: number): Expression | undefined {
    const name = names.length === 1 ? names[0] : undefined
    if (name === 'trim') return this.reader.parenthesised(() => this.#trim(at))
    if (name === 'position') return this.reader.parenthesised(() => this.#position(at))
    if (name === 'extract' || name === 'overlay') throw unsupported(name, at)
    return name === 'substring' ? this.reader.parenthesised(() => this.#substring(at)) : undefined
  }

  #substring(at: number): Expression {
    const args = [this.read()]
    while (this.reader.takeSign(',') || this.reader.takeWord('from') || this.reader.takeWord('for'))
      args.push(this.read())
    return callOf(['substring'], args, at)
  }

  #trim(at: number): Expression {
    const { reader } = this
    const end = reader.takeWord('leading') ? 'ltrim' : reader.takeWord('trailing') ? 'rtrim' : 'btrim'
    reader.takeWord('both')
    const first = reader.takeWord('from') ? undefined : this.read()
    if (!first) return callOf([end], [this.read()], at)
    const text = reader.takeWord('from') || reader.takeSign(',') ? this.read() : undefined
    return callOf([end], text ? [text, first] : [first], at)
  }

  #position(at: number): Expression {
    // IN separates the two here.
    const part = this.read(listBinding)
    this.reader.needWord('in')
    return callOf(['position'], [this.read(), part], at)
  }

  /** What follows OVER. */
  #window(): Call['over'] {
    const { reader } = this
    const { at } = reader.token
    if (!reader.isSign('(')) throw unsupported('A named window', at)
    return reader.parenthesised(() => {
      const partition = reader.takeWord('partition', 'by') ? reader.list(() => this.read()) : []
      const orderBy = reader.takeWord('order', 'by') ? this.sortKeys() : []
      if (!reader.isSign(')')) throw unsupported('A frame of a window', reader.token.at)
      return { partition, orderBy }
    })
  }

  protected qualifiedName(): string[] {
    const reader = this.reader
    const names = [reader.takeLabel()]
    while (reader.isSign('.') && reader.ahead(1).text !== '*') {
      reader.take()
      names.push(reader.takeLabel())
    }
    return names
  }

  protected startsSelect(from = 0): boolean {
    let distance = from
    while (this.reader.ahead(distance).kind === 'operator' && this.reader.ahead(distance).text === '(')
      distance++
    const { kind, text } = this.reader.ahead(distance)
    return kind === 'name' && /^(?:select|with|values)$/.test(text)
  }

  #parameterIndex({ text, at }: Token): number {
    const index = Number(text)
    if (index >= 1 && index <= 65_535) return index
    throw new SqlError('42P02', `there is no parameter $${text}`, { position: positionOf(at) })
  }

  #fail(): never {
    throw this.reader.unexpected()
  }
}

function callOf(names: readonly string[], args: readonly Expression[], at: number): Call {
  return {
    kind: 'call',
    names,
    args,
    star: false,
    distinct: false,
    variadic: false,
    orderBy: [],
    filter: undefined,
    over: undefined,
    at,
  }
}
