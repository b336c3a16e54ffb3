/**
 * Throws unless `condition` holds. It is for conditions that only a bug in this code base can break. Operating errors
 * (bad input, a lost engine) are `FahaoError`s instead: they are expected, and say what to do.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** A broken invariant. No code catches it to continue: state after a broken invariant cannot be trusted. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** Marks a branch that the types exclude. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`)
}
