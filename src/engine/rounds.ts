/** Long work in parts: others run between two of them. */

/** Resolves in the next round of the event loop, after the sockets and timers that are due. */
export const untilOthersHaveRun = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
