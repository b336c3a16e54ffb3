/** A way to one node, whatever it speaks. */
import { type ErrorCode, errorKinds, FahaoError } from '../../src/base/errors.ts'
import type { Request } from './requests.ts'

/** Sends requests to one node. Opened at its first request, and again after a failure. */
export interface Link {
  /** The node, without credentials. */
  readonly node: string
  /**
   * The reply, not read yet. Rejects with the error of the node, with `Unsent`, or with UNAVAILABLE when no answer came within
   * `timeoutMs`: the request may have been carried out then.
   */
  send(request: Request<unknown>, timeoutMs: number): Promise<unknown>
  /** Ends its connections. */
  close(): void
}

/** No connection came about: the node has not received the request. */
export class Unsent extends FahaoError {
  constructor(text: string, cause: unknown) {
    super('UNAVAILABLE', text, { cause })
  }
}

/** A refusal because of MOVED: another node leads the generator. */
export class Redirected extends FahaoError {
  /** `host:port` of the leader's RESP. */
  readonly address: string

  constructor(text: string) {
    super('MOVED', text)
    this.address = text.slice(text.lastIndexOf(' ') + 1)
  }
}

/** The error that a node has sent: a registered code, and a sentence. Unknown codes, of newer servers, become ERR. */
export function errorOf(code: string, text: string, retryAfterMs?: number): FahaoError {
  if (code === 'MOVED') return new Redirected(text)
  const options = retryAfterMs === undefined ? {} : { retryAfterMs }
  return code in errorKinds
    ? new FahaoError(code as ErrorCode, text, options)
    : new FahaoError('ERR', `${code} ${text}`, options)
}
