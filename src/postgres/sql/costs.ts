/**
 * What long values cost: an expression counts those that it reads as steps, and those that it makes as kept. Without that
 * a short statement doubles an array or a row 30 times, or reads a text of a megabyte for each of its rows. An expression of many
 * parts counts them, or a condition of 4,000 words would hold all others up while its rows count one step each.
 */
import type { Budget } from './budget.ts'
import type { Compiled, Context } from './plan.ts'
import { keyOf, sizeOf, type Value } from './values.ts'

/** So many characters or elements are read in a step. */
const stepSize = 16
/** Texts up to this size are read, and kept, with the rows that they are in. */
const freeSize = 64
/** Values up to this size count a cell for so many of their characters, or elements; longer ones count each. */
const smallSize = 1024
const charactersPerCell = 8
const elementsPerCell = 4
/** Keys count a cell for so many characters. */
const keyCharactersPerCell = 32

/** Counts the values that an expression reads. */
export function countRead({ budget }: Context, ...values: readonly Value[]): void {
  for (const value of values) {
    const isLong = typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array
    if (isLong && value.length > freeSize) budget.step(value.length / stepSize)
  }
}

/** Counts a value that an expression has made, and returns it. */
export function counted<T extends Value>(context: Context, value: T): T {
  if (value === null || (typeof value !== 'object' && typeof value !== 'string')) return value
  const size = sizeOf(value)
  if (size > freeSize) context.budget.step(size / stepSize)
  if (size > smallSize) context.budget.keep(size)
  else if (typeof value === 'object') context.budget.keep(Math.floor(size / elementsPerCell))
  else if (size > freeSize) context.budget.keep(Math.floor(size / charactersPerCell))
  return value
}

/**
 * Joins texts, and takes them one by one: `texts` makes the next one only while all before it fit into what the statement may
 * still keep. Throws SqlError 54000 before more is made.
 */
export function joined({ budget }: Context, texts: Iterable<string>, separator = ''): string {
  const parts: string[] = []
  let size = 0
  for (const text of texts) {
    size += text.length + (parts.length > 0 ? separator.length : 0)
    budget.demand(size)
    parts.push(text)
  }
  return parts.join(separator)
}

/** The key of several values together. Throws SqlError 54000 before one is made that the statement may not keep. */
export function keyOfAll(values: readonly Value[], budget: Budget): string {
  let size = 0
  for (const value of values) size += sizeOf(value)
  budget.demand(size)
  return values.map(keyOf).join()
}

/** The cells of a text that `counted` does not count, because it is short. */
export function cellsOfShortText(text: string): number {
  return sizeOf(text) > freeSize ? 0 : Math.floor(text.length / charactersPerCell)
}

/** Counts the text of a key that is kept: of a group, of a row that is compared with others. */
export function countKey(budget: Budget, key: string): void {
  budget.keep(Math.floor(key.length / keyCharactersPerCell))
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
