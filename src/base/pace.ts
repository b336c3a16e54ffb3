/** How long work shares the event loop: its parts wait for turns. Work is counted as the bytes of a reply that take as long. */

/** Resolves in the next round of the event loop, after the sockets and timers that are due. */
export const untilOthersHaveRun = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** The turns of the event loop that all requests share. */
export interface Pace {
  /** Resolves when a part of long work may begin: now, or after others have run. */
  take(bytes: number): Promise<void>
}
