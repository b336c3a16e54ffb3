/** The rows of catalogues that every database of PostgreSQL 15 has. What is not here is empty. */
import { functionsFacts } from '../facts/functions.ts'
import { allRelations, allTypes, isArray, oids, type Relation, typeOf } from '../types.ts'
import { fixedOids, sharedRelations } from './fixed-oids.ts'
import { attributeRow, type NamedRow } from './sequence-rows.ts'

type Rows = readonly NamedRow[]

/** The fixed rows of a relation that are the same for every session, made once. */
export function fixedRows({ name, isInformation }: Relation): Rows {
  return isInformation ? [] : (sharedRows[name]?.() ?? [])
}

function namespaceOf(isInformation: boolean): number {
  return isInformation ? fixedOids.informationSchema : fixedOids.pgCatalog
}

function classRows(): Rows {
  return [...allRelations()].map(({ oid, name, isInformation, kind, rowType, columns }) => ({
    oid,
    relname: name,
    relnamespace: namespaceOf(isInformation),
    reltype: rowType,
    relowner: fixedOids.owner,
    relam: kind === 'r' ? 2 : 0,
    relpages: 0,
    reltuples: -1,
    relhasindex: kind === 'r',
    relisshared: sharedRelations.has(name),
    relpersistence: 'p',
    relkind: kind,
    relnatts: columns.length,
    relhasrules: kind === 'v',
    relispopulated: true,
    relreplident: 'n',
    reltablespace: sharedRelations.has(name) ? 1664 : 0,
  }))
}

function attributeRows(): Rows {
  return [...allRelations()].flatMap((relation) =>
    relation.columns.map(({ name, type, notNull }, index) => {
      const facts = typeOf(type)!
      const { length, byValue, align, storage } = facts
      // What catalogues hold is compared as in "C".
      const collation = facts.collation === 0 || relation.isInformation ? facts.collation : 950
      return attributeRow(relation.oid, name, index + 1, {
        type,
        length,
        byValue,
        align,
        storage,
        notNull,
        collation,
        dimensions: isArray(type) && relation.kind === 'r' ? 1 : 0,
      })
    }),
  )
}

function typeRows(): Rows {
  return [...allTypes()].map((type) => {
    const [input = 0, output = 0, receive = 0, send = 0, modifierIn = 0, modifierOut = 0, subscript = 0] =
      type.functions
    return {
      oid: type.oid,
      typname: type.name,
      typnamespace: namespaceOf(type.isInformation),
      typowner: fixedOids.owner,
      typlen: type.length,
      typbyval: type.byValue,
      typtype: type.kind,
      typcategory: type.category,
      typispreferred: type.isPreferred,
      typisdefined: true,
      typdelim: type.delimiter,
      typrelid: type.relation,
      typsubscript: subscript,
      typelem: type.element,
      typarray: type.array,
      typinput: input,
      typoutput: output,
      typreceive: receive,
      typsend: send,
      typmodin: modifierIn,
      typmodout: modifierOut,
      typalign: type.align,
      typstorage: type.storage,
      typbasetype: type.base,
      typtypmod: type.baseModifier,
      typcollation: type.collation,
    }
  })
}

/** Functions by oid, with their names. */
export const functionNamesByOid: ReadonlyMap<number, string> = new Map(
  functionsFacts
    .trim()
    .split(/[\n;]/)
    .map((line) => {
      const [oid = '', name = ''] = line.split('|')
      return [Number(oid), name] as const
    }),
)

/** The oids of the functions of each name. */
export const functionOidsByName: ReadonlyMap<string, readonly number[]> = oidsByName()

function oidsByName(): Map<string, number[]> {
  const byName = new Map<string, number[]>()
  for (const [oid, name] of functionNamesByOid) {
    const known = byName.get(name)
    if (known) known.push(oid)
    else byName.set(name, [oid])
  }
  return byName
}

function functionRows(): Rows {
  return functionsFacts
    .trim()
    .split(/[\n;]/)
    .map((line) => {
      const [
        oid = '',
        name = '',
        kind = '',
        isSet = '',
        result = '',
        args = '',
        volatility = '',
        isStrict = '',
      ] = line.split('|')
      const types = args === '' ? [] : args.split(' ').map(Number)
      return {
        oid: Number(oid),
        proname: name,
        pronamespace: fixedOids.pgCatalog,
        proowner: fixedOids.owner,
        prolang: 12,
        procost: 1,
        prokind: kind,
        proisstrict: isStrict === '1',
        proretset: isSet === '1',
        provolatile: volatility,
        proparallel: 's',
        pronargs: types.length,
        prorettype: Number(result),
        proargtypes: types,
        prosrc: name,
      }
    })
}

const ranges = [
  [3904, oids.int4, 4451, 0, 1978],
  [3906, oids.numeric, 4532, 0, 3125],
  [3908, oids.timestamp, 4533, 0, 3128],
  [3910, oids.timestamptz, 4534, 0, 3127],
  [3912, oids.date, 4535, 0, 3122],
  [3926, oids.int8, 4536, 0, 3124],
] as const

const accessMethods = [
  [2, 'heap', 't'],
  [403, 'btree', 'i'],
  [405, 'hash', 'i'],
  [783, 'gist', 'i'],
  [2742, 'gin', 'i'],
  [4000, 'spgist', 'i'],
  [3580, 'brin', 'i'],
] as const

const collations = [
  [100, 'default', 'd', -1, null],
  [950, 'C', 'c', -1, 'C'],
  [951, 'POSIX', 'c', -1, 'POSIX'],
  [12_340, 'ucs_basic', 'c', 6, 'C'],
] as const

const made = new Map<string, Rows>()

function once(name: string, make: () => Rows): () => Rows {
  return () => {
    const rows = made.get(name) ?? make()
    made.set(name, rows)
    return rows
  }
}

const sharedRows: Readonly<Record<string, () => Rows>> = {
  pg_class: once('pg_class', classRows),
  pg_attribute: once('pg_attribute', attributeRows),
  pg_type: once('pg_type', typeRows),
  pg_proc: once('pg_proc', functionRows),
  pg_range: () =>
    ranges.map(([rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc]) => ({
      rngtypid,
      rngsubtype,
      rngmultitypid,
      rngcollation,
      rngsubopc,
    })),
  pg_am: () => accessMethods.map(([oid, amname, amtype]) => ({ oid, amname, amtype })),
  pg_tablespace: () =>
    [[1663, 'pg_default'] as const, [1664, 'pg_global'] as const].map(([oid, spcname]) => ({
      oid,
      spcname,
      spcowner: fixedOids.owner,
      spcacl: null,
      spcoptions: null,
    })),
  pg_language: () =>
    [[12, 'internal'] as const, [13, 'c'] as const, [14, 'sql'] as const].map(([oid, lanname]) => ({
      oid,
      lanname,
      lanowner: fixedOids.owner,
      lanpltrusted: lanname === 'sql',
      lanacl: null,
    })),
  pg_collation: () =>
    collations.map(([oid, collname, collprovider, collencoding, locale]) => ({
      oid,
      collname,
      collnamespace: fixedOids.pgCatalog,
      collowner: fixedOids.owner,
      collprovider,
      collisdeterministic: true,
      collencoding,
      collcollate: locale,
      collctype: locale,
      colliculocale: null,
      collversion: null,
    })),
}
