/** PostgreSQL's types: their oids and what pg_type says about them. */
import { relationsFacts } from './facts/relations.ts'
import { typesFacts } from './facts/types.ts'
import { quoteIdentifier } from './quoting.ts'

/** Oids of types that the code names. */
export const oids = {
  bool: 16,
  bytea: 17,
  char: 18,
  name: 19,
  int8: 20,
  int2: 21,
  int2vector: 22,
  int4: 23,
  regproc: 24,
  text: 25,
  oid: 26,
  tid: 27,
  xid: 28,
  cid: 29,
  oidvector: 30,
  json: 114,
  pgNodeTree: 194,
  float4: 700,
  float8: 701,
  unknown: 705,
  aclitemArray: 1034,
  bpchar: 1042,
  varchar: 1043,
  date: 1082,
  timestamp: 1114,
  timestamptz: 1184,
  interval: 1186,
  numeric: 1700,
  regprocedure: 2202,
  regoper: 2203,
  regoperator: 2204,
  regclass: 2205,
  regtype: 2206,
  record: 2249,
  anyarray: 2277,
  void: 2278,
  uuid: 2950,
  jsonb: 3802,
  regnamespace: 4089,
  regrole: 4096,
  textArray: 1009,
  int2Array: 1005,
  oidArray: 1028,
  nameArray: 1003,
} as const

/** One row of pg_type. */
export type Type = {
  readonly oid: number
  readonly name: string
  /** Whether it is in information_schema rather than in pg_catalog. */
  readonly isInformation: boolean
  /** Bytes; -1: variable, -2: a C string. */
  readonly length: number
  readonly byValue: boolean
  /** b: base, c: row, d: domain, e: enum, m: multirange, p: pseudo, r: range. */
  readonly kind: string
  readonly category: string
  readonly isPreferred: boolean
  readonly delimiter: string
  /** Oid of the elements' type, or 0. */
  readonly element: number
  /** Oid of the type of arrays of this one, or 0. */
  readonly array: number
  /** Of a domain: the type below. */
  readonly base: number
  readonly baseModifier: number
  readonly collation: number
  readonly align: string
  readonly storage: string
  /** Oids of typinput, typoutput, typreceive, typsend, typmodin, typmodout, typsubscript. */
  readonly functions: readonly number[]
  /** Of a row type: the relation. */
  readonly relation: number
}

/** A column of a relation as pg_attribute has it. */
export type RelationColumn = { readonly name: string; readonly type: number; readonly notNull: boolean }

/** A relation of PostgreSQL's own. */
export type Relation = {
  readonly oid: number
  readonly name: string
  readonly isInformation: boolean
  /** r: table, v: view. */
  readonly kind: string
  readonly rowType: number
  readonly columns: readonly RelationColumn[]
}

const byOid = new Map<number, Type>()
const byName = new Map<string, Type>()
const relationsByOid = new Map<number, Relation>()
const relationsByName = new Map<string, Relation>()

/** The type with this oid. */
export function typeOf(oid: number): Type | undefined {
  return byOid.get(oid)
}

/** The type of pg_catalog, or else of information_schema, with this name. */
export function typeNamed(name: string, schema?: string): Type | undefined {
  const type = byName.get(name)
  if (!type || schema === undefined) return type
  return (schema === 'information_schema') === type.isInformation && schema !== 'public' ? type : undefined
}

/** The type below a domain; any other type itself. */
export function baseOf(oid: number): number {
  const type = byOid.get(oid)
  return type && type.kind === 'd' ? type.base : oid
}

/** The type of an array's elements, or 0. */
export function elementOf(oid: number): number {
  const type = byOid.get(baseOf(oid))
  return type && type.category === 'A' && type.length === -1 ? type.element : 0
}

/** Whether values of this type are arrays. */
export function isArray(oid: number): boolean {
  return elementOf(oid) !== 0
}

/** The type of arrays with such elements, or 0. */
export function arrayOf(oid: number): number {
  return byOid.get(baseOf(oid))?.array ?? 0
}

/** Every type. */
export function allTypes(): IterableIterator<Type> {
  return byOid.values()
}

/** The relation of PostgreSQL's own with this oid. */
export function relationOf(oid: number): Relation | undefined {
  return relationsByOid.get(oid)
}

/** The relation of PostgreSQL's own with this name; `schema` undefined looks in pg_catalog. */
export function relationNamed(name: string, schema = 'pg_catalog'): Relation | undefined {
  return relationsByName.get(`${schema}.${name}`)
}

/** Every relation of PostgreSQL's own. */
export function allRelations(): IterableIterator<Relation> {
  return relationsByOid.values()
}

