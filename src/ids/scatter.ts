/**
 * Scatter bits: the highest bits of an id, computed from the others, so that ids of one moment fall into many ranges of a
 * database that keeps neighbouring keys on one server. They are the highest bits of
 *
 *   x = low ^ (high · 0x9E3779B1);  x = (x ^ x >>> 16) · 0x85EBCA6B;  x = (x ^ x >>> 13) · 0xC2B2AE35;  x ^ x >>> 16
 *
 * modulo 2^32, where `high` and `low` are the halves of the id without its scatter and gene. From the second step on it is the
 * finalizer of MurmurHash3, by Austin Appleby: a permutation of 32 bits in which each bit of the input changes each bit of the
 * result with a probability of a half.
 */
import { FahaoError } from '../base/errors.ts'
import type { Layout } from './layout.ts'
import { type Run, two32 } from './run.ts'

/** The scatter of an id, in its place; 0 where the layout has none. The scatter and gene that the id has do not count. */
export function scatterOf({ scatterBits, scatterShift, geneBits }: Layout, id: bigint): bigint {
  if (scatterBits === 0) return 0n
  const rest = (BigInt.asUintN(scatterShift, id) >> BigInt(geneBits)) << BigInt(geneBits)
  const mixed = mix(Number(rest >> 32n), Number(BigInt.asUintN(32, rest)))
  return BigInt(mixed >>> (32 - scatterBits)) << BigInt(scatterShift)
}

/** Gives the first id of a run, which has neither scatter nor gene, its scatter. As `scatterOf`, without bigints. */
export function scatter(run: Run, { scatterBits, scatterShift }: Layout): void {
  const place = (mix(run.hi, run.lo) >>> (32 - scatterBits)) * 2 ** scatterShift
  run.hi += Math.floor(place / two32)
  run.lo += place % two32
}

/** Whether the ids of a layout, given by its canonical text, are scattered. The text names the highest field first. */
export function isScattered(layout: string | undefined): boolean {
  return layout?.startsWith('scatter:') === true
}

function mix(high: number, low: number): number {
  let x = low ^ Math.imul(high, 0x9e3779b1)
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}

/** The error for who asks for the smallest id of a moment where ids are scattered. */
export function scatteredMoments(name: string): FahaoError {
  return new FahaoError(
    'WRONGTYPE',
    `ids of '${name}' are scattered, so that those of a moment lie in each part of the numbers; use bounds`,
  )
}
