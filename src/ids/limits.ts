/** The largest ids. */

/** 2^53 − 1: the largest integer that a JavaScript number, and JSON as most read it, holds exactly. */
export const max53 = 2n ** 53n - 1n

/** 2^63 − 1: the largest positive signed 64-bit integer, and the largest id. */
export const max63 = 2n ** 63n - 1n
