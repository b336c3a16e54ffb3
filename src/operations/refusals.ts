/** What refusals leave in the audit trail and in ACL LOG. */
import type { Refusal } from '../audit/acl-log.ts'
import { clientLine } from './client-line.ts'
import type { Services } from './context.ts'
import type { Session } from './session.ts'

type Context = { readonly session: Session; readonly server: Pick<Services, 'audit' | 'timeline'> }

/**
 * Records that the permissions of a user do not allow a request.
 * @param name the command or operation.
 * @param refused the name of the generator; undefined: the command is refused.
 */
export function recordDenied(
  context: Context,
  { user, address }: { readonly user: string; readonly address: string },
  name: string,
  refused: string | undefined,
): void {
  const { door } = context.session
  const reason = refused === undefined ? 'command' : 'key'
  recordRefusal(context, { reason, object: refused ?? name, username: user })
  context.server.audit.record({ event: 'denied', user, address, door, object: name, detail: refused })
}

/** Shows a refusal in ACL LOG. */
export function recordRefusal(
  { session, server }: Context,
  refusal: Pick<Refusal, 'reason' | 'object' | 'username'>,
): void {
  const { isOpen = false, isRunning = false } = session.transaction ?? {}
  const clientInfo = clientLine(session, server.timeline.monoUs())
  server.audit.aclLog.add({ ...refusal, context: isOpen || isRunning ? 'multi' : 'toplevel', clientInfo })
}
