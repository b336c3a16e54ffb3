/**
 * Failures in the form of Spring Boot 1.5: the replaced services are built on it, and their clients read it.
 * Members and their order are those of its DefaultErrorAttributes.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { describe, FahaoError } from '../../base/errors.ts'
import { challenge, type HttpLog } from '../failures.ts'
import { STATUS_CODES } from '../plain-http.ts'
import { HttpRefusal, problemOf, withoutTokens } from '../problem.ts'
import { countFailure } from '../traffic.ts'

/** The content types as Spring writes them. */
export const contentTypes = Object.freeze({
  text: 'text/plain;charset=UTF-8',
  json: 'application/json;charset=UTF-8',
  html: 'text/html;charset=UTF-8',
})

/** A failure with the exception that the replaced service would have thrown. */
export class SpringFailure extends Error {
  override readonly name = 'SpringFailure'
  readonly status: number
  /** The class of the exception; undefined: none was thrown in the replaced service. */
  readonly exception: string | undefined

  /** The body, where it has another form than Spring's. */
  readonly body: string | undefined

  /** @param cause the error of this server; its code and message go into the header `fahao-error`. */
  constructor(
    status: number,
    exception: string | undefined,
    message: string,
    cause?: unknown,
    body?: string,
  ) {
    super(message, { cause })
    this.status = status
    this.exception = exception
    this.body = body
  }
}

/** An error as the caller of a request may see it. */
export function forCaller<Thrown>(error: Thrown, { access }: FastifyRequest): Thrown | FahaoError {
  return error instanceof FahaoError ? error.forReader((pattern) => access.reaches(pattern)) : error
}

/** Whether an error refuses the caller, with the status 401 or 403. */
export function isRefusedCaller(error: unknown): error is FahaoError {
  return error instanceof FahaoError && [401, 403].includes(error.status)
}

/** 400: a required parameter is missing. */
export function missingParameter(type: 'String' | 'int', name: string): SpringFailure {
  const exception = 'org.springframework.web.bind.MissingServletRequestParameterException'
  return new SpringFailure(400, exception, `Required ${type} parameter '${name}' is not present`)
}

/** 400: a parameter is no number of Java's type. `cause`: what this server makes of it. */
export function noNumber(type: 'java.lang.Integer' | 'int', text: string, cause?: unknown): SpringFailure {
  return new SpringFailure(
    400,
    'org.springframework.web.method.annotation.MethodArgumentTypeMismatchException',
    `Failed to convert value of type 'java.lang.String' to required type '${type}'; nested exception is java.lang.NumberFormatException: For input string: "${text.slice(0, 40)}"`,
    cause,
  )
}

/** A number as Spring reads it, with its sign and without regard to white space; undefined: it is no 32-bit number. */
export function intOf(text: string): number | undefined {
  const digits = text.replaceAll(/\s/g, '')
  const number = /^[+-]?\d+$/.test(digits) ? Number(digits) : Number.NaN
  return number >= -intMax - 1 && number <= intMax ? number : undefined
}

const intMax = 2 ** 31 - 1

/** Sends the failure that describes `error`; reports it if it is a fault of this server. */
export function sendSpringFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  nowUs: number,
  log?: HttpLog,
): FastifyReply {
  const path = withoutTokens(request.url).split('?', 1)[0]!
  const failure = error instanceof SpringFailure ? error : failureOf(forCaller(error, request))
  // Without the query, which may hold a token.
  const isFault = failure.status === 500 && !(error instanceof FahaoError || error instanceof SpringFailure)
  if (isFault) log?.error({ err: error, path }, 'an HTTP request failed')
  if (error instanceof HttpRefusal) reply.headers(error.headers)
  const cause = failure.cause ?? error
  countFailure(request, cause)
  if (cause instanceof FahaoError) {
    const message = cause.messageFor((pattern) => request.access.reaches(pattern))
    reply.header('fahao-error', asHeader(`${cause.code} ${message}`))
  }
  if (failure.status === 401) reply.header('www-authenticate', challenge)
  return reply
    .code(failure.status)
    .header('content-type', contentTypes.json)
    .send(failure.body ?? bodyOf(failure, path, Math.floor(nowUs / 1000)))
}

function bodyOf({ status, exception, message }: SpringFailure, path: string, timestamp: number): string {
  return JSON.stringify({ timestamp, status, error: STATUS_CODES[status], exception, message, path })
}

/** The failure of an error that the replaced service does not have. */
function failureOf(error: unknown): SpringFailure {
  if (isRefusedCaller(error)) return new SpringFailure(error.status, undefined, describe(error), error)
  if (error instanceof FahaoError) {
    return new SpringFailure(500, 'java.lang.IllegalStateException', describe(error), error)
  }
  const { status, detail } = problemOf(error, '')
  return new SpringFailure(status, undefined, detail, error)
}

/** Headers must be ASCII to be safe. */
function asHeader(text: string): string {
  return text.replaceAll(/[‘’]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?')
}
