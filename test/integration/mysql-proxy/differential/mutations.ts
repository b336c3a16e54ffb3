/** Mutated statements: those of the corpus, with pieces taken away, doubled, swapped, replaced or put in. */

/** A source of random numbers that gives the same ones for the same seed: mulberry32. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** An integer from 0 to `below` - 1. */
  below(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }

  /** One of the values. */
  of<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!
  }

  /** True once in `inTimes` calls. */
  once(inTimes: number): boolean {
    return this.below(inTimes) === 0
  }
}

// ␠ stands for a space, ⇥ for a tab, ⏎ for a line feed, ↤ for a carriage return.
const pieces = String.raw`
␠ ¦ ␠␠ ¦ ⏎ ¦ ⇥ ¦ ↤⏎ ¦ /**/ ¦ /* x */ ¦ /* ¦ */ ¦ -- x⏎ ¦ -- ¦ --x ¦ # x⏎ ¦ # ¦ /*! ¦ /*!50000␠ ¦ /*M! ¦ /*! */ ¦
' ¦ " ¦ \` ¦ '' ¦ "" ¦ \`\` ¦ \' ¦ \" ¦ \ ¦ \\ ¦ 'a' ¦ "a" ¦ \`a\` ¦ 'a''b' ¦ '\'' ¦ '\\' ¦ x'41' ¦ N'a' ¦
_utf8mb4'a' ¦ _latin1'a' ¦ _binary'a' ¦ _gbk'a' ¦ 'a' 'b' ¦ '0' ¦ "0" ¦ '5' ¦ '' ¦
( ¦ ) ¦ , ¦ ; ¦ () ¦ (),() ¦ ,, ¦ . ¦ = ¦ := ¦ ? ¦ @x ¦ @@sql_mode ¦ { ¦ } ¦ || ¦ && ¦ $x ¦ :x ¦
0 ¦ 00 ¦ 0.0 ¦ -0 ¦ +0 ¦ .0 ¦ 0e0 ¦ 0x0 ¦ x'00' ¦ b'0' ¦ 1 ¦ 5 ¦ -5 ¦ 1.5 ¦ 0.4 ¦ 1e1 ¦ 0x10 ¦ 77 ¦
NULL ¦ null ¦ DEFAULT ¦ default ¦ FALSE ¦ TRUE ¦ \N ¦ DEFAULT(id) ¦ DEFAULT(note) ¦ IGNORE ¦ (NULL) ¦ ((0)) ¦
NULL + 1 ¦ LAST_INSERT_ID() ¦ LAST_INSERT_ID(5) ¦ (SELECT 1) ¦ 1 + 1 ¦ NOT 0 ¦ CONCAT(1, 2) ¦ VALUES(note) ¦
id ¦ ID ¦ \`id\` ¦ "id" ¦ orders.id ¦ shop.orders.id ¦ note ¦ \`note\` ¦ amount ¦ code ¦ nope ¦ id,␠ ¦ , id ¦ id = NULL ¦
orders ¦ \`orders\` ¦ "orders" ¦ shop.orders ¦ \`shop\`.\`orders\` ¦ ORDERS ¦ items ¦ \`Group\` ¦ plain ¦ logs ¦
other.orders ¦ other.facts ¦ order_notes ¦ nope ¦ shop ¦ other ¦
INSERT ¦ insert ¦ REPLACE ¦ INTO ¦ VALUES ¦ VALUE ¦ SET ¦ SELECT ¦ SELECT 1 ¦ LOW_PRIORITY ¦ HIGH_PRIORITY ¦ DELAYED ¦
ON DUPLICATE KEY UPDATE ¦ ON DUPLICATE KEY UPDATE note = 1 ¦ RETURNING id ¦ RETURNING * ¦ PARTITION (p0) ¦ AS n ¦
AS n(a, b) ¦ ROW ¦ UNION ¦ WITH x AS (SELECT 1) ¦ TABLE ¦ FROM logs ¦ WHERE 1 ¦ LIMIT 1 ¦ EXPLAIN ¦ ANALYZE ¦
BEGIN NOT ATOMIC ¦ END ¦ IF 1 THEN ¦ SET STATEMENT sql_mode = '' FOR ¦ USE other; ¦ USE shop; ¦ SET @x = 1; ¦
SET sql_mode = 'ANSI_QUOTES'; ¦ SET NAMES gbk; ¦ SELECT 1; ¦ ; SELECT 1 ¦ INSERT INTO orders (note) VALUES (1) ¦
; INSERT INTO orders (note) VALUES (1) ¦ INSERT INTO logs VALUES (1, 2) ¦ REPLACE INTO orders VALUES (0, 'a', 1, NULL)
`
  .replaceAll('\\`', '`')
  .trim()
  .split(/\s*¦\s*/)
  .map((piece) =>
    piece.replaceAll('␠', ' ').replaceAll('⇥', '\t').replaceAll('⏎', '\n').replaceAll('↤', '\r'),
  )

// In hexadecimal: control characters, quotes, parts of characters of several sets, and whole ones.
const bytes =
  '00 1a 5c 27 22 60 80 ff bf5c bf27 8160 8122 835c b35c c3a9 e58f91 f09f9880 a0 c2a0 0b 0c bf 8ea1 8140'.split(
    ' ',
  )

/** Words, numbers, quoted texts, comments, white space and single marks. They join to the same text. */
function split(sql: string): string[] {
  return sql.match(/\/\*.*?\*\/|'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|[\w$@.]+|\s+|./gs) ?? []
}

/** A statement with one to four changes. `others` are statements that pieces may come from. */
export function mutate(sql: Buffer, others: readonly Buffer[], random: Random): Buffer {
  let changed = sql
  for (let left = 1 + random.below(1 + random.below(4)); left > 0; left--)
    changed = mutateOnce(changed, others, random)
  return changed
}

function mutateOnce(sql: Buffer, others: readonly Buffer[], random: Random): Buffer {
  // One character for each byte.
  const parts = split(sql.toString('latin1'))
  const at = random.below(parts.length + 1)
  const piece = Buffer.from(random.of(pieces)).toString('latin1')
  switch (random.below(12)) {
    case 0:
      parts.splice(at, 1)
      break
    case 1:
      parts.splice(at, 1 + random.below(6))
      break
    case 2:
      parts.splice(at, 0, ...parts.slice(at, at + 1 + random.below(8)))
      break
    case 3: {
      const other = random.below(parts.length)
      const [left, right] = [parts[at] ?? '', parts[other] ?? '']
      parts[at] = right
      parts[other] = left
      break
    }
    case 4:
    case 5:
      parts.splice(at, 1, piece)
      break
    case 6:
    case 7:
      parts.splice(at, 0, random.once(2) ? ` ${piece} ` : piece)
      break
    case 8:
      parts[at] = random.once(2) ? (parts[at] ?? '').toUpperCase() : (parts[at] ?? '').toLowerCase()
      break
    case 9:
      parts.splice(at, 0, Buffer.from(random.of(bytes), 'hex').toString('latin1'))
      break
    case 10: {
      const from = split(random.of(others).toString('latin1'))
      parts.splice(
        at,
        random.below(4),
        ...from.slice(random.below(from.length)).slice(0, 1 + random.below(12)),
      )
      break
    }
    default:
      parts.push(random.once(2) ? '; ' : ' ', random.of(others).toString('latin1'))
  }
  return Buffer.from(parts.join(''), 'latin1')
}
