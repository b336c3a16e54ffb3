/** Parameters as a servlet reads them: from the query, and after it from a form that was posted. */
import type { FastifyRequest } from 'fastify'

/** The first value of a parameter; undefined where it was not given. Names that nobody asks for are ignored. */
export function parameterOf(request: FastifyRequest, name: string): string | undefined {
  const inQuery = (request.query as Readonly<Record<string, string | string[] | undefined>>)[name]
  if (inQuery !== undefined) return typeof inQuery === 'string' ? inQuery : inQuery[0]
  if (request.method !== 'POST' || typeof request.body !== 'string') return undefined
  return new URLSearchParams(request.body).get(name) ?? undefined
}
