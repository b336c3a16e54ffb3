/** What a draw with the key of a request leaves in the store. */
import type { Run } from '../ids/run.ts'

/** The record that such a draw makes, with its reserve in one step where nothing is buffered. */
export type OnceRecord = {
  readonly key: string
  /** Its value, for the ids of the draw. */
  value(runs: readonly Run[]): string
}

/** The rejection of a draw whose record exists: another draw has made it, and its ids are the answer. */
export class TakenKey extends Error {
  override readonly name = 'TakenKey'
}
