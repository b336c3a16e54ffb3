/** Names as SQL writes and reads them, and its key words (PostgreSQL's manual, appendix C). */
import { SqlError } from '../sql-error.ts'
import { keywordsFacts } from './facts/keywords.ts'

/**
 * Every key word: its category (U: a name everywhere; C: no function or type; T: no column or table; R: reserved), and `1`
 * where it labels a column without AS.
 */
export const keywords: ReadonlyMap<string, readonly [category: string, isBareLabel: string]> = new Map(
  keywordsFacts
    .trim()
    .split(/[\n;]/)
    .map((line) => {
      const [word = '', category = '', isBareLabel = ''] = line.split(' ')
      return [word, [category, isBareLabel]]
    }),
)

/** quote_ident: the name, in quotes where SQL needs them. */
export function quoteIdentifier(name: string): string {
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(name) && (keywords.get(name)?.[0] ?? 'U') === 'U'
  return isPlain ? name : `"${name.replaceAll('"', '""')}"`
}

/** Longer texts name no sequence: names have at most 256 bytes. */
const lengthMax = 2048
const part = /[ \t\n\r\f\v]*(?:"((?:[^"]|"")+)"|([^". \t\n\r\f\v]+))[ \t\n\r\f\v]*/y

/** The parts of a qualified name; one without quotes is in lower case, as to its ASCII letters. Throws SqlError 42602. */
export function splitName(text: string): string[] {
  const parts: string[] = []
  for (let at = 0; ; at++) {
    part.lastIndex = at
    const read = text.length > lengthMax ? null : part.exec(text)
    at = part.lastIndex
    if (!read || (at < text.length && text[at] !== '.'))
      throw new SqlError('42602', `invalid name syntax: "${text.slice(0, 64)}"`)
    const [, quoted, plain = ''] = read
    parts.push(quoted?.replaceAll('""', '"') ?? plain.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()))
    if (at === text.length) return parts
  }
}

/** The generator of a qualified name: `public` is dropped, any other schema belongs to the name. */
export function sequenceName(names: readonly string[]): string {
  return (names.length > 1 && names[0] === 'public' ? names.slice(1) : names).join('.')
}

/**
 * The sequence that a text names, as the input of the type regclass: `order`, `"Order"`, `public.order`. A name with other
 * characters than letters and digits, such as `shop:order`, needs no quotes. Throws SqlError 42602.
 */
export function nameOfText(text: string): string {
  return sequenceName(splitName(text))
}
