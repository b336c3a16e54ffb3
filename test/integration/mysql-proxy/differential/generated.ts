/** Statements that follow the grammar of INSERT and REPLACE, with all their forms at random. */

import type { Random } from './mutations.ts'
import type { Parameter } from './mysql-client.ts'

/** What texts mean in the session. */
export type Modes = {
  readonly ansiQuotes: boolean
  readonly noBackslashEscapes: boolean
  /** The name of the client's character set. */
  readonly charset: string
  /** Values for parameters, in the order of the text: the statement gets `?` in place of some values. */
  readonly parameters?: Parameter[]
}

type Table = { readonly name: string; readonly id: string; readonly columns: readonly string[] }

const tables: readonly Table[] = [
  { name: 'orders', id: 'id', columns: ['id', 'note', 'amount', 'code'] },
  { name: 'orders', id: 'id', columns: ['id', 'note', 'amount', 'code'] },
  { name: 'items', id: 'id', columns: ['name', 'price', 'orders_id', 'id'] },
  { name: 'Group', id: 'Id', columns: ['key', 'Id', 'values'] },
  { name: 'plain', id: 'id', columns: ['id', 'note', 'u'] },
]

const gaps = [
  ' ',
  ' ',
  ' ',
  ' ',
  ' ',
  '  ',
  '\n',
  '\t',
  '/**/',
  "/* it's */",
  ' -- "x\n',
  ' # `x\n',
  '/* ) */',
  ' /* ; */ ',
]
const zeros =
  `NULL ¦ NULL ¦ null ¦ DEFAULT ¦ default ¦ 0 ¦ 0 ¦ 00 ¦ -0 ¦ 0.0 ¦ '0' ¦ FALSE ¦ 0x0 ¦ b'0' ¦ .0 ¦ +0 ¦ 0e0`.split(
    ' ¦ ',
  )
const givens = `5 ¦ 6 ¦ +8 ¦ '9' ¦ 10.0 ¦ 0x0b ¦ 1.2e1 ¦ TRUE ¦ 13 ¦ 14 ¦ 15`.split(' ¦ ')
const expressions =
  '1 + 1 ¦ (2) ¦ ABS(-3) ¦ CONCAT(4) ¦ (SELECT 5) ¦ IF(1, 6, 7) ¦ 5 * (1 + 2) ¦ @x ¦ LENGTH("a") ¦ DEFAULT ¦ NULL ¦ -8'.split(
    ' ¦ ',
  )
const multiBytes: Readonly<Record<string, readonly string[]>> = {
  utf8mb4: ['c3a9', 'e58f91', 'f09f9880'],
  latin1: ['e9', 'ff', 'c3'],
  gbk: ['bf5c', '8160', 'd6d0', '8140'],
  sjis: ['835c', '8160', 'b1', '955c'],
  big5: ['b35c', 'a560', 'a4a4'],
  cp932: ['835c', '8160', 'b1'],
}

/** One statement, or several. */
export function generate(random: Random, modes: Modes): Buffer {
  const { parameters } = modes
  const statements = Array.from({ length: !parameters && random.once(8) ? 2 + random.below(2) : 1 }, () =>
    insert(random, modes),
  )
  const end = random.once(6) ? random.of([';', ' ; ', '; -- x', ' /* x */', ' # x', ';;']) : ''
  return Buffer.from(statements.join(random.of([';', '; ', ' ;\n'])) + end, 'latin1')
}

function insert(random: Random, modes: Modes): string {
  const table = random.of(tables)
  const words: string[] = []
  const isReplace = random.once(6)
  words.push(random.of(isReplace ? ['REPLACE', 'replace'] : ['INSERT', 'INSERT', 'insert', 'InSeRt']))
  if (random.once(10)) words.push(isReplace ? 'LOW_PRIORITY' : random.of(['LOW_PRIORITY', 'HIGH_PRIORITY']))
  if (!isReplace && random.once(5)) words.push('IGNORE')
  if (!random.once(6)) words.push('INTO')
  words.push(tableName(table, random, modes))
  const form = random.below(5)
  if (form === 0) words.push('SET', assignments(table, random, modes))
  else words.push(...values(table, form === 1, random, modes))
  if (!isReplace && random.once(4))
    words.push('ON', 'DUPLICATE', 'KEY', 'UPDATE', updates(table, random, modes))
  if (random.once(12)) words.push('RETURNING', random.of(['*', name(table.id, random, modes), '1']))
  return words.reduce((text, word) => text + random.of(gaps) + word)
}

