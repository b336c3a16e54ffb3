/** Which names a generator may have. */
import { FahaoError } from '../base/errors.ts'
import { refuseLookAlike } from '../base/look-alike.ts'

/** The longest name of a generator, in bytes of UTF-8. */
export const nameBytesMax = 256
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const refusedCharacters = /[\s\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]/u
const encoder = new TextEncoder()

/**
 * Throws ERR unless `name` is 1–256 bytes of UTF-8 without white space and control characters.
 * @param subject the beginning of the message: what is named.
 */
export function checkName(name: string, subject = 'a generator’s name'): void {
  if (name.length === 0) throw new FahaoError('ERR', `${subject} cannot be empty`)
  if (!name.isWellFormed()) throw new FahaoError('ERR', `${subject} must be valid Unicode`)
  if (refusedCharacters.test(name)) {
    throw new FahaoError('ERR', `${subject} cannot contain white space or control characters`)
  }
  // A character has at most 3 bytes.
  if (
    name.length > nameBytesMax ||
    (name.length * 3 > nameBytesMax && encoder.encode(name).length > nameBytesMax)
  ) {
    throw new FahaoError('ERR', `${subject} has at most ${nameBytesMax} bytes`)
  }
}

/** Whether a name of which `checkName` approves may look like another one: see `checkNewName`. */
export function looksAlike(name: string): boolean {
  try {
    refuseLookAlike(name, 'generator')
    return false
  } catch {
    return true
  }
}

/** As `checkName`, and throws ERR for a new name that may look like another one. Names that exist stay in use. */
export function checkNewName(name: string): void {
  checkName(name)
  refuseLookAlike(name, 'generator')
}
