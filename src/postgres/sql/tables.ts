/** The tables that FROM may name: PostgreSQL's own relations, and generators as sequences. */
import type { Table } from './plan.ts'
import { positionOf, SqlError } from './sql-error.ts'
import { allRelations, baseOf, oids, type Relation, relationNamed, typeOf } from './types.ts'

/** Relations that have rows for each sequence. */
export const sequenceRelations: ReadonlySet<string> = new Set([
  'pg_class',
  'pg_attribute',
  'pg_depend',
  'pg_sequence',
  'pg_sequences',
  'sequences',
])

const tables = new Map<number, Table>()
for (const relation of allRelations()) tables.set(relation.oid, tableOf(relation))

function tableOf({ oid, name, rowType, columns }: Relation): Table {
  return {
    oid,
    name,
    rowType,
    columns: columns.map((column, index) => ({
      name: column.name,
      type: baseOf(column.type),
      modifier: modifierOf(column.type),
      source: { table: oid, number: index + 1 },
    })),
  }
}

function modifierOf(type: number): number {
  const known = typeOf(type)
  return known?.kind === 'd' ? known.baseModifier : -1
}

/** Whether the table has rows for each sequence. */
export function isLongTable({ name, oid }: Table): boolean {
  return oid !== 0 && sequenceRelations.has(name)
}

const sequenceColumns = [
  { name: 'last_value', type: oids.int8, modifier: -1 },
  { name: 'log_cnt', type: oids.int8, modifier: -1 },
  { name: 'is_called', type: oids.bool, modifier: -1 },
]

/**
 * The table of a qualified name. A name that no relation of PostgreSQL's has is taken for that of a generator, which is looked
 * up when the statement runs. Throws SqlError 42P01 for an unknown relation of PostgreSQL's schemas.
 */
export function findTable(names: readonly string[], at: number): Table {
  const [name, schema] = [names.at(-1)!, names.at(-2)]
  const relation = schema === 'public' ? undefined : relationNamed(name, schema)
  if (relation) return tables.get(relation.oid)!
  if (schema === 'pg_catalog' || schema === 'information_schema')
    throw new SqlError('42P01', `relation "${names.join('.')}" does not exist`, { position: positionOf(at) })
  const generator = generatorName(names)
  return { oid: 0, name: generator, columns: sequenceColumns, generator }
}

/** The generator of a qualified name: `public` is dropped, any other schema belongs to the name. */
export function generatorName(names: readonly string[]): string {
  return (names.length > 1 && names[0] === 'public' ? names.slice(1) : names).join('.')
}
