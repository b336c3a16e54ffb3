/**
 * The random distances between ids of a counter with `increment: 1..9`: in order, and not to be counted by the difference of
 * two ids.
 *
 * Invariants
 *  1. Every distance is from the lowest to the highest one, each equally likely as far as can be told without the key.
 *  2. The distance behind an id follows from the id and the key alone. No object shows its key.
 */

import { Chaskey12 } from './permutation.ts'
import { two32 } from './run.ts'

/** The largest distance that is given at random. */
const highestMax = 100_000
const rangeText = /^([1-9]\d{0,5})\.\.([1-9]\d{0,5})$/

/** How ids of a counter are apart: `increment`, or at random within `incrementRange`, such as `1..9`. */
export type Distance = { readonly increment?: number; readonly incrementRange?: string }

/** The bounds of a text such as `1..9`; undefined: it is none. */
export function readIncrementRange(text: string): { lowest: number; highest: number } | undefined {
  const [lowest, highest] = (rangeText.exec(text) ?? []).slice(1).map(Number)
  if (lowest === undefined || highest === undefined) return undefined
  return lowest < highest && highest <= highestMax ? { lowest, highest } : undefined
}

/** The largest distance from an id to the next one; 1 where ids are made of the clock. */
export function longestStep({ increment = 1, incrementRange }: Distance): number {
  return incrementRange === undefined ? increment : readIncrementRange(incrementRange)!.highest
}

/** The distance from an id to the next one on average. */
export function meanStep({ increment = 1, incrementRange }: Distance): number {
  if (incrementRange === undefined) return increment
  const { lowest, highest } = readIncrementRange(incrementRange)!
  return (lowest + highest) / 2
}

/** The distances of one generator in one process. */
export class RandomSteps {
  readonly highest: number
  readonly #lowest: number
  readonly #keyed: Chaskey12

  /** @param range as `readIncrementRange` reads it. */
  constructor(range: string, key: Uint8Array) {
    const { lowest, highest } = readIncrementRange(range)!
    this.highest = highest
    this.#lowest = lowest
    this.#keyed = new Chaskey12(key)
  }

  /** The distance from an id, given as two halves, to the next one. */
  after(hi: number, lo: number): number {
    const word = this.#keyed.word(lo, hi, 0, 0) >>> 0
    return this.#lowest + Math.floor((word / two32) * (this.highest - this.#lowest + 1))
  }

  /** How far `count` ids are from the first one, each; then how far the next one is. */
  walk(first: bigint, count: number): Float64Array {
    const offsets = new Float64Array(count + 1)
    let hi = Number(first >> 32n)
    let lo = Number(first & 0xffff_ffffn)
    for (let at = 1; at <= count; at++) {
      const step = this.after(hi, lo)
      offsets[at] = offsets[at - 1]! + step
      lo += step
      if (lo < two32) continue
      lo -= two32
      hi++
    }
    return offsets
  }
}
