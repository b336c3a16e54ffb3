/**
 * Ids for Kysely: a dialect around another one.
 *
 * A plugin of Kysely transforms queries and cannot wait for ids; connections can. So the compiler leaves a mark among the
 * parameters of an insert for each id that it lacks, and the connection replaces the marks before it sends the query.
 *
 * Invariants
 *  1. No mark is sent: ids are drawn for all marks of a query, or the query fails.
 *  2. Each execution of a compiled query gets ids of its own.
 */
import { columnsOf, type Id, type IdColumn, type Ids, MissingIds } from './missing-ids.ts'

type Node = { readonly kind: string }
type Query = { readonly parameters: readonly unknown[] }
type Connection = {
  executeQuery(query: Query, ...rest: unknown[]): Promise<unknown>
  streamQuery(query: Query, ...rest: unknown[]): AsyncIterableIterator<unknown>
}
type Driver = { acquireConnection(...args: unknown[]): Promise<unknown> }
type Compiler = { compileQuery(node: unknown, queryId: unknown): unknown }
type Dialect = {
  createDriver(): object
  createQueryCompiler(): object
  createAdapter(): unknown
  createIntrospector(db: never): unknown
}

type Column = Node & { readonly column: { readonly name: string } }
type ValueList = Node & { readonly values: readonly unknown[] }
type WithQueries = Node & {
  readonly with?: { readonly expressions: readonly { readonly expression: Node }[] }
}
type Insert = WithQueries & {
  readonly into?: { readonly table: Table }
  readonly columns?: readonly Column[]
  readonly values?: Node & { readonly values: readonly ValueList[] }
  readonly defaultValues?: boolean
}
type Table = { readonly schema?: { readonly name: string }; readonly identifier: { readonly name: string } }

/** Stands among the parameters of a compiled query for an id that is drawn when the query is executed. */
class Mark {
  readonly of: IdColumn

  constructor(of: IdColumn) {
    this.of = of
  }

  toString(): string {
    return `the next id of ${this.of.generator.name}`
  }
}

/**
 * A dialect that fills the columns of `ids` in each insert that gives them no value: one batch for all rows. Tables and
 * columns have their names in the database; a table may carry its schema (`shop.orders`). Ids are bigints unless the
 * column says `as`. An insert rejects with the error of the generator when ids cannot be drawn, and is not sent.
 */
export function withIds<D extends Dialect>(dialect: D, ids: Ids): Pick<D, keyof Dialect> {
  const wrapped: Dialect = {
    createDriver: () => drawing(dialect.createDriver() as Driver),
    createQueryCompiler: () => marking(dialect.createQueryCompiler() as Compiler, ids),
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
  }
  return wrapped as Pick<D, keyof Dialect>
}

function marking(compiler: Compiler, ids: Ids): Compiler {
  const compile = compiler.compileQuery.bind(compiler)
  compiler.compileQuery = (node, queryId) => compile(marked(node as Node, ids), queryId)
  return compiler
}

/** The connections of a driver, each changed once: drivers keep and compare the objects that they gave out. */
function drawing(driver: Driver): Driver {
  const changed = new WeakSet<Connection>()
  const acquire = driver.acquireConnection.bind(driver)
  driver.acquireConnection = async (...args) => {
    const connection = (await acquire(...args)) as Connection
    if (!changed.has(connection)) {
      drawBeforeSending(connection)
      changed.add(connection)
    }
    return connection
  }
  return driver
}

function drawBeforeSending(connection: Connection): void {
  const execute = connection.executeQuery.bind(connection)
  const stream = connection.streamQuery.bind(connection)
  connection.executeQuery = async (query, ...rest) => execute(await drawn(query), ...rest)
  connection.streamQuery = async function* (query, ...rest) {
    yield* stream(await drawn(query), ...rest)
  }
}

async function drawn(query: Query): Promise<Query> {
  if (!query.parameters.some((each) => each instanceof Mark)) return query
  const parameters = [...query.parameters]
  const missing = new MissingIds()
  for (const [at, each] of parameters.entries())
    if (each instanceof Mark)
      missing.add(each.of.generator, each.of.as ?? 'bigint', (id: Id) => {
        parameters[at] = id
      })
  await missing.draw()
  return { ...query, parameters }
}

/** A query, and the queries of its WITH, with a mark wherever an insert lacks an id. */
function marked(node: Node, ids: Ids): Node {
  const { with: queries } = node as WithQueries
  const around = queries
    ? {
        ...node,
        with: {
          ...queries,
          expressions: queries.expressions.map((each) => ({
            ...each,
            expression: marked(each.expression, ids),
          })),
        },
      }
    : node
  return around.kind === 'InsertQueryNode' ? insertWithMarks(around as Insert, ids) : around
}

function insertWithMarks(insert: Insert, ids: Ids): Insert {
  if (!insert.into) return insert
  const { schema, identifier } = insert.into.table
  const withSchema = schema ? columnsOf(ids, `${schema.name}.${identifier.name}`) : []
  const columns = withSchema.length > 0 ? withSchema : columnsOf(ids, identifier.name)
  return columns.reduce(withMarks, insert)
}

function withMarks(insert: Insert, column: IdColumn): Insert {
  const mark = new Mark(column)
  if (insert.defaultValues)
    return withRows({ ...insert, defaultValues: false }, column, [
      { kind: 'PrimitiveValueListNode', values: [mark] } as ValueList,
    ])
  // An insert of what a query selects has no rows here.
  if (insert.values?.kind !== 'ValuesNode') return insert
  const at = (insert.columns ?? []).findIndex((each) => each.column.name === column.column)
  const value = { kind: 'ValueNode', value: mark }
  if (at >= 0) {
    const rows = insert.values.values.map((row) => {
      const isMissing = (row.values[at] as Node | undefined)?.kind === 'DefaultInsertValueNode'
      return row.kind === 'ValueListNode' && isMissing ? { ...row, values: row.values.with(at, value) } : row
    })
    return { ...insert, values: { ...insert.values, values: rows } }
  }
  const rows = insert.values.values.map((row) => ({
    ...row,
    values: [...row.values, row.kind === 'ValueListNode' ? value : mark],
  }))
  return withRows(insert, column, rows)
}

function withRows(insert: Insert, { column }: IdColumn, rows: readonly ValueList[]): Insert {
  const added = { kind: 'ColumnNode', column: { kind: 'IdentifierNode', name: column } } as Column
  return {
    ...insert,
    columns: [...(insert.columns ?? []), added],
    values: { kind: 'ValuesNode', values: rows },
  }
}
