/** Bytes of attacks, the same in each run. */

/** Bytes by a seed: as many as `length`. */
export function randomBytes(seed: number, length: number): Buffer {
  const next = randomNumbers(seed)
  return Buffer.from(Array.from({ length }, () => next(256)))
}

/** Honest messages in many orders, in which a few bytes are changed, inserted or left out. */
export function mutations(seed: number, honest: readonly Buffer[], count: number): Buffer {
  const next = randomNumbers(seed)
  return Buffer.concat(Array.from({ length: count }, () => mutated(honest[next(honest.length)]!, next)))
}

function mutated(message: Buffer, next: (below: number) => number): Buffer {
  let bytes = Buffer.from(message)
  for (let edits = next(3); edits > 0; edits--) {
    const at = next(bytes.length)
    const kind = next(3)
    const given = kind === 2 ? [] : [next(256)]
    bytes = Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from(given),
      bytes.subarray(kind === 1 ? at : at + 1),
    ])
  }
  return bytes
}

/** Xorshift of 32 bits: numbers below a bound. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
