/** Names as SQL writes and reads them. */

import { SqlError } from '../sql-error.ts'
import { columnWords, functionWords, reservedWords } from './keywords.ts'

/** quote_ident: the name, in quotes where SQL needs them. */
export function quoteIdentifier(name: string): string {
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(name)
  if (isPlain && !reservedWords.has(name) && !functionWords.has(name) && !columnWords.has(name)) return name
  return `"${name.replaceAll('"', '""')}"`
}

const part = /\s*(?:"((?:[^"]|"")+)"|([^".\s]+))\s*/y

/** The parts of a qualified name. Throws SqlError 42602. */
export function splitName(text: string): string[] {
  const parts: string[] = []
  const invalid = () => new SqlError('42602', 'invalid name syntax')
  for (let at = 0; ; at++) {
    part.lastIndex = at
    const read = part.exec(text)
    if (!read) throw invalid()
    parts.push(
      read[1]?.replaceAll('""', '"') ?? read[2]!.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
    )
    at = part.lastIndex
    if (at === text.length) return parts
    if (text[at] !== '.') throw invalid()
  }
}

/** The sequence of a qualified name: `public` is dropped, any other schema belongs to the name. */
export function sequenceName(names: readonly string[]): string {
  return (names.length > 1 && names[0] === 'public' ? names.slice(1) : names).join('.')
}
