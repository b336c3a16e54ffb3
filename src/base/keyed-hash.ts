/**
 * HalfSipHash-1-3, with 32 bits of output or 64: a hash with a secret key: without the key no client can choose texts that
 * collide. From the reference in C, https://github.com/veorq/SipHash (halfsiphash.c, CC0), by J.-P. Aumasson and
 * D. J. Bernstein; Linux uses the same rounds for its hash tables.
 */

/** The hash of `length` bytes of `view` from `start` on, as a signed integer of 32 bits. */
export function keyedHash(view: DataView, start: number, length: number, key0: number, key1: number): number {
  let v0 = key0 | 0
  let v1 = key1 | 0
  let v2 = 0x6c796765 ^ key0
  let v3 = 0x74656462 ^ key1
  const whole = start + (length & ~3)
  // Of the last steps one takes the rest of the bytes and the length, three finish: they take 0.
  const end = whole + 16
  for (let at = start; at < end; at += 4) {
    let word = 0
    if (at < whole) word = view.getInt32(at, true)
    else if (at === whole) word = (length << 24) | restAt(view, at, length & 3)
    else if (at === whole + 4) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  return v1 ^ v3
}

/** `rest` bytes from `at` on, 0 to 3, as an integer: the first is the lowest. */
export function restAt(view: DataView, at: number, rest: number): number {
  if (rest === 0) return 0
  if (rest === 1) return view.getUint8(at)
  const two = view.getUint16(at, true)
  return rest === 2 ? two : two | (view.getUint8(at + 2) << 16)
}

/** The hash of 8 bytes, `first` and `second` as little-endian words, with 64 bits of output: `to[0]` has the first 32, `to[1]` the others. */
export function keyedHash64(first: number, second: number, key0: number, key1: number, to: Int32Array): void {
  let v0 = key0 | 0
  let v1 = key1 ^ 0xee
  let v2 = 0x6c796765 ^ key0
  let v3 = 0x74656462 ^ key1
  // A round takes each word, and one the length; three finish each half of the output.
  for (let round = 0; round < 9; round++) {
    if (round === 0) v3 ^= first
    else if (round === 1) {
      v0 ^= first
      v3 ^= second
    } else if (round === 2) {
      v0 ^= second
      v3 ^= 8 << 24
    } else if (round === 3) {
      v0 ^= 8 << 24
      v2 ^= 0xee
    } else if (round === 6) {
      to[0] = v1 ^ v3
      v1 ^= 0xdd
    }
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
  }
  to[1] = v1 ^ v3
}
