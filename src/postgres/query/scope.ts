/** The names that the expressions of one query may use. */

import type { Node, SelectStmt } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import type { Column, Expression, Frame, Query, Run } from './analysed.ts'
import type { ParameterTypes } from './coercion.ts'
import { refused } from './tree.ts'
import { known, type Value } from './values.ts'

/** An element of FROM. */
export type Item = {
  readonly name: string
  readonly schema?: string
  readonly columns: readonly Column[]
  /** Whether it is a function with a single column, so that the name of the element stands for that column. */
  readonly isScalar?: boolean
}

/** A column of an element of FROM, by their numbers. */
export type ColumnPlace = { readonly item: number; readonly column: number }

/** A query of WITH. */
export type Binding = {
  readonly name: string
  readonly columns: readonly Column[]
  /** Undefined while the recursive query of this name is analysed. */
  readonly query: Query | undefined
  /** The scope around the query that has the WITH. */
  readonly around: Scope | undefined
}

/** A call that gives a set, one for each frame. */
export type SetCall = { readonly slot: number; readonly run: (frame: Frame) => readonly Value[] }
/** An aggregate, over the frames of a group. */
export type AggregateCall = {
  readonly slot: number
  readonly run: (frames: readonly Frame[], run: Run) => Value
}
/** row_number(). */
export type WindowCall = {
  readonly slot: number
  readonly partition: readonly Expression[]
  readonly compare: (left: Frame, right: Frame) => number
}

/** What may stand in a clause beside plain expressions; undefined: nothing of its kind. */
export type Clause = {
  readonly aggregates?: AggregateCall[]
  readonly sets?: SetCall[] | undefined
  readonly windows?: WindowCall[] | undefined
  /** The slots and types of the groups' keys, by column or text; undefined: rows are not grouped, or not yet. */
  readonly groups?: ReadonlyMap<string, Expression>
}

/** What a query is analysed in. */
export type QueryContext = {
  readonly parameters: ParameterTypes
  /** Analyses an expression. */
  readonly analyse: (node: Node | undefined, scope: Scope) => Expression
  /** Analyses a query inside of it. */
  readonly query: (select: SelectStmt, around: QueryContext) => Query
  /** The scope whose names it may use beside its own. */
  readonly parent: Scope | undefined
  readonly bindings: readonly Binding[]
  /** The recursive query whose second query this is, and not one inside of that. */
  readonly working?: Binding | undefined
}

const itemsMax = 30
const systemColumns: ReadonlySet<string> = new Set(['tableoid', 'ctid', 'xmin', 'xmax', 'cmin', 'cmax'])

/** The names of one query. */
export class Scope {
  readonly around: QueryContext
  readonly items: Item[] = []
  /** Columns that a name without a table does not mean: by USING, those beside it have the same values. */
  readonly hidden = new Set<string>()
  /** Whether it, or a query inside of it, reads columns of its own FROM. */
  readsOwn = false
  /** Whether it reads columns of a query around it. */
  readsOuter = false
  /** How many slots its frames have. */
  slots = 0
  /** The clause that is analysed. */
  clause: Clause = {}

  constructor(around: QueryContext) {
    this.around = around
  }

  /** Adds an element of FROM. Throws 42712 for a name that is there already. */
  add(item: Item): number {
    const isTwice = this.items.some(
      ({ name, schema }) =>
        name === item.name && name !== '' && (schema === item.schema || !schema || !item.schema),
    )
    if (isTwice) throw new SqlError('42712', `table name "${item.name}" specified more than once`)
    if (this.items.length === itemsMax) throw refused(`A FROM of more than ${itemsMax} tables`)
    this.items.push(item)
    return this.items.length - 1
  }

  /** Analyses an expression of it. Throws 0A000 for what is not known here. */
  analyse(node: Node | undefined): Expression {
    return this.around.analyse(node, this)
  }

  /** Runs `make` with `clause` as the clause that is analysed. */
  within<T>(clause: Clause, make: () => T): T {
    const before = this.clause
    this.clause = clause
    const made = make()
    this.clause = before
    return made
  }