function values(table: Table, isWithoutList: boolean, random: Random, modes: Modes): string[] {
  const isEmpty = random.once(15)
  const all = isWithoutList
    ? table.columns
    : shuffled(table.columns, random).slice(0, 1 + random.below(table.columns.length))
  const columns = isEmpty ? [] : all
  const list = columns
    .map((column) => name(column, random, modes, table.name))
    .join(random.of([', ', ',', ' , ']))
  const rows = Array.from({ length: random.once(2) ? 1 : 1 + random.below(4) }, () => {
    const row = columns.map((column) => value(column, column === table.id, random, modes))
    return `(${random.once(8) ? random.of(gaps) : ''}${row.join(random.of([', ', ',', '/* , */,']))})`
  })
  const head = isWithoutList && !isEmpty ? [] : [`(${list})`]
  return [
    ...head,
    random.of(['VALUES', 'VALUES', 'values', 'VALUE']),
    rows.join(random.of([', ', ',', ' ,\n'])),
  ]
}

function assignments(table: Table, random: Random, modes: Modes): string {
  const columns = shuffled(table.columns, random).slice(0, 1 + random.below(table.columns.length))
  return columns
    .map((column) => {
      const sign = random.of(['=', ' = ', ':='])
      return (
        name(column, random, modes, table.name) + sign + value(column, column === table.id, random, modes)
      )
    })
    .join(', ')
}

function updates(table: Table, random: Random, modes: Modes): string {
  const others = table.columns.filter((column) => column !== table.id)
  const column = name(random.of(others), random, modes, table.name)
  const id = name(table.id, random, modes)
  const own = random.of([
    `${column} = ${column}`,
    `${column} = VALUES(${column})`,
    `${column} = 3`,
    `${column} = DEFAULT`,
  ])
  return random.once(5) ? `${id} = LAST_INSERT_ID(${id}), ${own}` : own
}

function value(column: string, isId: boolean, random: Random, modes: Modes): string {
  if (modes.parameters && random.once(2)) {
    const values: readonly Parameter[] = isId ? [null, null, 0, 5, 6, '0', 20] : [1, 'a', '2', null]
    modes.parameters.push(column === 'orders_id' ? null : random.of(values))
    return '?'
  }
  if (isId) return random.of(random.once(3) ? givens : zeros)
  if (column === 'orders_id') return 'NULL'
  if (['amount', 'price', 'u'].includes(column))
    return random.of(['1', '2', '3.5', 'DEFAULT', '-4', '(5)', "'6'", '1 + 1'])
  return random.once(4) ? random.of(expressions).replace('"a"', "'a'") : text(random, modes)
}

const contents = 'a ¦ b ¦ ( ¦ ) ¦ , ¦ ; ¦ ),( ¦ -- ¦ # ¦ /* ¦ */ ¦ ? ¦ 0 ¦   ¦ NULL ¦ @x ¦ % ¦ 发'.split(
  ' ¦ ',
)

function text(random: Random, modes: Modes): string {
  const quote = modes.ansiQuotes || random.once(2) ? "'" : '"'
  const other = quote === "'" ? '"' : "'"
  let content = ''
  for (let left = random.below(5); left > 0; left--) {
    const escapes = modes.noBackslashEscapes
      ? ['\\', quote + quote, other, '`']
      : [`\\${quote}`, '\\\\', quote + quote, other, '`', '\\n', '\\%', '\\0']
    const pick = random.below(3)
    if (pick === 0) content += Buffer.from(random.of(contents), 'ascii').toString('latin1')
    else if (pick === 1) content += random.of(escapes)
    else content += Buffer.from(random.of(multiBytes[modes.charset]!), 'hex').toString('latin1')
  }
  const head = random.once(10) ? random.of(['N', '_binary', `_${modes.charset}`, `_${modes.charset} `]) : ''
  return `${head}${quote}${content}${quote}`
}

function name(column: string, random: Random, modes: Modes, table?: string): string {
  const cased = random.once(8) ? column.toUpperCase() : column
  const isReserved = ['key', 'values'].includes(column)
  const quoted = isReserved || random.once(3) ? quotedName(cased, random, modes) : cased
  if (table === undefined || !random.once(10)) return quoted
  const owner = table === 'Group' ? '`Group`' : table
  return random.once(2) ? `${owner}.${quoted}` : `shop.${owner}.${quoted}`
}

function tableName(table: Table, random: Random, modes: Modes): string {
  const plain = table.name === 'Group' || random.once(3) ? quotedName(table.name, random, modes) : table.name
  return random.once(4) ? `${random.of(['shop', '`shop`'])}${random.of(['.', ' . ', '. '])}${plain}` : plain
}

function quotedName(text: string, random: Random, modes: Modes): string {
  return modes.ansiQuotes && random.once(2) ? `"${text}"` : `\`${text}\``
}

function shuffled(values: readonly string[], random: Random): string[] {
  const left = [...values]
  return values.map(() => left.splice(random.below(left.length), 1)[0]!)
}
