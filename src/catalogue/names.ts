/** What a generator may be called. */
import { FahaoError } from '../base/errors.ts'

const nameBytesMax = 256
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const refusedCharacters = /[\s\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/u
const encoder = new TextEncoder()

/** Throws ERR unless `name` is 1–256 bytes of UTF-8 without white space and control characters. */
export function checkName(name: string): void {
  if (name.length === 0) throw new FahaoError('ERR', 'a generator’s name cannot be empty')
  if (!name.isWellFormed()) throw new FahaoError('ERR', 'a generator’s name must be valid Unicode')
  if (refusedCharacters.test(name)) {
    throw new FahaoError('ERR', 'a generator’s name cannot contain white space or control characters')
  }
  if (name.length > nameBytesMax || encoder.encode(name).length > nameBytesMax) {
    throw new FahaoError('ERR', `a generator’s name has at most ${nameBytesMax} bytes`)
  }
}
