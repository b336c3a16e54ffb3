/** Turns of the event loop, for long work in parts. */

/** Resolves in the next turn of the event loop, after the sockets and timers that are due. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
