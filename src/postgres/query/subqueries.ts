/** Queries inside of expressions (PostgreSQL's manual, chapters 4.2.11 and 9.23). */
import type { SubLink } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import {
  combined,
  constant,
  decided,
  type Expression,
  type Frame,
  isConstant,
  type Row,
  rowsOf,
} from './analysed.ts'
import { applied } from './operators.ts'
import type { Scope } from './scope.ts'
import { builtInName, refused } from './tree.ts'
import { arrayOf, formatType, oids } from './types.ts'

/** Analyses a query inside of an expression. */
export function analyseSubLink(
  { subLinkType, subselect, testexpr, operName }: SubLink,
  scope: Scope,
): Expression {
  if (subselect === undefined || !('SelectStmt' in subselect)) throw refused('This query in an expression')
  const query = scope.around.query(subselect.SelectStmt, {
    ...scope.around,
    parent: scope,
    working: undefined,
  })
  const [column, ...others] = query.columns
  const isOpen = !isConstant(query)
  // What it reads of this query's FROM is not known: it may be all.
  const whole = (type: number, run: Expression['run'], parts: readonly Expression[] = []): Expression => {
    const result = combined(type, parts, run)
    return isOpen ? { ...result, isOpen, uses: 2 ** scope.items.length - 1 } : result
  }
  if (subLinkType === 'EXISTS_SUBLINK')
    return whole(oids.bool, (frame) => rowsOf(query, frame, frame.run).length > 0)
  const operands =
    testexpr !== undefined && 'RowExpr' in testexpr ? (testexpr.RowExpr.args ?? []) : [testexpr]
  if (column === undefined || others.length !== operands.length - 1)
    throw new SqlError('42601', 'subquery must return only one column')
  if (subLinkType === 'EXPR_SUBLINK') {
    const result = whole(column.type, (frame) => {
      const rows = rowsOf(query, frame, frame.run)
      if (rows.length > 1)
        throw new SqlError('21000', 'more than one row returned by a subquery used as an expression')
      return rows[0]?.[0] ?? null
    })
    return { ...result, modifier: column.modifier, fields: column.fields }
  }
  if (subLinkType === 'ARRAY_SUBLINK') {
    const array = arrayOf(column.type)
    if (array === 0) throw refused(`An array of ${formatType(column.type)}`)
    return whole(array, (frame) => rowsOf(query, frame, frame.run).map((row) => row[0]!))
  }
  if (subLinkType !== 'ANY_SUBLINK') throw refused('This query in an expression')
  const operator = operName === undefined ? '=' : builtInName(operName)
  if (others.length > 0 && operName !== undefined) throw refused(`${operator} of a row`)
  let current: Row = []
  const parts = operands.map((node) => scope.analyse(node))
  const tests = parts.map((part, index) => {
    const { type } = query.columns[index]!
    const item: Expression = { ...constant(type, null), run: () => current[index]!, isOpen: true }
    return applied(operator, part, item)
  })
  const holds = (row: Row, frame: Frame) => {
    current = row
    return decided(false, tests, (test) => test.run(frame))
  }
  return whole(
    oids.bool,
    (frame) => decided(true, rowsOf(query, frame, frame.run), (row) => holds(row, frame)),
    parts,
  )
}
