/**
 * States what only a bug in this code base can break. Operating errors (bad input, a lost engine) are
 * `FahaoError`s instead: those are expected, and tell people what to do.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** A broken invariant. It is never caught to go on: what holds state after one cannot be trusted. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** For the branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`)
}
