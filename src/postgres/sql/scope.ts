/** The names that expressions of a query may use, and what they stand for. */
import { counted } from './costs.ts'
import type { ColumnReference, Compiled, Context, Frame, Steps, Table } from './plan.ts'
import { positionOf, SqlError, unsupported } from './sql-error.ts'
import { oids } from './types.ts'
import { RowValue, type Value } from './values.ts'

/** A column of an element of FROM. */
export type ScopeColumn = {
  readonly name: string
  readonly type: number
  readonly modifier: number
  readonly fields?: Compiled['fields']
  readonly source?: Compiled['source']
}

/** An element of FROM with its columns. */
export type ScopeItem = {
  /** Its alias, or the name of its table. */
  readonly name: string
  /** The schema, of a table without alias. */
  readonly schema: string | undefined
  readonly columns: readonly ScopeColumn[]
  /** The table, if it is one. */
  readonly table?: Table
  /** Whether its rows are values of the one column: of a function that gives no rows. */
  readonly isScalar?: boolean
}

/** A key to sort by. */
export type SortBy = {
  readonly key: Compiled
  readonly descending: boolean
  readonly nullsFirst: boolean | undefined
}

/** A call of an aggregate of a query. */
export type AggregateCall = {
  /** The oid of its result's type. */
  readonly result: number
  /** Its result for the rows of a group. */
  compute(context: Context, frames: readonly Frame[]): Steps<Value>
}

/** A call whose results are computed beside the expression that it stands in. */
export type SlotCall =
  | { readonly kind: 'set'; readonly items: (frame: Frame) => Iterable<Value> }
  | {
      readonly kind: 'window'
      readonly name: string
      readonly partition: readonly Compiled[]
      readonly order: readonly SortBy[]
    }
  | { readonly kind: 'server'; readonly name: string; readonly args: readonly Compiled[] }

/** A list behind SELECT is at most so long, as in PostgreSQL: the number of columns has 16 bits in messages. */
export const targetsMax = 1664
/** More elements of FROM do not fit the bits of `Compiled.uses`. */
const itemsMax = 30

/** One query's names. */
export class Scope {
  readonly parent: Scope | undefined
  readonly items: ScopeItem[] = []
  /** Columns that JOIN … USING merged: hidden in the elements, and shown once. */
  readonly merged = new Map<string, Compiled>()
  readonly #hidden = new Set<string>()
  /** Which elements of FROM have been read since this was last 0, as bits. */
  uses = 0
  /** The calls of aggregates so far; undefined where there may be none. */
  aggregates: AggregateCall[] | undefined
  /** The calls of sets and of functions with effects so far; undefined where there may be none. */
  slots: SlotCall[] | undefined
  /** What may leave out the expression at hand, such as CASE; undefined: it is evaluated for each row. */
  condition: string | undefined
  /** How many of the calls are carried out by the server around, once all rows are known. */
  serverCalls = 0
  /** Whether a result of this query serves every evaluation of a statement. */
  isConstant = true

  constructor(parent?: Scope) {
    this.parent = parent
  }

  /** Adds an element of FROM; gives its number. Throws SqlError 42712 for a name that is taken. */
  add(item: ScopeItem, at: number): number {
    const taken = this.items.some(
      ({ name, schema }) => name === item.name && name !== '' && schema === item.schema,
    )
    if (taken)
      throw new SqlError('42712', `table name "${item.name}" specified more than once`, {
        position: positionOf(at),
      })
    if (this.items.length >= itemsMax) throw unsupported(`A query with more than ${itemsMax} tables`, at)
    return this.items.push(item) - 1
  }

  /** Compiles what `condition` may leave out. A call with effects would be carried out all the same. */
  within<T>(condition: string, compile: () => T): T {
    const before = this.condition
    this.condition = condition
    try {
      return compile()
    } finally {
      this.condition = before
    }
  }

  /** Merges a column of two elements, for JOIN … USING. */
  merge(name: string, left: ColumnReference | undefined, right: ColumnReference, value: Compiled): void {
    if (left) this.#hidden.add(`${left.item}.${left.column}`)
    this.#hidden.add(`${right.item}.${right.column}`)
    this.merged.set(name, value)
  }

  /** Marks that the result depends on more than the statement, up to the outermost query. */
  markVariable(): void {
    for (let scope: Scope | undefined = this; scope; scope = scope.parent) scope.isConstant = false
  }

