/** Expressions of the parse tree, analysed: their types are known, and what they do (PostgreSQL's manual, chapter 4.2). */
import type {
  A_ArrayExpr,
  A_Const,
  A_Expr,
  A_Indirection,
  BoolExpr,
  CaseExpr,
  CoalesceExpr,
  CollateClause,
  ColumnRef,
  Node,
  NullTest,
  ParamRef,
  SQLValueFunction,
  TypeCast,
  TypeName,
} from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import { combined, constant, decided, type Expression } from './analysed.ts'
import { analyseCall, callOf } from './calls.ts'
import { asKnownType, cast, coerced, commonType, integers, texts } from './coercion.ts'
import { applied, appliedToEach, plainType, prefixed } from './operators.ts'
import type { Scope } from './scope.ts'
import { analyseSubLink } from './subqueries.ts'
import { itemType, lowerBound } from './text-output.ts'
import { builtInName, kindOf, located, nameOf, namesOf, refused, textOfTree } from './tree.ts'
import { arrayOf, formatType, isArray, oids, typeNamed } from './types.ts'
import type { Value } from './values.ts'

type Analyser = (body: never, scope: Scope) => Expression

const openNull: Expression = { ...constant(oids.unknown, null), literal: null }

/** What analyses the kinds of nodes. */
const analysers: Readonly<Record<string, Analyser>> = {
  A_ArrayExpr: analyseArray,
  A_Const: analyseConstant,
  A_Expr: analyseOperator,
  A_Indirection: analyseIndirection,
  BoolExpr: analyseLogic,
  CaseExpr: (body: CaseExpr, scope) => withoutSets(scope, () => analyseCase(body, scope)),
  CoalesceExpr: (body: CoalesceExpr, scope) => withoutSets(scope, () => analyseCoalesce(body, scope)),
  CollateClause: analyseCollation,
  ColumnRef: ({ fields }: ColumnRef, scope) => scope.column(namesOf(fields)),
  FuncCall: analyseCall,
  NullTest: analyseNullTest,
  ParamRef: analyseParameter,
  SQLValueFunction: ({ op }: SQLValueFunction, scope) =>
    callOf(scope, (op ?? '').replace('SVFOP_', '').toLowerCase(), []),
  SubLink: analyseSubLink,
  TypeCast: analyseCast,
}

/** Analyses an expression. Throws 0A000 for what is not known here. */
export function analyse(node: Node | undefined, scope: Scope): Expression {
  if (node === undefined) throw refused('This form of an expression')
  const key = scope.clause.groups?.get(textOfTree(node))
  if (key !== undefined) return key
  const analyser = analysers[kindOf(node)]
  if (analyser === undefined) throw refused(`The expression ${kindOf(node)}`)
  return located(node, () => analyser(Object.values(node)[0] as never, scope))
}

/** Analyses a condition. */
export function analyseCondition(node: Node | undefined, scope: Scope, clause: string): Expression {
  const condition = analyse(node, scope)
  if (condition.type !== oids.bool && condition.type !== oids.unknown)
    throw new SqlError(
      '42804',
      `argument of ${clause} must be type boolean, not type ${formatType(condition.type)}`,
    )
  return coerced(condition, oids.bool)
}

function withoutSets(scope: Scope, make: () => Expression): Expression {
  return scope.within({ ...scope.clause, sets: undefined }, make)
}

function analyseConstant({ ival, fval, boolval, sval, isnull }: A_Const): Expression {
  if (isnull) return openNull
  if (ival !== undefined) return constant(oids.int4, ival.ival ?? 0)
  if (boolval !== undefined) return constant(oids.bool, boolval.boolval ?? false)
  if (sval !== undefined) {
    const text = sval.sval ?? ''
    return { ...constant(oids.unknown, text), literal: text }
  }
  const text = fval?.fval ?? ''
  const isWhole = /^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)
  if (isWhole) return constant(oids.int8, BigInt(text))
  throw refused(`The constant ${text}`)
}

function analyseParameter({ number = 0 }: ParamRef, scope: Scope): Expression {
  const type = scope.around.parameters.of(number)
  const run: Expression['run'] = (frame) => frame.run.parameters[number] ?? null
  const expression = combined(type, [], run)
  return type === oids.unknown
    ? { ...expression, settle: (wanted) => scope.around.parameters.settle(number, wanted) }
    : expression
}

