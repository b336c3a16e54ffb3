/** Reads names of types: `pg_catalog.int4[]`, `character varying(3)`, `double precision`. */
import { reservedWords } from './keywords.ts'
import type { TypeName } from './syntax.ts'
import type { TokenReader } from './token-reader.ts'

/** Names that SQL has for types, and the names of the same types in pg_type. */
const sqlNames: Readonly<Record<string, string>> = {
  bigint: 'int8',
  boolean: 'bool',
  char: 'bpchar',
  character: 'bpchar',
  'character varying': 'varchar',
  dec: 'numeric',
  decimal: 'numeric',
  'double precision': 'float8',
  float: 'float8',
  int: 'int4',
  integer: 'int4',
  nchar: 'bpchar',
  real: 'float4',
  smallint: 'int2',
  time: 'time',
  timestamp: 'timestamp',
}

/** Whether the next words are a type of SQL in front of a text, such as `timestamp with time zone '…'`. */
export function isTypeWord(reader: TokenReader): boolean {
  return (
    reader.isWord('double', 'precision') ||
    reader.isWord('character', 'varying') ||
    (/^(?:timestamp|time)$/.test(reader.token.text) && /^(?:with|without)$/.test(reader.ahead(1).text))
  )
}

/** Reads the name of a type. Throws SqlError 42601. */
export function readTypeName(reader: TokenReader): TypeName {
  const { at } = reader.token
  reader.takeWord('setof')
  const names = readNames(reader)
  const modifiers = readModifiers(reader)
  const zoned = readZone(reader, names)
  let isArray = reader.takeWord('array')
  while (reader.isSign('[')) {
    reader.take()
    if (reader.token.kind === 'number') reader.take()
    reader.needSign(']')
    isArray = true
  }
  return { names: zoned, modifiers, isArray, at }
}

function readNames(reader: TokenReader): string[] {
  const isQuoted = reader.token.kind === 'quoted'
  const names = [reader.takeName((word) => !reservedWords.has(word))]
  if (!isQuoted) {
    if (names[0] === 'double') {
      reader.needWord('precision')
      return ['float8']
    }
    if (/^(?:character|char|nchar)$/.test(names[0]!) && reader.takeWord('varying')) return ['varchar']
  }
  while (reader.takeSign('.')) names.push(reader.takeLabel())
  return names.length === 1 && !isQuoted ? [sqlNames[names[0]!] ?? names[0]!] : names
}

function readModifiers(reader: TokenReader): number[] {
  if (!reader.isSign('(')) return []
  return reader.parenthesised(() =>
    reader.list(() => {
      if (reader.token.kind !== 'number') throw reader.unexpected()
      return Number(reader.take().text)
    }),
  )
}

function readZone(reader: TokenReader, names: string[]): string[] {
  const [name] = names
  if (name !== 'timestamp' && name !== 'time') return names
  if (reader.takeWord('with', 'time', 'zone')) return [`${name}tz`]
  reader.takeWord('without', 'time', 'zone')
  return names
}