  /** What a name stands for. Throws SqlError 42703, 42702, 42P01 in PostgreSQL's words. */
  resolve(names: readonly string[], at: number): Compiled {
    const inner: Scope[] = []
    for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
      const found = scope.#find(names, at)
      if (found) {
        // The queries between depend on a row of this one.
        for (const each of inner) each.isConstant = false
        scope.uses |= found.uses
        return inner.length === 0 ? found : outward(found, inner.length)
      }
      inner.push(scope)
    }
    throw this.#unknown(names, at)
  }

  /** The columns that `*` or `name.*` stand for. Throws SqlError 42P01. */
  expand(names: readonly string[], at: number): { readonly name: string; readonly value: Compiled }[] {
    if (names.length === 0) return this.#all()
    const item = this.#item(names)
    if (item === undefined) throw missingTable(names, at)
    return this.items[item]!.columns.map(({ name }, column) => ({ name, value: this.read(item, column) }))
  }

  /** A column as an expression. */
  read(item: number, column: number): Compiled {
    this.uses |= 1 << item
    const { type, modifier, fields, source } = this.items[item]!.columns[column]!
    const run = (frame: Frame) => columnOf(frame, item, column)
    const more = { ...(fields ? { fields } : {}), ...(source ? { source } : {}) }
    return { type, modifier, run, uses: 1 << item, column: { item, column }, ...more }
  }

  #all(): { readonly name: string; readonly value: Compiled }[] {
    const merged = [...this.merged].map(([name, value]) => ({ name, value }))
    const others = this.items.flatMap(({ columns }, item) =>
      columns.flatMap(({ name }, column) =>
        this.#hidden.has(`${item}.${column}`) ? [] : [{ name, value: this.read(item, column) }],
      ),
    )
    for (const { uses } of this.merged.values()) this.uses |= uses
    return [...merged, ...others]
  }

  #find(names: readonly string[], at: number): Compiled | undefined {
    const name = names.at(-1)!
    if (names.length === 1) return this.#byColumn(name, at) ?? this.#wholeRow(names)
    const item = this.#item(names.slice(0, -1))
    if (item === undefined) return names.length === 2 ? undefined : this.#wholeRow(names)
    const column = this.items[item]!.columns.findIndex((each) => each.name === name)
    return column < 0 ? this.#systemColumn(item, name) : this.read(item, column)
  }

  #byColumn(name: string, at: number): Compiled | undefined {
    const merged = this.merged.get(name)
    if (merged) return merged
    let found: ColumnReference | undefined
    for (const [item, { columns }] of this.items.entries()) {
      for (const [column, each] of columns.entries()) {
        if (each.name !== name || this.#hidden.has(`${item}.${column}`)) continue
        if (found)
          throw new SqlError('42702', `column reference "${name}" is ambiguous`, { position: positionOf(at) })
        found = { item, column }
      }
    }
    if (found) return this.read(found.item, found.column)
    return this.items.length === 1 ? this.#systemColumn(0, name) : undefined
  }

  #item(names: readonly string[]): number | undefined {
    const [name, schema] = [names.at(-1)!, names.at(-2)]
    const index = this.items.findIndex(
      (item) => item.name === name && (schema === undefined || item.schema === schema),
    )
    return index < 0 ? undefined : index
  }

  /** `t` for a table t: its row as one value. */
  #wholeRow(names: readonly string[]): Compiled | undefined {
    const item = this.#item(names)
    if (item === undefined) return undefined
    const { columns, table, isScalar } = this.items[item]!
    if (isScalar) return this.read(item, 0)
    this.uses |= 1 << item
    const [fieldNames, types] = [columns.map(({ name }) => name), columns.map(({ type }) => type)]
    const run = (frame: Frame) =>
      frame.rows[item]
        ? counted(
            frame.context,
            new RowValue(
              fieldNames,
              types,
              columns.map((_, column) => columnOf(frame, item, column)),
            ),
          )
        : null
    const type = table?.oid ? rowTypeOf(table) : oids.record
    return { type, modifier: -1, run, uses: 1 << item, fields: columns }
  }

  /** tableoid, xmin and their relatives, of tables. Nothing here has ever been changed. */
  #systemColumn(item: number, name: string): Compiled | undefined {
    const { table } = this.items[item]!
    const type = systemColumns[name]
    if (!table || type === undefined) return undefined
    const constant: Value =
      name === 'tableoid' ? table.oid : type === oids.tid ? '(0,1)' : name === 'xmin' ? 1 : 0
    this.uses |= 1 << item
    const run = (frame: Frame) => (frame.rows[item] ? constant : null)
    return { type, modifier: -1, run, uses: 1 << item }
  }

  #unknown(names: readonly string[], at: number): SqlError {
    const position = positionOf(at)
    if (names.length === 1) return new SqlError('42703', `column "${names[0]}" does not exist`, { position })
    for (let scope: Scope | undefined = this; scope; scope = scope.parent)
      if (scope.#item(names.slice(0, -1)) !== undefined)
        return new SqlError('42703', `column ${names.join('.')} does not exist`, { position })
    return missingTable(names.slice(0, -1), at)
  }
}

const systemColumns: Readonly<Record<string, number>> = {
  tableoid: oids.oid,
  xmin: oids.xid,
  xmax: oids.xid,
  cmin: oids.cid,
  cmax: oids.cid,
  ctid: oids.tid,
}

function missingTable(names: readonly string[], at: number): SqlError {
  return new SqlError('42P01', `missing FROM-clause entry for table "${names.at(-1)}"`, {
    position: positionOf(at),
  })
}

function rowTypeOf(table: Table): number {
  return table.rowType ?? oids.record
}

function columnOf(frame: Frame, item: number, column: number): Value {
  const row = frame.rows[item]
  if (!row) return null
  const value = row.values[column]
  if (value !== undefined) return value
  const computed = row.compute ? row.compute(column) : null
  row.values[column] = computed
  return computed
}

/** The same expression, evaluated `depth` queries further in. */
function outward(compiled: Compiled, depth: number): Compiled {
  const { type, modifier, run, fields } = compiled
  const evaluate = (frame: Frame) => {
    let outer: Frame = frame
    for (let level = 0; level < depth; level++) outer = outer.outer!
    return run(outer)
  }
  return { type, modifier, run: evaluate, uses: 0, ...(fields ? { fields } : {}) }
}