function analyseOperator({ kind, name, lexpr, rexpr }: A_Expr, scope: Scope): Expression {
  const operator = builtInName(name)
  switch (kind) {
    case 'AEXPR_OP':
    case 'AEXPR_LIKE':
      if (lexpr === undefined) return prefixed(operator, analyse(rexpr, scope))
      return applied(operator, analyse(lexpr, scope), analyse(rexpr, scope))
    case 'AEXPR_OP_ANY':
    case 'AEXPR_OP_ALL':
      return analyseQuantified(operator, analyse(lexpr, scope), analyse(rexpr, scope), kind.endsWith('ANY'))
    case 'AEXPR_IN':
      return analyseIn(analyse(lexpr, scope), rexpr, operator === '<>', scope)
    case 'AEXPR_NULLIF': {
      const left = analyse(lexpr, scope)
      const right = analyse(rexpr, scope)
      const { run, equality } = applied('=', left, right)
      const [a, b] = equality ?? [coerced(left, oids.numeric), right]
      // The result is the left side of the comparison; an integer and a name stay as they are.
      const isOwn = left.type === oids.name || (integers.includes(left.type) && integers.includes(b.type))
      const first = isOwn ? left : { ...a, type: plainType(a.type) }
      return combined(first.type, [a, b], (frame) => (run(frame) === true ? null : first.run(frame)))
    }
    default:
      throw refused(`The operator ${kind?.replace('AEXPR_', '')}`)
  }
}

function analyseIn(operand: Expression, list: Node | undefined, isNot: boolean, scope: Scope): Expression {
  if (list === undefined || !('List' in list)) throw refused('This form of IN')
  const tests = (list.List.items ?? []).map((item) => applied('=', operand, analyse(item, scope)))
  const result = combined(oids.bool, tests, (frame) => {
    const found = decided(true, tests, (test) => test.run(frame))
    return found === null ? null : found !== isNot
  })
  const sides = tests.map(({ equality }) => equality)
  if (isNot || sides.some((side) => side === undefined)) return result
  const values = sides.map((side) => side![1])
  const first = sides[0]![0]
  const all = combined(oids.anyarray, values, (frame) => values.map((value) => value.run(frame)))
  return { ...result, membership: { operand: first.column ? first : operand, list: all } }
}

function analyseQuantified(
  operator: string,
  operand: Expression,
  list: Expression,
  isAny: boolean,
): Expression {
  const element =
    list.type === oids.unknown
      ? operand.type === oids.unknown
        ? oids.text
        : operand.type
      : itemType(list.type)
  if (element === 0 || arrayOf(element) === 0)
    throw refused(`${formatType(list.type)} in the place of an array`)
  const array = list.type === oids.unknown ? coerced(list, arrayOf(element)) : list
  const { test, run } = appliedToEach(operator, operand, element, isAny)
  const result = combined(oids.bool, [operand, array], (frame) => {
    const values = array.run(frame)
    return values === null ? null : run((values as readonly unknown[]).flat(6) as Value[], frame)
  })
  if (!isAny || operator !== '=' || test.equality === undefined) return result
  return { ...result, membership: { operand, list: array } }
}

function analyseLogic({ boolop, args = [] }: BoolExpr, scope: Scope): Expression {
  const clause = boolop === 'NOT_EXPR' ? 'NOT' : boolop === 'AND_EXPR' ? 'AND' : 'OR'
  const parts = args.map((arg) => analyseCondition(arg, scope, clause))
  if (clause !== 'NOT')
    return combined(oids.bool, parts, (frame) => decided(clause === 'OR', parts, (part) => part.run(frame)))
  return combined(oids.bool, parts, (frame) => {
    const value = parts[0]!.run(frame)
    return value === null ? null : value !== true
  })
}

/** The oid of the type that a tree names. Throws 42704, 0A000. */
export function typeNamedBy(name: TypeName | undefined): number {
  if (name === undefined || name.setof || name.pct_type) throw refused('This form of a type')
  const names = namesOf(name.names)
  const type = typeNamed(names.at(-1)!, names.at(-2))
  if (type === undefined || names.length > 2)
    throw new SqlError('42704', `type "${names.join('.')}" does not exist`)
  if (name.typmods !== undefined && (type.oid !== oids.bpchar || name.arrayBounds))
    throw refused(`${formatType(type.oid)} with a modifier`)
  if (type.kind !== 'b') throw refused(`The type ${formatType(type.oid)}`)
  return name.arrayBounds ? type.array : type.oid
}

function analyseCast({ arg, typeName: name }: TypeCast, scope: Scope): Expression {
  const type = typeNamedBy(name)
  // Elements of an array take its type one by one.
  if (arg !== undefined && 'A_ArrayExpr' in arg && isArray(type)) {
    const items = (arg.A_ArrayExpr.elements ?? []).map((item) => cast(analyse(item, scope), itemType(type)))
    return combined(type, items, (frame) => items.map((item) => item.run(frame)))
  }
  const value = cast(analyse(arg, scope), type)
  if (type !== oids.bpchar) return value
  return name?.typmods === undefined ? { ...value, modifier: -1 } : ofLength(value, name.typmods)
}

