/**
 * Chaskey-12, a keyed function with 128-bit keys made for 32-bit machines, which JavaScript's integers are.
 *
 * Source: Mouha, Mennink, Van Herrewege, Watanabe, Preneel, Verbauwhede, "Chaskey: An Efficient MAC Algorithm
 * for 32-bit Microcontrollers" (2014); 12 rounds as in ISO/IEC 29192-6. Only messages of one full block.
 */
import { FahaoError } from '../base/errors.ts'

/** Bytes in a key. */
export const keyBytes = 16

const rounds = 12

/** Holds a key, and never shows it. */
export class Chaskey12 {
  /** Key ⊕ subkey, which goes in before the permutation; the subkey's first word comes out after it. */
  readonly #in0: number
  readonly #in1: number
  readonly #in2: number
  readonly #in3: number
  readonly #out0: number

  /** Throws ERR unless the key is 16 bytes; the message does not show it. */
  constructor(key: Uint8Array) {
    if (!(key instanceof Uint8Array) || key.length !== keyBytes) {
      throw new FahaoError('ERR', `a key has ${keyBytes} bytes; make a new one from a secure random source`)
    }
    const view = new DataView(key.buffer, key.byteOffset, keyBytes)
    const k0 = view.getInt32(0, true)
    const k1 = view.getInt32(4, true)
    const k2 = view.getInt32(8, true)
    const k3 = view.getInt32(12, true)
    // The subkey is the key doubled in GF(2^128).
    this.#out0 = (k0 << 1) ^ ((k3 >> 31) & 0x87)
    this.#in0 = k0 ^ this.#out0
    this.#in1 = k1 ^ ((k1 << 1) | (k0 >>> 31))
    this.#in2 = k2 ^ ((k2 << 1) | (k1 >>> 31))
    this.#in3 = k3 ^ ((k3 << 1) | (k2 >>> 31))
  }

  /** The first 32 bits, signed, of the tag of a block of four little-endian words. */
  word(m0: number, m1: number, m2: number, m3: number): number {
    let v0 = m0 ^ this.#in0
    let v1 = m1 ^ this.#in1
    let v2 = m2 ^ this.#in2
    let v3 = m3 ^ this.#in3
    for (let round = 0; round < rounds; round++) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 13) | (v3 >>> 19)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 7) | (v1 >>> 25)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
    }
    return v0 ^ this.#out0
  }
}
