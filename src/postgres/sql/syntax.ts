/** The tree of a SELECT statement. `at` is an index into the text, in UTF-16 units. */

/** A type as it is written: `pg_catalog.int4[]`, `varchar(3)`. */
export type TypeName = {
  readonly names: readonly string[]
  readonly modifiers: readonly number[]
  readonly isArray: boolean
  readonly at: number
}

/** ORDER BY's element. */
export type SortKey = {
  readonly expression: Expression
  readonly descending: boolean
  readonly nullsFirst: boolean | undefined
}

/** A call of a function, with all that aggregates take. */
export type Call = {
  readonly kind: 'call'
  readonly names: readonly string[]
  readonly args: readonly Expression[]
  readonly star: boolean
  readonly distinct: boolean
  readonly variadic: boolean
  readonly orderBy: readonly SortKey[]
  readonly filter: Expression | undefined
  readonly over:
    | { readonly partition: readonly Expression[]; readonly orderBy: readonly SortKey[] }
    | undefined
  readonly at: number
}

/** An expression. */
export type Expression =
  | { readonly kind: 'null'; readonly at: number }
  | { readonly kind: 'string'; readonly value: string; readonly at: number }
  | { readonly kind: 'number'; readonly text: string; readonly at: number }
  | { readonly kind: 'boolean'; readonly value: boolean; readonly at: number }
  | { readonly kind: 'parameter'; readonly index: number; readonly at: number }
  | {
      readonly kind: 'column'
      readonly names: readonly string[]
      readonly star: boolean
      readonly at: number
    }
  | { readonly kind: 'cast'; readonly operand: Expression; readonly type: TypeName; readonly at: number }
  | {
      readonly kind: 'operator'
      readonly operator: string
      readonly left: Expression | undefined
      readonly right: Expression
      readonly at: number
    }
  | {
      readonly kind: 'quantified'
      readonly operator: string
      readonly all: boolean
      readonly left: Expression
      readonly right: Expression | Select
      readonly at: number
    }
  | { readonly kind: 'not'; readonly operand: Expression; readonly at: number }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Expression[]; readonly at: number }
  | {
      readonly kind: 'is'
      readonly test: 'null' | 'true' | 'false' | 'unknown'
      readonly negated: boolean
      readonly operand: Expression
      readonly at: number
    }
  | {
      readonly kind: 'distinct'
      readonly negated: boolean
      readonly left: Expression
      readonly right: Expression
      readonly at: number
    }
  | {
      readonly kind: 'between'
      readonly negated: boolean
      readonly operand: Expression
      readonly low: Expression
      readonly high: Expression
      readonly at: number
    }
  | {
      readonly kind: 'in'
      readonly negated: boolean
      readonly left: Expression
      readonly right: readonly Expression[] | Select
      readonly at: number
    }
  | {
      readonly kind: 'like'
      readonly caseless: boolean
      readonly negated: boolean
      readonly left: Expression
      readonly right: Expression
      readonly escapeChar: Expression | undefined
      readonly at: number
    }
  | {
      readonly kind: 'case'
      readonly operand: Expression | undefined
      readonly branches: readonly { readonly when: Expression; readonly result: Expression }[]
      readonly otherwise: Expression | undefined
      readonly at: number
    }
  | Call
  | { readonly kind: 'array'; readonly items: readonly Expression[]; readonly at: number }
  | { readonly kind: 'row'; readonly items: readonly Expression[]; readonly at: number }
  | {
      readonly kind: 'query'
      readonly use: 'scalar' | 'array' | 'exists'
      readonly select: Select
      readonly at: number
    }
  | {
      readonly kind: 'subscript'
      readonly operand: Expression
      readonly slice: boolean
      readonly lower: Expression | undefined
      readonly upper: Expression | undefined
      readonly at: number
    }
  | { readonly kind: 'field'; readonly operand: Expression; readonly name: string; readonly at: number }

/** An element of the list behind SELECT. A column with `star` stands for several. */
export type Target = { readonly expression: Expression; readonly label: string | undefined }

/** An alias of an element of FROM. */
export type Alias = {
  readonly name: string
  readonly columns: readonly string[]
  /** Of a function: the types behind the names of its columns. */
  readonly types: readonly TypeName[]
}

/** An element of FROM. */
export type FromItem =
  | {
      readonly kind: 'table'
      readonly names: readonly string[]
      readonly alias: Alias | undefined
      readonly at: number
    }
  | {
      readonly kind: 'query'
      readonly select: Select
      readonly alias: Alias | undefined
      readonly lateral: boolean
      readonly at: number
    }
  | {
      readonly kind: 'function'
      readonly calls: readonly Call[]
      readonly ordinality: boolean
      readonly alias: Alias | undefined
      readonly at: number
    }
  | {
      readonly kind: 'join'
      readonly type: 'inner' | 'left' | 'right' | 'full' | 'cross'
      readonly left: FromItem
      readonly right: FromItem
      readonly on: Expression | undefined
      readonly using: readonly string[] | undefined
      readonly natural: boolean
      readonly at: number
    }

/** What a SELECT consists of before ORDER BY. */
export type SelectBody =
  | {
      readonly kind: 'simple'
      readonly distinct: boolean
      readonly distinctOn: readonly Expression[]
      readonly targets: readonly Target[]
      readonly from: readonly FromItem[]
      readonly where: Expression | undefined
      readonly groupBy: readonly Expression[]
      readonly having: Expression | undefined
    }
  | { readonly kind: 'values'; readonly rows: readonly (readonly Expression[])[] }
  | {
      readonly kind: 'set'
      readonly operation: 'union' | 'intersect' | 'except'
      readonly all: boolean
      readonly left: Select
      readonly right: Select
    }

/** An element of WITH. */
export type WithQuery = {
  readonly name: string
  readonly columns: readonly string[]
  readonly select: Select
  readonly at: number
}

/** A SELECT statement, VALUES included. */
export type Select = {
  readonly kind: 'select'
  readonly recursive: boolean
  readonly with: readonly WithQuery[]
  readonly body: SelectBody
  readonly orderBy: readonly SortKey[]
  readonly limit: Expression | undefined
  readonly offset: Expression | undefined
  readonly at: number
}
