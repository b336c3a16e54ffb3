/** Requests to a running server over the native HTTP API. */
import { connect } from 'node:net'
import { type Command, Option } from 'commander'
import { describe, type ErrorCode, errorRegistry, FahaoError } from '../base/errors.ts'
import { Unreachable, UsageError } from './exit-codes.ts'

/** Options of every verb that sends requests to a server. */
export type ServerOptions = { readonly url: string; readonly json?: true }

/** The parameters of a request. */
export type Ask = {
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  /** The deadline of the answer, if it is not the default. */
  readonly timeoutMs?: number
}

/** Longer than any sensible issueTimeout: a live server answers within it. */
const deadlineMs = 60_000
const probeMs = 1000
const defaultUrl = 'http://127.0.0.1:7380'

/** Adds --url and --json to `command`. */
export function addServerOptions(command: Command): Command {
  return command
    .addOption(new Option('--url <URL>', 'the server').default(defaultUrl).env('FAHAO_URL'))
    .option('--json', 'print JSON, for scripts')
}

/** The path of a generator. */
export function generatorPath(name: string, operation = ''): string {
  return `/v1/generators/${encodeURIComponent(name)}${operation}`
}

/**
 * Sends one request; resolves to the JSON of the answer, undefined if it has none. Rejects with the server's error as a
 * FahaoError, or with Unreachable.
 */
export async function ask<Answer>(
  { url }: ServerOptions,
  method: string,
  path: string,
  { query = {}, body, timeoutMs = deadlineMs }: Ask = {},
): Promise<Answer> {
  const target = targetOf(url, path, query)
  let response: Response
  let text: string
  try {
    response = await fetch(target, {
      method,
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    text = await response.text()
  } catch (error) {
    if (await speaksResp(target)) {
      throw new Unreachable(
        `${url} looks like a RESP port; --url wants the HTTP one, such as ${defaultUrl}: see --http of \`fahao serve\``,
      )
    }
    throw new Unreachable(
      `no server answers at ${url} (${reasonOf(error)}); start one with \`fahao serve\`, or say where it is with --url`,
    )
  }
  if (!response.ok) throw problemOf(response, text, url)
  return (text === '' ? undefined : jsonOf(text, url)) as Answer
}

function targetOf(url: string, path: string, query: NonNullable<Ask['query']>): URL {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`'${url}' is no URL of a server; write it like ${defaultUrl}`)
  }
  const target = new URL(url.replace(/\/+$/, '') + path)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) target.searchParams.set(name, value)
  }
  return target
}

function reasonOf(error: unknown): string {
  const { cause, name } = error as Error & { cause?: { code?: string } }
  return name === 'TimeoutError' ? 'it takes too long' : (cause?.code ?? describe(error))
}

/** Whether the port serves RESP. Called only after HTTP has failed: RESP closes an HTTP connection without an answer. */
function speaksResp({ hostname, port, protocol }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      timeout: probeMs,
    })
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => socket.write('PING\r\n'))
    // +PONG, or an error such as -NOAUTH.
    socket.once('data', (reply) => settle(/^(?:\+PONG\r|-[A-Z]+ )/.test(reply.toString('latin1'))))
    socket.once('timeout', () => settle(false))
    socket.once('error', () => settle(false))
    socket.once('close', () => settle(false))
  })
}

function problemOf({ status }: Response, text: string, url: string): Error {
  const { code, detail } = jsonOf(text, url) as { code?: string; detail?: string }
  if (code === undefined || detail === undefined) return foreignServer(url, `status ${status}`)
  return new FahaoError(
    Object.hasOwn(errorRegistry, code) ? (code as ErrorCode) : 'ERR',
    // The detail may be a bare ECONNREFUSED, which reads as if the server itself were unreachable.
    code === 'UNAVAILABLE'
      ? `${detail}; the server runs, but its engine or a leader does not answer it: see ${url.replace(/\/+$/, '')}/readyz`
      : detail,
  )
}

function jsonOf(text: string, url: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw foreignServer(url, 'an answer that is no JSON')
  }
}

function foreignServer(url: string, what: string): Error {
  return new Unreachable(`what answers at ${url} is no fahao server: ${what}; say where it is with --url`)
}
