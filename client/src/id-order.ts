/** The orders in which ids of a range are issued when not as they are counted. */
import { secretBytes } from '../../src/base/clock.ts'
import { blockPermutation, permutation } from '../../src/ids/permutation.ts'

/** An order of the ids of a range of `size` ids whose first raw value is `first`. */
export interface IdOrder {
  /** The id at `index`, from 0. */
  at(first: bigint, size: number, index: number): bigint
  /** The largest id that the range can hold, or one above it. */
  largest(first: bigint, size: number): bigint
  /** The raw value at which the unused rest starts, after `used` ids. */
  unused(first: bigint, size: number, used: number): bigint
}

/** Ids of a shuffled block: the server's own blocks are as long as its refills. */
const blockSize = 4096

/**
 * The order of a scrambled generator: the same permutation of `[0, max]` as in the service, so that a raw value becomes the
 * same id in both. Throws ERR if `max` is not from 0 to 2^63 − 1.
 */
export function scrambled(keyHex: string, max: bigint): IdOrder {
  const key = Uint8Array.from(keyHex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
  const whole = permutation(key, max + 1n)
  return {
    at: (first, _size, index) => whole.forward(first + BigInt(index)),
    largest: () => max,
    unused: (first, _size, used) => first + BigInt(used),
  }
}

/** A secret order of this process's own within blocks of a range: which range it is, the service decides. */
export function shuffled(increment: number): IdOrder {
  const blocks = blockPermutation(secretBytes(16), blockSize)
  const stride = BigInt(increment)
  return {
    at(first, size, index) {
      const start = index - (index % blockSize)
      const block = first + BigInt(start) * stride
      const place = blocks.forward(block, index - start, Math.min(blockSize, size - start))
      return block + BigInt(place) * stride
    },
    largest: (first, size) => first + BigInt(size - 1) * stride,
    unused: (first, size, used) =>
      first + BigInt(Math.min(size, Math.ceil(used / blockSize) * blockSize)) * stride,
  }
}
