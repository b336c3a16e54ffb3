/** Requests to the HTTP API of the node that served the page. */
import { authorization, keepAuthorization } from './session.ts'

/** An answer that is an error: RFC 9457, or no answer at all. */
export class Problem extends Error {
  /** 0: the node was not reached. */
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.status = status
    this.code = code
  }
}

/** A request as it is sent, and as the forms show it. */
export type Request = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
}

/**
 * Sends a request; resolves to its JSON, or rejects with a Problem. A 401 ends the login of the tab. `header`: the credentials to
 * try in place of its own.
 */
export async function ask<Answer>(
  request: Request,
  signal?: AbortSignal,
  header = authorization(),
): Promise<Answer> {
  const response = await send(request, signal, header)
  if (response.status === 204) return undefined as Answer
  return (await response.json()) as Answer
}

/** Sends a request; resolves to an answer that is no error. */
export async function send(
  { method, path, body }: Request,
  signal?: AbortSignal,
  header = authorization(),
): Promise<Response> {
  const response = await fetch(path, {
    method,
    // No cookies, and no prompt of the browser for a password.
    credentials: 'omit',
    cache: 'no-store',
    headers: {
      ...(header === undefined ? {} : { authorization: header }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new Problem(0, '', String(error))
  })
  if (response.ok) return response
  if (response.status === 401 && header !== undefined && header === authorization())
    keepAuthorization(undefined, true)
  throw await problemOf(response)
}

async function problemOf(response: Response): Promise<Problem> {
  const { status, statusText } = response
  const body: unknown = await response.json().catch(() => ({}))
  const { code, detail } = body as { code?: unknown; detail?: unknown }
  return new Problem(
    status,
    typeof code === 'string' ? code : 'ERR',
    typeof detail === 'string' ? detail : `${status} ${statusText}`,
  )
}

/** The path with a query of what is not undefined. */
export function withQuery(
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): string {
  const present = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = present.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')
  return text === '' ? path : `${path}?${text}`
}

/** The path of a generator. */
export function generatorPath(name: string): string {
  return `/v1/generators/${encodeURIComponent(name)}`
}
