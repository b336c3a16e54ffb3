/** PostgreSQL's types: their oids and what pg_type says about them. */
import { relationsFacts } from './facts/relations.ts'
import { typesFacts } from './facts/types.ts'
import { quoteIdentifier } from './quoting.ts'
import { refused } from './tree.ts'

/** Oids of types that the code names. */
export const oids = {
  bool: 16,
  char: 18,
  name: 19,
  int8: 20,
  int2: 21,
  int2vector: 22,
  int4: 23,
  regproc: 24,
  text: 25,
  oid: 26,
  xid: 28,
  cid: 29,
  oidvector: 30,
  json: 114,
  pgNodeTree: 194,
  float4: 700,
  float8: 701,
  unknown: 705,
  bpchar: 1042,
  varchar: 1043,
  timestamptz: 1184,
  interval: 1186,
  numeric: 1700,
  regprocedure: 2202,
  regclass: 2205,
  regtype: 2206,
  record: 2249,
  anyarray: 2277,
  void: 2278,
  uuid: 2950,
  regnamespace: 4089,
  regrole: 4096,
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
  /** The type that a domain is made of. */
  readonly base: number
  readonly baseModifier: number
  readonly collation: number
  readonly align: string
  readonly storage: string
  /** Oid of the function that writes its binary form, or 0. */
  readonly send: number
  /** The relation of a row type. */
  readonly relation: number
}

/** A column of a relation as pg_attribute has it. */
export type RelationColumn = {
  readonly name: string
  readonly type: number
  readonly notNull: boolean
  /** Whether its texts compare as the database's do, and not as in "C". */
  readonly hasDefaultCollation: boolean
}

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

/** Every type. */
export const byOid = new Map<number, Type>()
const byName = new Map<string, Type>()
/** Every relation of PostgreSQL's own. */
export const relationsByOid = new Map<number, Relation>()
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
  const isVector = oid === oids.int2vector || oid === oids.oidvector
  return type && !isVector && type.category === 'A' && type.length === -1 ? type.element : 0
}

/** Whether values of this type are arrays. */
export function isArray(oid: number): boolean {
  return elementOf(oid) !== 0
}

/** The type of arrays with such elements, or 0. */
export function arrayOf(oid: number): number {
  return byOid.get(baseOf(oid))?.array ?? 0
}

/** The relation of PostgreSQL's own with this oid. */
export function relationOf(oid: number): Relation | undefined {
  return relationsByOid.get(oid)
}

/** The relation of PostgreSQL's own with this name; `schema` undefined looks in pg_catalog. */
export function relationNamed(name: string, schema = 'pg_catalog'): Relation | undefined {
  return relationsByName.get(`${schema}.${name}`)
}

/** Names that SQL has for types, in the words of format_type. */
export const sqlNames: Readonly<Record<string, string>> = {
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
  if (/^(?:var)?bit$/.test(typeName)) return `${name}(${modifier})`
  if (/^(?:bpchar|varchar)$/.test(typeName)) return modifier > 4 ? `${name}(${modifier - 4})` : name
  if (typeName === 'numeric') return `${name}(${(modifier - 4) >> 16},${(modifier - 4) & 0xffff})`
  if (/^time/.test(typeName)) return name.replace(/^(\w+)/, `$1(${modifier})`)
  if (/^(?:bool|int[248]|float[48])$/.test(typeName)) return name
  throw refused(`${name} with a modifier`)
}

const fieldNames =
  'id name length byValue kind category isPreferred delimiter element array base baseModifier collation align storage input output receive send modifierIn modifierOut subscript'.split(
    ' ',
  )

/** Adds the type of one line of facts, with all functions of pg_type. @param relation the relation of a row type. */
function addType(line: string, relation = 0): void {
  const fields = line.split(' ').map((field) => (/^-?\d+$/.test(field) ? Number(field) : field))
  const { id, byValue, isPreferred, ...rest } = Object.fromEntries(
    fieldNames.map((name, index) => [name, fields[index]]),
  )
  const isInformation = typeof id === 'string'
  const flags = { isInformation, byValue: byValue === 1, isPreferred: isPreferred === 1 }
  const type = { ...rest, ...flags, oid: Number(String(id).replace('i', '')), relation } as unknown as Type
  byOid.set(type.oid, type)
  byName.set(type.name, type)
}

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
  return {
    name,
    type: byName.get(type.replace(/[!%]+$/, ''))?.oid ?? 0,
    notNull: type.includes('!'),
    hasDefaultCollation: type.endsWith('%'),
  }
}

/** The type of a relation's rows and that of arrays of them, which all relations have alike. */
function addRowTypes({ rowType, name, oid, isInformation }: Relation, array: number): void {
  const mark = isInformation ? 'i' : ''
  addType(`${mark}${rowType} ${name} -1 0 c C 0 , 0 ${array} 0 -1 0 d x 2290 2291 2402 2403 0 0 0`, oid)
  if (array !== 0)
    addType(`${mark}${array} _${name} -1 0 b A 0 , ${rowType} 0 0 -1 0 d x 750 751 2400 2401 0 0 6179`)
}

for (const line of typesFacts.trim().split(/[\n;](?=i?\d+ )/)) addType(line)
readRelations()
