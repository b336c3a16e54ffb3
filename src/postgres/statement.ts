/** Statements that are made of one act of a session. */
import { done } from './result.ts'
import type { Session, Statement } from './session.ts'

/** A statement that gives no rows. */
export function command(
  tag: string,
  act: (session: Session) => void | Promise<void>,
  options: { readonly runsAfterError?: boolean } = {},
): Statement {
  return {
    parameters: [],
    columns: undefined,
    ...options,
    run(session) {
      const acting = act(session)
      return acting === undefined ? done(tag) : acting.then(() => done(tag))
    },
  }
}