/** A text of a fixed length: cut, or padded with blanks. */
function ofLength(text: Expression, modifiers: readonly Node[]): Expression {
  const [length] = modifiers.map((node) => ('A_Const' in node ? (node.A_Const.ival?.ival ?? 0) : 0))
  if (length === undefined || length < 1 || length > 1000) throw refused('A character type of this length')
  const run: Expression['run'] = (frame) => {
    const value = text.run(frame)
    if (value === null) return null
    const characters = [...(value as string).slice(0, 2 * length)].slice(0, length)
    return characters.join('') + ' '.repeat(length - characters.length)
  }
  return combined(text.type, [text], run, length + 4)
}

/** Expressions of one type. Throws 0A000 if they have none that is known here. */
function unified(all: readonly Expression[]): {
  readonly items: readonly Expression[]
  readonly type: number
} {
  const type = commonType(all.map((each) => each.type))
  return { items: all.map((each) => coerced(each, type)), type }
}

function analyseCase({ arg, args = [], defresult }: CaseExpr, scope: Scope): Expression {
  const operand = arg && analyse(arg, scope)
  const whens = args.map((each) => {
    if (!('CaseWhen' in each)) throw refused('This form of CASE')
    return each.CaseWhen
  })
  const tests = whens.map(({ expr }) =>
    operand === undefined
      ? analyseCondition(expr, scope, 'CASE/WHEN')
      : applied('=', operand, analyse(expr, scope)),
  )
  const otherwise = defresult ? analyse(defresult, scope) : openNull
  // As in PostgreSQL, the type of ELSE counts first.
  const { items, type } = unified([otherwise, ...whens.map(({ result }) => analyse(result, scope))])
  return combined(type, [...tests, ...items], (frame) => {
    for (const [index, test] of tests.entries())
      if (test.run(frame) === true) return items[index + 1]!.run(frame)
    return items[0]!.run(frame)
  })
}

function analyseNullTest({ arg, nulltesttype: kind }: NullTest, scope: Scope): Expression {
  const operand = analyse(arg, scope)
  if (operand.type === oids.record) throw refused('IS NULL of a row')
  const { run } = asKnownType(operand)
  return combined(oids.bool, [operand], (frame) => (run(frame) === null) === (kind === 'IS_NULL'))
}

function analyseCoalesce({ args = [] }: CoalesceExpr, scope: Scope): Expression {
  const { items, type } = unified(args.map((each) => analyse(each, scope)))
  return combined(type, items, (frame) => {
    for (const item of items) {
      const value = item.run(frame)
      if (value !== null) return value
    }
    return null
  })
}

function analyseCollation({ arg, collname }: CollateClause, scope: Scope): Expression {
  const operand = analyse(arg, scope)
  const name = namesOf(collname).at(-1) ?? ''
  if (!['default', 'C'].includes(name) || !(texts.has(operand.type) || operand.type === oids.unknown))
    throw refused(`COLLATE ${name} of ${formatType(operand.type)}`)
  return operand
}

function analyseArray({ elements = [] }: A_ArrayExpr, scope: Scope): Expression {
  if (elements.length === 0) throw new SqlError('42P18', 'cannot determine type of empty array')
  const { items, type } = unified(elements.map((each) => analyse(each, scope)))
  const array = arrayOf(type)
  if (array === 0 || itemType(type)) throw refused(`An array of ${formatType(type)}`)
  return combined(array, items, (frame) => items.map((item) => item.run(frame)))
}

function analyseIndirection({ arg, indirection = [] }: A_Indirection, scope: Scope): Expression {
  let result = analyse(arg, scope)
  for (const step of indirection) {
    if ('String' in step) result = fieldOf(result, nameOf(step))
    else if ('A_Indices' in step && !step.A_Indices.is_slice)
      result = elementOf(result, step.A_Indices.uidx, scope)
    else throw refused('This form of a subscript')
  }
  return result
}

/** A field of a row. Throws 42703. */
function fieldOf(row: Expression, name: string): Expression {
  const index = row.fields?.findIndex((field) => field.name === name) ?? -1
  if (index < 0)
    throw new SqlError('42703', `column "${name}" not found in data type ${formatType(row.type)}`)
  const { run } = row
  return combined(row.fields![index]!.type, [row], (frame) => {
    const value = run(frame)
    return value === null ? null : (value as readonly Value[])[index]!
  })
}

function elementOf(list: Expression, index: Node | undefined, scope: Scope): Expression {
  const type = itemType(list.type)
  if (type === 0) throw refused(`A subscript of ${formatType(list.type)}`)
  const subscript = analyse(index, scope)
  if (subscript.type === oids.int8 || !(integers.includes(subscript.type) || subscript.type === oids.unknown))
    throw refused(`${formatType(subscript.type)} as a subscript`)
  const number = coerced(subscript, oids.int4)
  const { run } = list
  const first = lowerBound(list.type)
  return combined(type, [list, number], (frame) => {
    const [values, place] = [run(frame), number.run(frame)]
    if (values === null || place === null) return null
    const found = (values as readonly Value[])[(place as number) - first] ?? null
    return Array.isArray(found) ? null : found
  })
}
