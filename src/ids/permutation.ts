/**
 * Keyed permutations: every number of a domain is mapped to a number of the domain, each exactly once, in an order that
 * only the key determines.
 *
 * Invariants
 *  1. `forward` is one-to-one on [0, size), and `inverse` undoes it, for every key and size.
 *  2. The result depends on the key, the size and the tweak alone, and never changes between versions: issued ids
 *     depend on it. Known answers in the tests check it.
 *  3. No object shows its key: not as a property, not to JSON, not to a debugger's inspection.
 *
 * How: a Feistel network over the next power of two, whose two parts differ by at most one bit. The network is applied
 * again while the result lies outside the domain (cycle walking: Black and Rogaway, "Ciphers with Arbitrary Finite
 * Domains", 2002). The power of two is less than twice the size, so that fewer than two passes are needed on average.
 * A walk ends: it follows a cycle of the network that contains its own start, which lies inside.
 *
 * Rounds: four rounds of a pseudo-random function make a strong permutation of large domains (Luby and Rackoff,
 * 1988). Small domains need more: a block of a thousand ids has parts of only 5 bits. We take the ten of NIST's
 * FF1 (SP 800-38G). The round function is Chaskey-12, so that ids do not reveal the key; but where a domain
 * is small, most of its ids are enough to compute the others. This hides order and volume; it is no access control.
 */
import { assert } from '../base/assert.ts'
import { FahaoError } from '../base/errors.ts'

const rounds = 10
const chaskeyRounds = 12
/** Bytes in a key. */
const keySize = 16
const sizeMax = 1n << 63n
const blockSizeMax = 2 ** 32

/** What a key is used for; keeps uses of one key apart. */
const purposes = { whole: 1, block: 2, form: 3 } as const

/** A keyed permutation of [0, size). */
export interface Permutation {
  /** How many numbers it permutes. */
  readonly size: bigint
  /** Where `x` goes. Throws ERR outside [0, size). */
  forward(x: bigint): bigint
  /** What goes to `y`. Throws ERR outside [0, size). */
  inverse(y: bigint): bigint
}

/** A permutation for each block of a sequence of blocks. */
export interface BlockPermutation {
  /** The largest size of a block. */
  readonly blockSize: number
  /**
   * Where `offset` goes in the block; both are in [0, size).
   * @param block any number from 0 to 2^64 − 1 that distinguishes blocks: each has an order of its own.
   * @param size how many numbers the block has, at most and by default `blockSize`.
   */
  forward(block: bigint, offset: number, size?: number): number
}

/** A keyed permutation of [0, size), for sizes from 1 to 2^63. Takes well under a microsecond. Throws ERR. */
export function permutation(key: Uint8Array, size: bigint): Permutation {
  if (size < 1n || size > sizeMax) {
    throw new FahaoError('ERR', `a domain of ${size} numbers cannot be permuted; give 1 to 2^63`)
  }
  return new WholePermutation(key, size)
}

/** A permutation of [0, blockSize) for each block, for sizes from 1 to 2^32. Throws ERR. */
export function blockPermutation(key: Uint8Array, blockSize: number): BlockPermutation {
  if (!Number.isInteger(blockSize) || blockSize < 1 || blockSize > blockSizeMax) {
    throw new FahaoError('ERR', `blocks of ${blockSize} numbers cannot be permuted; give 1 to 2^32`)
  }
  return new EachBlockPermutation(key, blockSize)
}

/**
 * The key of a wide format that follows from a generator's key, both in hexadecimal digits: it is given to callers that may not
 * have the generator's.
 */
export function formKeyOf(key: string): string {
  const bytes = Uint8Array.from({ length: keySize }, (_, at) => parseInt(key.slice(2 * at, 2 * at + 2), 16))
  const keyed = new Chaskey12(bytes)
  const words = [0, 1].map((half) => keyed.word(half, 0, 0, purposes.form << 16) >>> 0)
  return words.map((word) => word.toString(16).padStart(8, '0')).join('')
}

/**
 * Chaskey-12, a keyed function with 128-bit keys made for 32-bit machines, which JavaScript's integers are. It holds a
 * key, and never shows it.
 *
 * Source: Mouha, Mennink, Van Herrewege, Watanabe, Preneel, Verbauwhede, "Chaskey: An Efficient MAC Algorithm
 * for 32-bit Microcontrollers" (2014); 12 rounds as in ISO/IEC 29192-6. Only messages of one full block.
 */
export class Chaskey12 {
  /** Key ⊕ subkey, which goes in before the permutation; the subkey's first word comes out after it. */
  readonly #in0: number
  readonly #in1: number
  readonly #in2: number
  readonly #in3: number
  readonly #out0: number

