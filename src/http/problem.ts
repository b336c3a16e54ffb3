/** Errors as HTTP shows them: RFC 9457 problem details, with the registry's word in `code`. */
import type { FastifyError } from 'fastify'
import { z } from 'zod'
import type { Access } from '../auth/access.ts'
import { errorRegistry } from '../base/error-texts.ts'
import { type ErrorCode, FahaoError } from '../base/errors.ts'
import { STATUS_CODES } from './plain-http.ts'

/** The body of every error answer, as a schema. */
export const problemShape = z
  .object({
    type: z
      .string()
      .meta({ description: 'where this error is explained; about:blank: its status says it all' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'what is wrong with this request, and what to do' }),
    code: z.enum(Object.keys(errorRegistry) as ErrorCode[]).meta({ description: 'stable, for programs' }),
    retryable: z.boolean().meta({ description: 'whether the same request, a moment later, can succeed' }),
    instance: z.string().meta({ description: 'path and query of the request' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem details' })

/** The body of every error answer. */
export type Problem = Readonly<z.output<typeof problemShape>>

/** The content type of problem details. */
export const problemType = 'application/problem+json; charset=utf-8'

/** How long a client waits before it sends a retryable request again, in seconds, unless the error knows. */
export const retryAfterSeconds = 1

/** The refusal of a request with a status of HTTP. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

/**
 * The problem that describes anything thrown. `url`: path and query of the request; its tokens are not shown. `access`: what
 * the reader may name; undefined: nothing.
 */
export function problemOf(error: unknown, url: string, access?: Access): Problem {
  const instance = withoutTokens(url)
  if (error instanceof FahaoError)
    return registered(
      error.code,
      error.messageFor((pattern) => access?.reaches(pattern) === true),
      instance,
    )
  if (error instanceof HttpRefusal) return plain(error.status, error.message, instance)
  const { code, statusCode } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return registered('LIMIT', 'the body is larger than http-body-max; send less', instance)
  }
  const known = code === undefined ? undefined : framework[code]
  if (known !== undefined) return plain(known[0], known[1], instance)
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return plain(statusCode, (error as Error).message, instance)
  }
  return plain(500, 'a bug in this server; its log has the details', instance)
}

/** When a client can send the request again, in whole seconds (RFC 9110, 10.2.3); undefined: not as it is. */
export function retryAfterSecondsOf(error: unknown): number | undefined {
  if (!(error instanceof FahaoError) || !error.retryable) return undefined
  if (error.retryAfterMs !== undefined) return Math.max(1, Math.ceil(error.retryAfterMs / 1000))
  return error.status === 503 ? retryAfterSeconds : undefined
}

/** A path and query whose tokens are replaced. */
export function withoutTokens(url: string): string {
  return (
    url
      // A name ends at each separator: otherwise thousands of question marks would take seconds.
      .replaceAll(/([?&][^?=&]*)=[^&]*/g, (pair, name) =>
        /token/i.test(decoded(name)) ? `${name}=***` : pair,
      )
      .replaceAll(/fahao_[0-9a-f]{16}_[\w-]*/g, 'fahao_***')
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The requests that Fastify refuses. */
const framework: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'a body must be JSON, with content-type: application/json'],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, 'the body is not valid JSON'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'the body is not as long as content-length says'],
  FST_ERR_BAD_URL: [400, 'the path is not valid percent-encoded UTF-8'],
  FST_ERR_MAX_PARAM_LENGTH: [400, 'a generator’s name has at most 256 bytes'],
}

function registered(code: ErrorCode, detail: string, instance: string): Problem {
  const { status, retryable, meaning } = errorRegistry[code]
  return { type: `/docs#${code}`, title: meaning, status, detail, code, retryable, instance }
}

/** RFC 9457, 4.2.1: about:blank, with the reason phrase as the title. */
function plain(status: number, detail: string, instance: string): Problem {
  const title = STATUS_CODES[status] ?? 'Error'
  return { type: 'about:blank', title, status, detail, code: 'ERR', retryable: false, instance }
}
