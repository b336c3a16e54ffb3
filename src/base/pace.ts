/** How long work shares the event loop: its parts wait for turns. Work is counted as the bytes of a reply that take as long. */

/** The turns of the event loop that all requests share. */
export interface Pace {
  /** Resolves when a part of long work may begin: now, or after others have run. */
  take(bytes: number): Promise<void>
}
