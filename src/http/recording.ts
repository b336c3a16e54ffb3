/** The operations that change something, each followed by an entry in the audit trail. */
import type { FastifyRequest } from 'fastify'
import type { Audit } from '../auth/audit.ts'
import type { Operation } from './operation.ts'

/** The handler of an operation whose changes the audit trail records. A request that fails changes nothing. */
export function recording({ change, handler }: Operation, audit: Audit): Operation['handler'] {
  if (change === undefined) return handler
  return async (request, reply) => {
    const answer = await handler(request, reply)
    const { event, object = namedIn } = change
    // PUT answers 201 when it has created something, and 200 when it was there already.
    if (event === 'create' && reply.statusCode !== 201) return answer
    const { user } = request.access
    audit.record({ event, user, address: request.ip, door: 'http', object: object(request, answer) })
    return answer
  }
}

/** The last parameter of the path: the name of a generator or a user. Empty without parameters. */
function namedIn({ params }: FastifyRequest): string {
  return Object.values(params as Record<string, string>).at(-1) ?? ''
}
