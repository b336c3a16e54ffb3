/**
 * Names of generators as SQL writes them: a part without quotes is in lower case, the schema `public` may stand in front,
 * and any other qualified name `s.n` is the generator `s.n`.
 */
import { SqlError } from './sql-error.ts'

/** The name that these parts stand for. */
export function parseName(parts: readonly string[]): string {
  return (parts.length > 1 && parts[0] === 'public' ? parts.slice(1) : parts).join('.')
}

/** Folds ASCII letters only, as PostgreSQL does with UTF-8. */
function foldCase(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** Longer texts name no generator: names have at most 256 bytes. */
const lengthMax = 2048
const part = /[ \t\n\r\f\v]*(?:"((?:[^"]|"")+)"|([^".\s]+))[ \t\n\r\f\v]*/y

/**
 * The generator that a text names, as the input of the type regclass: `order`, `"Order"`, `public.order`. A name with other
 * characters than letters and digits, such as `shop:order`, needs no quotes. Throws 42602.
 */
export function nameOfText(text: string): string {
  if (text.length > lengthMax)
    throw new SqlError(
      '42602',
      `a name of ${text.length} characters is too long; names have at most 256 bytes`,
    )
  const parts: string[] = []
  let at = 0
  do {
    part.lastIndex = at
    const found = part.exec(text)
    if (found === null) throw new SqlError('42602', `invalid name syntax: "${text.slice(0, 64)}"`)
    parts.push(found[1]?.replaceAll('""', '"') ?? foldCase(found[2]!))
    at = part.lastIndex
  } while (text[at++] === '.')
  if (at <= text.length) throw new SqlError('42602', `invalid name syntax: "${text.slice(0, 64)}"`)
  return parseName(parts)
}

/** The text that names a generator in SQL, with quotes where it needs them. */
export function textOfName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}