  /** A slot of its frames, as an expression. */
  slot(type: number, modifier = -1): Expression & { readonly slot: number } {
    const slot = this.slots++
    return { type, modifier, slot, run: (frame) => frame.slots[slot] ?? null, uses: 0, isOpen: true }
  }

  /** The column of a name, which may be qualified. Throws 42703, 42P01, 42702, 0A000. */
  column(names: readonly string[]): Expression {
    if (names.length > 3) throw refused(`The name ${names.join('.')}`)
    const between: Scope[] = []
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.around.parent) {
      const found = names.length === 1 ? scope.#plain(names[0]!) : scope.#qualified(names)
      if (found !== undefined) {
        scope.readsOwn = true
        for (const each of between) each.readsOuter = true
        return scope.#grouped(found, names, between.length)
      }
      between.push(scope)
    }
    const shown = names.join('.')
    if (systemColumns.has(shown)) throw refused(`The system column ${shown}`)
    if (names.length === 1) throw new SqlError('42703', `column "${shown}" does not exist`)
    throw new SqlError('42P01', `missing FROM-clause entry for table "${names.at(-2)}"`)
  }

  /** Columns of this name among the elements of FROM; a function's own name stands for its column. */
  #plain(name: string): Expression | undefined {
    const [found, ...others] = this.named(name)
    if (others.length > 0) throw new SqlError('42702', `column reference "${name}" is ambiguous`)
    if (found !== undefined) return this.read(found.item, found.column)
    const item = this.items.findIndex((each) => each.name === name)
    if (item < 0) return undefined
    if (this.items[item]!.isScalar) return this.read(item, 0)
    throw refused(`The row ${name} as a value`)
  }

  #qualified(names: readonly string[]): Expression | undefined {
    const [column, table, schema] = [names.at(-1)!, names.at(-2)!, names.at(-3)]
    const item = this.items.findIndex(
      (each) => each.name === table && (schema === undefined || schema === each.schema),
    )
    if (item < 0) return undefined
    const index = this.items[item]!.columns.findIndex(({ name }) => name === column)
    if (index >= 0) return this.read(item, index)
    if (systemColumns.has(column)) throw refused(`The system column ${column}`)
    throw new SqlError('42703', `column ${table}.${column} does not exist`)
  }

  /** The columns that a name without a table may mean. */
  named(name: string): ColumnPlace[] {
    return this.items.flatMap(({ columns }, item) =>
      columns.flatMap((each, column) =>
        each.name === name && !this.hidden.has(columnKey({ item, column })) ? [{ item, column }] : [],
      ),
    )
  }

  /** A column of an element of FROM. */
  read(item: number, column: number): Expression {
    const { type, modifier, source, fields } = this.items[item]!.columns[column]!
    return {
      type,
      modifier,
      run: (frame) => known(frame.rows[item]?.[column] ?? null),
      uses: 1 << item,
      isOpen: false,
      column: { item, column },
      source,
      fields,
    }
  }

  /** A column of grouped rows: only their keys are known. */
  #grouped(found: Expression, names: readonly string[], depth: number): Expression {
    let expression = found
    const { groups } = this.clause
    if (groups !== undefined) {
      const key = found.column && groups.get(columnKey(found.column))
      if (key === undefined) throw refused(`A column beside GROUP BY: ${names.join('.')}`)
      expression = { ...key, source: found.source }
    }
    if (depth === 0) return expression
    const { run, column: _, ...rest } = expression
    const outer = (frame: Frame): Value => {
      let each = frame
      for (let level = 0; level < depth; level++) each = each.outer!
      return run(each)
    }
    return { ...rest, run: outer, uses: 0, isOpen: true }
  }

  /** The query of WITH that has a name. What a recursive query has found is read by its own second query alone. */
  binding(name: string): Binding | undefined {
    const found = this.around.bindings.findLast((each) => each.name === name)
    if (found && found.query === undefined && this.around.working !== found)
      throw refused('A recursive query that is read in a query inside of it')
    return found
  }
}

/** What stands for a column among the keys of groups. */
export function columnKey({ item, column }: ColumnPlace): string {
  return `${item}.${column}`
}