/** Names that SQL has for types, in the words of format_type. */
const sqlNames: Readonly<Record<string, string>> = {
  bit: 'bit',
  bool: 'boolean',
  bpchar: 'character',
  char: '"char"',
  float4: 'real',
  float8: 'double precision',
  int2: 'smallint',
  int4: 'integer',
  int8: 'bigint',
  interval: 'interval',
  numeric: 'numeric',
  varchar: 'character varying',
  varbit: 'bit varying',
  timestamp: 'timestamp without time zone',
  timestamptz: 'timestamp with time zone',
  time: 'time without time zone',
  timetz: 'time with time zone',
}

/** format_type: the name of a type in SQL. `modifier` undefined: none was given. */
export function formatType(oid: number, modifier?: number | null): string {
  if (oid === 0) return '-'
  const type = byOid.get(oid)
  if (!type) return '???'
  if (type.length === -1 && type.element !== 0 && type.name.startsWith('_'))
    return `${formatType(type.element, modifier)}[]`
  if (type.isInformation) return `information_schema.${type.name}`
  const name = sqlNames[type.name] ?? quoteIdentifier(type.name)
  if (modifier === undefined || modifier === null || modifier < 0) {
    // As PostgreSQL: a character type whose length is not given at all is bpchar.
    return type.name === 'bpchar' && modifier !== undefined && modifier !== null ? 'bpchar' : name
  }
  return withModifier(type.name, name, modifier)
}

function withModifier(typeName: string, name: string, modifier: number): string {
  if (/^(?:bpchar|varchar)$/.test(typeName)) return `${name}(${modifier - 4})`
  if (typeName === 'numeric') return `${name}(${(modifier - 4) >> 16},${(modifier - 4) & 0xffff})`
  if (/^time/.test(typeName)) return name.replace(/^(\w+)/, `$1(${modifier})`)
  return name
}

function readTypes(): void {
  for (const line of typesFacts.trim().split(/[\n;](?=i?\d+ )/)) {
    const fields = line.split(' ')
    const isInformation = fields[0]!.startsWith('i')
    const number = (index: number) => Number(fields[index])
    addType({
      oid: Number(fields[0]!.replace('i', '')),
      name: fields[1]!,
      isInformation,
      length: number(2),
      byValue: fields[3] === '1',
      kind: fields[4]!,
      category: fields[5]!,
      isPreferred: fields[6] === '1',
      delimiter: fields[7]!,
      element: number(8),
      array: number(9),
      base: number(10),
      baseModifier: number(11),
      collation: number(12),
      align: fields[13]!,
      storage: fields[14]!,
      functions: fields.slice(15).map(Number),
      relation: 0,
    })
  }
}

function addType(type: Type): void {
  byOid.set(type.oid, type)
  byName.set(type.name, type)
}

/** Functions of every row type, and of every array type: record_in …, array_in …, as in pg_proc. */
const recordFunctions = [2290, 2291, 2402, 2403, 0, 0, 0]
const arrayFunctions = [750, 751, 2400, 2401, 0, 0, 6179]

function readRelations(): void {
  for (const line of relationsFacts.trim().split(/[\n;]/)) {
    const [id = '', name = '', kind = '', rowType = '', arrayType = '', columns = ''] = line.split('|')
    const isInformation = id.startsWith('i')
    const oid = Number(id.replace('i', ''))
    const relation = {
      oid,
      name,
      isInformation,
      kind,
      rowType: Number(rowType),
      columns: columns.split(' ').map(readColumn),
    }
    relationsByOid.set(oid, relation)
    relationsByName.set(`${isInformation ? 'information_schema' : 'pg_catalog'}.${name}`, relation)
    if (relation.rowType !== 0) addRowTypes(relation, Number(arrayType))
  }
}

function readColumn(text: string): RelationColumn {
  const [name = '', type = ''] = text.split(':')
  return { name, type: byName.get(type.replace('!', ''))?.oid ?? 0, notNull: type.endsWith('!') }
}

function addRowTypes(relation: Relation, array: number): void {
  const shared = {
    isInformation: relation.isInformation,
    length: -1,
    byValue: false,
    isPreferred: false,
    delimiter: ',',
    base: 0,
    baseModifier: -1,
    collation: 0,
    align: 'd',
    storage: 'x',
  }
  const { rowType, name, oid } = relation
  addType({
    ...shared,
    oid: rowType,
    name,
    kind: 'c',
    category: 'C',
    element: 0,
    array,
    functions: recordFunctions,
    relation: oid,
  })
  if (array === 0) return
  addType({
    ...shared,
    oid: array,
    name: `_${name}`,
    kind: 'b',
    category: 'A',
    element: rowType,
    array: 0,
    functions: arrayFunctions,
    relation: 0,
  })
}

readTypes()
readRelations()
