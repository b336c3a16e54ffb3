/** The names of holders: HOLDER of a lease, OWNER of a plain worker id. Lists print them on terminals of operators. */
import { FahaoError } from '../base/errors.ts'

/** Controls, invisible characters that change how a line is shown, halves of surrogate pairs, line separators. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** The names that a holder may have, in bytes of UTF-8. */
export type HolderNameLimits = { readonly bytesMin: number; readonly bytesMax: number }

/** Throws ERR if a name is too long or short, or has a character that a list cannot print as it is. */
export function checkHolderName(word: 'HOLDER' | 'OWNER', name: string, limits: HolderNameLimits): void {
  const { bytesMin, bytesMax } = limits
  const bytes = Buffer.byteLength(name)
  if (bytes < bytesMin || bytes > bytesMax)
    throw new FahaoError('ERR', `${word} must have ${bytesMin} to ${bytesMax} bytes`)
  const [found] = unprintable.exec(name) ?? []
  if (found === undefined) return
  const code = found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
  throw new FahaoError(
    'ERR',
    `${word} has the control or format character U+${code}, and lists print it; leave the character out`,
  )
}
