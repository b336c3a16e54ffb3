/**
 * What long values cost: an expression counts those that it reads as steps, and those that it makes as kept. Without that
 * a short statement doubles an array or a row 30 times, or reads a text of a megabyte for each of its rows. An expression of many
 * parts counts them, or a condition of 4,000 words would hold all others up while its rows count one step each.
 */
import type { Compiled, Context } from './plan.ts'
import { sizeOf, type Value } from './values.ts'

/** Values up to this size are counted with the rows that they are in. */
const freeSize = 1024
/** So many characters or elements are read in a step. */
const stepSize = 16

/** Values up to this size are read with the rows that they are in. */
const freeReadSize = 64

/** Counts the values that an expression reads. */
export function countRead({ budget }: Context, ...values: readonly Value[]): void {
  for (const value of values) {
    const isLong = typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array
    if (isLong && value.length > freeReadSize) budget.step(value.length / stepSize)
  }
}

/** Counts a value that an expression has made, and returns it. */
export function counted<T extends Value>(context: Context, value: T): T {
  if (value === null || (typeof value !== 'object' && typeof value !== 'string')) return value
  const size = sizeOf(value)
  if (size > freeSize) {
    context.budget.step(size / stepSize)
    context.budget.keep(size)
  }
  return value
}

/** Expressions below this number of parts are counted with the rows that they are in. */
const freeParts = 64
/** So many parts of an expression are evaluated in a step. */
export const stepParts = 8

/** Whether an expression of so many parts counts its steps by itself. */
export function isLong(parts: number): boolean {
  return parts >= freeParts
}

/** An evaluation that counts its parts as steps. */
export function countedRun(run: Compiled['run'], parts: number): Compiled['run'] {
  const steps = Math.ceil(parts / stepParts)
  return (frame) => {
    frame.context.budget.step(steps)
    return run(frame)
  }
}