  /** Throws ERR unless the key is 16 bytes; the message does not show it. */
  constructor(key: Uint8Array) {
    if (!(key instanceof Uint8Array) || key.length !== keySize) {
      throw new FahaoError('ERR', `a key has ${keySize} bytes; make a new one from a secure random source`)
    }
    const view = new DataView(key.buffer, key.byteOffset, keySize)
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
    for (let round = 0; round < chaskeyRounds; round++) {
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

/** The direction of a pass through the network. */
const forwards = 1
const backwards = -1

/** The network: two parts of at most 32 bits, changed in place. */
class Feistel {
  readonly #function: Chaskey12
  readonly #purpose: number
  upper = 0
  lower = 0

  constructor(key: Uint8Array, purpose: number) {
    this.#function = new Chaskey12(key)
    this.#purpose = purpose
  }

  /** All rounds in order; `backwards`: in reverse order, which undoes them. */
  pass(width: number, tweakHi: number, tweakLo: number, direction: 1 | -1): void {
    const upperMask = mask(width >>> 1)
    const lowerMask = mask(lowerBits(width))
    const label = (this.#purpose << 16) | (width << 8)
    let { upper, lower } = this
    for (let round = direction > 0 ? 0 : rounds - 1; round >= 0 && round < rounds; round += direction) {
      const isEven = (round & 1) === 0
      const word = this.#function.word(isEven ? lower : upper, tweakLo, tweakHi, label | round)
      if (isEven) upper ^= word & upperMask
      else lower ^= word & lowerMask
    }
    this.upper = upper
    this.lower = lower
  }
}

class WholePermutation implements Permutation {
  readonly size: bigint
  readonly #network: Feistel
  readonly #width: number
  readonly #lastHi: number
  readonly #lastLo: number
  readonly #halves = new DataView(new ArrayBuffer(8))

  constructor(key: Uint8Array, size: bigint) {
    this.size = size
    this.#network = new Feistel(key, purposes.whole)
    this.#width = Math.max(2, (size - 1n).toString(2).length)
    this.#halves.setBigUint64(0, size - 1n)
    this.#lastHi = this.#halves.getUint32(0)
    this.#lastLo = this.#halves.getUint32(4)
  }

  forward(x: bigint): bigint {
    return this.#walk(x, forwards)
  }

  inverse(y: bigint): bigint {
    return this.#walk(y, backwards)
  }

  #walk(x: bigint, direction: 1 | -1): bigint {
    this.#load(x)
    do this.#network.pass(this.#width, 0, 0, direction)
    while (!this.#store())
    return this.#halves.getBigUint64(0)
  }

  #load(x: bigint): void {
    if (x < 0n || x >= this.size) {
      throw new FahaoError('ERR', `${x} is not permuted here; give 0 to ${this.size - 1n}`)
    }
    this.#halves.setBigUint64(0, x)
    const hi = this.#halves.getUint32(0)
    const lo = this.#halves.getUint32(4)
    const bits = lowerBits(this.#width)
    this.#network.lower = lo & mask(bits)
    this.#network.upper = bits === 32 ? hi : (hi << (32 - bits)) | (lo >>> bits)
  }

  /** Puts the network's parts together again; whether they are a number of the domain. */
  #store(): boolean {
    const { upper, lower } = this.#network
    const bits = lowerBits(this.#width)
    const hi = bits === 32 ? upper >>> 0 : upper >>> (32 - bits)
    const lo = bits === 32 ? lower >>> 0 : ((upper << bits) | lower) >>> 0
    if (hi > this.#lastHi || (hi === this.#lastHi && lo > this.#lastLo)) return false
    this.#halves.setUint32(0, hi)
    this.#halves.setUint32(4, lo)
    return true
  }
}

class EachBlockPermutation implements BlockPermutation {
  readonly blockSize: number
  readonly #network: Feistel
  readonly #tweak = new DataView(new ArrayBuffer(8))

  constructor(key: Uint8Array, blockSize: number) {
    this.blockSize = blockSize
    this.#network = new Feistel(key, purposes.block)
  }

  forward(block: bigint, offset: number, size: number = this.blockSize): number {
    const width = this.#load(block, offset, size)
    const tweakHi = this.#tweak.getInt32(0)
    const tweakLo = this.#tweak.getInt32(4)
    let place: number
    do {
      this.#network.pass(width, tweakHi, tweakLo, forwards)
      place = ((this.#network.upper << lowerBits(width)) | this.#network.lower) >>> 0
    } while (place >= size)
    return place
  }

  #load(block: bigint, x: number, size: number): number {
    assert(Number.isInteger(size) && size > 0 && size <= this.blockSize, 'a block has 1 to blockSize numbers')
    assert(Number.isInteger(x) && x >= 0 && x < size, 'a number lies inside its block')
    const width = Math.max(2, 32 - Math.clz32(size - 1))
    this.#tweak.setBigUint64(0, block)
    this.#network.lower = x & mask(lowerBits(width))
    this.#network.upper = x >>> lowerBits(width)
    return width
  }
}

/** The lower part has the odd bit. */
function lowerBits(width: number): number {
  return (width + 1) >>> 1
}

/** `bits` ones, of 32 at most, as a signed integer. */
function mask(bits: number): number {
  return bits === 32 ? -1 : (1 << bits) - 1
}
