/** Where the proxy takes ids from. */
import type { DrawnIds } from './sql/fill.ts'

/** Gives ids of generators. */
export interface IdSupply {
  /**
   * The next `count` ids of a generator, contiguous where its kind allows it. Throws or rejects with a FahaoError.
   * @param signal ends the wait.
   */
  take(generator: string, count: number, signal: AbortSignal): DrawnIds | Promise<DrawnIds>
  /** Whether the ids of a generator are texts. Throws or rejects as `take` does. */
  isText(generator: string, signal: AbortSignal): boolean | Promise<boolean>
}
