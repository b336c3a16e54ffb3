/**
 * The tables of Leaf, IdBuilder and tinyid: the meaning of a row, and the effect of the old service's statement on it. The
 * tables are alike in all other respects.
 */
import { integerOf, optionalTextOf, type Row, textOf } from '../engine/sql/driver.ts'

/** One old service's table. */
export type LegacySchema = {
  /** The name of the schema in `?schema=`. */
  readonly name: string
  readonly table: string
  /** The column that names a row, and whether it holds an integer. */
  readonly keyColumn: string
  readonly keyIsInteger: boolean
  /** The longest name of a row, in characters. */
  readonly keyMax: number
  /** The stored bound of a row: an expression over its columns. */
  readonly stored: string
  /** The bound minus the stored value: some tables store the last value of a range, not its end. */
  readonly shift: bigint
  /** The column that the bound is in. */
  readonly boundColumn: string
  /** The distance between the ids of a row: an expression over its columns, at least 1. */
  readonly increment: string
  /** The assignments of the old service's statement beside the bound. */
  readonly alsoSets: readonly string[]
  /** The column with the time of a row's last change, if the old service shows it. */
  readonly updateColumn?: string
  /** The columns, apart from the name and the bound, that determine the ids. */
  readonly ruleColumns: readonly string[]
  /** The options of the generator that a row stands for. */
  readonly options: (row: Row) => LegacyOptions
  /** The tokens that open rows, if the table has a companion for them. */
  readonly tokens?: { readonly table: string; readonly tokenColumn: string; readonly keyColumn: string }
}

/** Options of a generator, as records of rows hold them. */
export type LegacyOptions = {
  readonly kind: 'segment'
  /** Old services may issue 0. */
  readonly start: '0'
  /** In ids. */
  readonly step: number
  readonly increment?: number
  readonly offset?: string
  readonly within?: 'shuffled'
  readonly format?: string
}

/** The prefix of the name of a row that is out of service; an integer is negative then. */
export const movedPrefix = 'fahao-moved:'

const base = { kind: 'segment', start: '0' } as const

const leaf: LegacySchema = {
  name: 'leaf',
  table: 'leaf_alloc',
  keyColumn: 'biz_tag',
  keyIsInteger: false,
  keyMax: 128,
  stored: 'max_id',
  shift: 0n,
  boundColumn: 'max_id',
  increment: '1',
  alsoSets: [],
  updateColumn: 'update_time',
  ruleColumns: ['step'],
  options: (row) => ({ ...base, step: numberOf(row.step) }),
}

const idbuilder: LegacySchema = {
  name: 'idbuilder',
  table: 't_id_builder_config',
  keyColumn: 'id',
  keyIsInteger: true,
  keyMax: 10,
  stored: 'COALESCE(current_threshold, init_num, 0)',
  shift: 0n,
  boundColumn: 'current_threshold',
  increment: '1',
  alsoSets: ['version = version + 1'],
  ruleColumns: ['step', 'is_seq', 'biz_code'],
  options: (row) => {
    // Java writes a missing prefix as the word null. The index always stands before the id: a text without it could be one
    // that an old node has written of another id.
    const prefix = optionalTextOf(row.biz_code) ?? 'null'
    return {
      ...base,
      step: numberOf(row.step),
      ...(numberOf(row.is_seq) === 0 ? {} : { within: 'shuffled' }),
      format: `${prefix.replace(/[{}]/g, '$&$&')}{node}{id}`,
    }
  },
}

const tinyid: LegacySchema = {
  name: 'tinyid',
  table: 'tiny_id_info',
  keyColumn: 'biz_type',
  keyIsInteger: false,
  keyMax: 63,
  stored: 'max_id',
  shift: 1n,
  boundColumn: 'max_id',
  increment: 'GREATEST(COALESCE(delta, 1), 1)',
  alsoSets: ['version = version + 1', 'update_time = now()'],
  ruleColumns: ['step', 'delta', 'remainder'],
  options: (row) => {
    const increment = optionalTextOf(row.delta) === undefined ? 1 : numberOf(row.delta)
    const step = numberOf(row.step)
    return {
      ...base,
      // `step` of the row counts raw values; one in `delta` of them is an id.
      step: step > 0 ? Math.max(1, Math.floor(step / Math.max(1, increment))) : step,
      increment,
      offset: optionalTextOf(row.remainder) ?? '0',
    }
  },
  tokens: { table: 'tiny_id_token', tokenColumn: 'token', keyColumn: 'biz_type' },
}

/** The tables by their names in `?schema=`. */
export const legacySchemas: Readonly<Record<string, LegacySchema>> = { leaf, idbuilder, tinyid }

/** Whether `text` can be the name of a row in service; an integer has one spelling only. */
export function isKey({ keyIsInteger, keyMax }: LegacySchema, text: string): boolean {
  if (keyIsInteger) return /^(?:0|[1-9]\d{0,9})$/.test(text) && Number(text) < 2 ** 31
  return text !== '' && [...text].length <= keyMax && !text.startsWith(movedPrefix)
}

/** The name under which a row is out of service; undefined where there is none. */
export function movedKey(schema: LegacySchema, key: string): string | undefined {
  if (schema.keyIsInteger) return key === '0' ? undefined : `-${key}`
  const moved = movedPrefix + key
  return [...moved].length <= schema.keyMax ? moved : undefined
}

/** The name that a row had before it was taken out of service; undefined: it is in service. */
export function keyBeforeMove({ keyIsInteger }: LegacySchema, key: string): string | undefined {
  const prefix = keyIsInteger ? '-' : movedPrefix
  return key.startsWith(prefix) ? key.slice(prefix.length) : undefined
}

/** The bound of a row. */
export function boundOf({ shift }: LegacySchema, row: Row): bigint {
  return integerOf(row.stored) + shift
}

/** The name in a row. */
export function keyOf(row: Row): string {
  return textOf(row.name)
}

function numberOf(value: unknown): number {
  return value === null || value === undefined ? 0 : Number(textOf(value))
}
