/** What operations leave in the audit trail: what they have changed, and what they have refused to do. */
import type { FastifyRequest } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import { hasCode } from '../base/errors.ts'
import type { ApiRoute } from './api-route.ts'
import { clientAddress, recordDenied } from './caller.ts'

/** The handler of an operation whose changes the audit trail records. A request that fails changes nothing. */
export function recording(operation: ApiRoute, audit: Audit): ApiRoute['handler'] {
  const { change } = operation
  const handler = recordingDenials(operation, audit)
  if (change === undefined) return handler
  return async (request, reply) => {
    const answer = await handler(request, reply)
    const { event, object = namedIn } = change
    // PUT answers 201 when it has created something, and 200 when it was there already.
    if (event === 'create' && reply.statusCode !== 201) return answer
    const { user, administers } = request.access
    audit.record({
      event,
      user,
      address: clientAddress(request),
      door: 'http',
      object: object(request, answer),
      isOrdinary: !administers,
    })
    return answer
  }
}

/** Records what the handler refuses because of the body or the query. `caller.ts` records what it refuses before that. */
function recordingDenials({ command, handler }: ApiRoute, audit: Audit): ApiRoute['handler'] {
  return (request, reply) =>
    handler(request, reply)?.catch((error) => {
      if (hasCode(error, 'NOPERM')) {
        const [detail] = error.message.split(';', 1)
        recordDenied(audit, request, command, detail)
      }
      throw error
    })
}

/** The last parameter of the path: the name of a generator or a user. Empty without parameters. */
function namedIn({ params }: FastifyRequest): string {
  return Object.values(params as Record<string, string>).at(-1) ?? ''
}
