/** How long texts may be, and about how much memory what is made of them takes. */
import { SqlError } from './sql-error.ts'

/** In UTF-16 units. The thread of queries parses longer texts. */
const shortTextMax = 1024
/** Comments inside of each other take the parser the square of their number. */
const commentsMax = 20

/** Whether the main thread parses a text. */
export function isShort(text: string): boolean {
  return text.length <= shortTextMax && text.split('/*', commentsMax + 2).length <= commentsMax + 1
}
/** Longer statements have to be queries that the thread of queries runs. */
export const longTreeMax = 65_536
const textMax = 1_048_576

/** Throws 54000 for a text that is too long. */
export function demandReadable(text: string): void {
  if (text.length > textMax)
    throw new SqlError(
      '54000',
      `a text of ${text.length} characters is above the limit of ${textMax}; send its statements in several texts`,
    )
}

/** About what a statement takes that was made of a text, in bytes: what the main thread evaluates has closures for its nodes. */
export function bytesOf(text: string, isEvaluated: boolean): number {
  return 1000 + text.length * (isEvaluated ? 80 : 2)
}

/** About what a column takes that a statement describes. */
export const columnBytes = 200
