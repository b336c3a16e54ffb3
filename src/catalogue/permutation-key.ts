/** Keys of permutations. */
import type { Definition } from './definition.ts'

/** A fresh secret key, 32 hexadecimal digits, where a definition permutes its ids; undefined elsewhere. */
export function newKey(definition: Definition): string | undefined {
  if (!definition.scramble && definition.within !== 'shuffled') return undefined
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('')
}
