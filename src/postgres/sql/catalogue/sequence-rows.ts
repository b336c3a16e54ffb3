/** The rows that catalogues have for each sequence, with the values that PostgreSQL 15 gives them. */
import type { SequenceFacts } from '../plan.ts'
import { oids, relationNamed } from '../types.ts'
import type { Value } from '../values.ts'
import { fixedOids } from './fixed-oids.ts'

/** A row by the names of its columns; others get a value that their type has for nothing. */
export type NamedRow = Readonly<Record<string, Value>>

const sizes: Readonly<Record<SequenceFacts['dataType'], readonly [type: number, bits: number]>> = {
  smallint: [oids.int2, 16],
  integer: [oids.int4, 32],
  bigint: [oids.int8, 64],
}

/** The rows of `relation` for a sequence. `oid` is its own, `place` has the names of its database and its owner, and its last value. */
export function sequenceRows(
  relation: string,
  facts: SequenceFacts,
  oid: number,
  place: { readonly database: string; readonly owner: string; readonly last: bigint | undefined },
): readonly NamedRow[] {
  const [type, bits] = sizes[facts.dataType]
  switch (relation) {
    case 'pg_class':
      return [classRow(facts.name, oid)]
    case 'pg_attribute':
      return attributeRows(oid)
    case 'pg_depend':
      return [
        {
          classid: fixedOids.pgClass,
          objid: oid,
          objsubid: 0,
          refclassid: fixedOids.pgNamespace,
          refobjid: fixedOids.public,
          refobjsubid: 0,
          deptype: 'n',
        },
      ]
    case 'pg_sequence':
      return [
        {
          seqrelid: oid,
          seqtypid: type,
          seqstart: facts.start,
          seqincrement: facts.increment,
          seqmax: facts.max,
          seqmin: facts.min,
          seqcache: facts.cache,
          seqcycle: false,
        },
      ]
    case 'pg_sequences':
      return [
        {
          schemaname: 'public',
          sequencename: facts.name,
          sequenceowner: place.owner,
          data_type: type,
          start_value: facts.start,
          min_value: facts.min,
          max_value: facts.max,
          increment_by: facts.increment,
          cycle: false,
          cache_size: facts.cache,
          last_value: place.last ?? null,
        },
      ]
    default:
      return [
        {
          sequence_catalog: place.database,
          sequence_schema: 'public',
          sequence_name: facts.name,
          data_type: facts.dataType,
          numeric_precision: bits,
          numeric_precision_radix: 2,
          numeric_scale: 0,
          start_value: String(facts.start),
          minimum_value: String(facts.min),
          maximum_value: String(facts.max),
          increment: String(facts.increment),
          cycle_option: 'NO',
        },
      ]
  }
}

/** The columns of a relation whose values are the same for all sequences: conditions on them need no sequence. */
export function sharedColumns(relation: string): ReadonlySet<number> {
  const own = ownColumns[relation]
  if (!own) return new Set()
  const { columns } = relationNamed(relation)!
  return new Set(columns.flatMap(({ name }, index) => (own.includes(name) ? [] : [index])))
}

const ownColumns: Readonly<Record<string, readonly string[]>> = {
  pg_class: ['oid', 'relname', 'relfilenode'],
  pg_depend: ['objid'],
}

function classRow(name: string, oid: number): NamedRow {
  return {
    oid,
    relname: name,
    relnamespace: fixedOids.public,
    relowner: fixedOids.owner,
    relfilenode: oid,
    relpages: 1,
    reltuples: 1,
    relpersistence: 'p',
    relkind: 'S',
    relnatts: 3,
    relispopulated: true,
    relreplident: 'n',
    relacl: null,
    reloptions: null,
    relpartbound: null,
  }
}

type Column = readonly [
  name: string,
  number: number,
  type: number,
  length: number,
  byValue: boolean,
  align: string,
]

const columns: readonly Column[] = [
  ['tableoid', -6, oids.oid, 4, true, 'i'],
  ['cmax', -5, oids.cid, 4, true, 'i'],
  ['xmax', -4, oids.xid, 4, true, 'i'],
  ['cmin', -3, oids.cid, 4, true, 'i'],
  ['xmin', -2, oids.xid, 4, true, 'i'],
  ['ctid', -1, oids.tid, 6, false, 's'],
  ['last_value', 1, oids.int8, 8, true, 'd'],
  ['log_cnt', 2, oids.int8, 8, true, 'd'],
  ['is_called', 3, oids.bool, 1, true, 'c'],
]

function attributeRows(oid: number): NamedRow[] {
  return columns.map(([name, number, type, length, byValue, align]) =>
    attributeRow(oid, name, number, {
      type,
      length,
      byValue,
      align,
      storage: 'p',
      notNull: true,
      collation: 0,
    }),
  )
}

/** A row of pg_attribute. */
export function attributeRow(
  relation: number,
  name: string,
  number: number,
  type: {
    type: number
    length: number
    byValue: boolean
    align: string
    storage: string
    notNull: boolean
    collation: number
    dimensions?: number
    modifier?: number
  },
): NamedRow {
  return {
    attrelid: relation,
    attname: name,
    atttypid: type.type,
    attstattarget: number < 0 ? 0 : -1,
    attlen: type.length,
    attnum: number,
    attndims: type.dimensions ?? 0,
    attcacheoff: -1,
    atttypmod: type.modifier ?? -1,
    attbyval: type.byValue,
    attalign: type.align,
    attstorage: type.storage,
    attnotnull: type.notNull,
    attislocal: true,
    attcollation: type.collation,
    attacl: null,
    attoptions: null,
    attfdwoptions: null,
    attmissingval: null,
  }
}
