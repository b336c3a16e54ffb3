/** Requests as a node forwards them, for tests of the receiver. */
import { createHash } from 'node:crypto'
import { type NodeProof, purposeOfHttp } from '../../../src/auth/node-proof.ts'

/** A request, and what it is proven for. */
type Forwarded = {
  readonly method?: string
  readonly url: string
  readonly user: string
  /** The id of the receiver. */
  readonly nodeId?: string
  readonly revision?: number
  readonly client?: string
  readonly body?: string
}

/** The headers that prove it. */
export function forwardedHeaders(proof: NodeProof, request: Forwarded): Record<string, string> {
  const { method = 'POST', url, user, nodeId = 'here', revision = 1000, client = '10.0.0.7', body } = request
  const digest = body === undefined ? '' : createHash('sha256').update(body).digest('base64url')
  const contentType = body === undefined ? undefined : 'application/json'
  const purpose = purposeOfHttp({ method, path: url, contentType, digest, client })
  const made = proof.make(nodeId, { user, revision }, purpose)
  return {
    authorization: `Fahao-Node ${Buffer.from(user).toString('base64url')}:${digest}:${made}`,
    'fahao-forwarded': client,
    ...(contentType !== undefined && { 'content-type': contentType }),
  }
}
