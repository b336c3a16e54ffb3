/** Requests to a running server over the native HTTP API. */
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { type Command, Option } from 'commander'
import { systemClock, type Timer } from '../base/clock.ts'
import { type ErrorCode, errorKinds, FahaoError } from '../base/errors.ts'
import {
  addCredentialOptions,
  authorizationOf,
  type CredentialOptions,
  credentialAdvice,
} from './credentials.ts'
import { Unreachable, UsageError } from './exit-codes.ts'
import {
  type Answered,
  addTlsOptions,
  bodyOf,
  reasonOf,
  senderWith,
  type TlsFiles,
  tlsAdvice,
} from './http-request.ts'

/** Options of every verb that sends requests to a server. */
export type ServerOptions = TlsFiles & CredentialOptions & { readonly url: string; readonly json?: true }

/** The parameters of a request. */
export type Ask = {
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body?: unknown
  /** The deadline of the answer, if it is not the default. */
  readonly timeoutMs?: number
  /** Ends the request, instead of a deadline. */
  readonly signal?: AbortSignal
  /** Reads the body of the answer, which is text otherwise. */
  readonly read?: typeof bodyOf
}

/** Longer than any sensible issueTimeout: a live server answers within it. */
const deadlineMs = 60_000
const probeMs = 1000
/** A stream of lines has one each second. */
const silentMs = 5000

/** Where a server is asked unless another place is given. */
export const defaultUrl = 'http://127.0.0.1:7380'

/** Adds --url, the options of TLS and of credentials, and --json to `command`. */
export function addServerOptions(command: Command): Command {
  command.addOption(new Option('--url <URL>', 'the server').default(defaultUrl).env('FAHAO_URL'))
  return addCredentialOptions(addTlsOptions(command)).option('--json', 'print JSON, for scripts')
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
  options: ServerOptions,
  method: string,
  path: string,
  asked: Ask = {},
): Promise<Answer> {
  const text = await askText(options, method, path, asked)
  return (text === '' ? undefined : jsonOf(text, options.url)) as Answer
}

/** Sends one request; resolves to the text of the answer. Rejects as `ask`. */
export async function askText(
  { url, user, tokenFile, ...files }: ServerOptions,
  method: string,
  path: string,
  {
    query = {},
    body,
    timeoutMs = deadlineMs,
    signal = AbortSignal.timeout(timeoutMs),
    read = bodyOf,
  }: Ask = {},
): Promise<string> {
  const target = targetOf(url, path, query)
  const authorization = await authorizationOf({
    ...(user !== undefined && { user }),
    ...(tokenFile !== undefined && { tokenFile }),
  })
  let answer: Answered
  try {
    answer = await senderWith(files, read)(target, {
      method,
      signal,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(authorization !== undefined && { authorization }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  } catch (error) {
    if (error instanceof UsageError) throw error
    const advice = await tlsAdvice(error, target)
    if (advice !== undefined) throw new Unreachable(`no answer from ${url}: ${advice}`)
    if (await speaksResp(target)) {
      throw new Unreachable(
        `${url} looks like a RESP port; --url wants the HTTP one, such as ${defaultUrl}: see --http of \`fahao serve\``,
      )
    }
    throw new Unreachable(
      `no server answers at ${url} (${reasonOf(error)}); start one with \`fahao serve\`, or say where it is with --url`,
    )
  }
  const { status, text } = answer
  if (status < 200 || status > 299) throw problemOf(status, text, url, authorization !== undefined)
  return text
}

/**
 * Reads an answer of lines until it ends, or `signal` does that, and passes each to `take`. Rejects as `ask`, and when no line
 * comes for a time.
 */
export async function askLines(
  options: ServerOptions,
  path: string,
  signal: AbortSignal,
  take: (line: string) => void,
): Promise<void> {
  const silent = new AbortController()
  let deadline: Timer | undefined
  const wait = () => {
    deadline?.cancel()
    deadline = systemClock.timer(silentMs, () => silent.abort())
  }
  const read = async (head: IncomingMessage) => {
    if (head.statusCode !== 200) return bodyOf(head)
    for await (const line of createInterface({ input: head })) {
      wait()
      take(line)
    }
    return ''
  }
  wait()
  try {
    await askText(options, 'GET', path, { signal: AbortSignal.any([signal, silent.signal]), read })
  } finally {
    deadline?.cancel()
  }
}

function targetOf(url: string, path: string, query: NonNullable<Ask['query']>): URL {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(`'${url}' is no URL of a server; write it like ${defaultUrl}`)
  }
  const target = new URL(url.replace(/\/+$/, '') + path)
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value ?? []].flat()) target.searchParams.append(name, each)
  }
  return target
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

function problemOf(status: number, text: string, url: string, hasCredentials: boolean): Error {
  const { code, detail } = jsonOf(text, url) as { code?: string; detail?: string }
  if (code === undefined || detail === undefined) return foreignServer(url, `status ${status}`)
  const known = Object.hasOwn(errorKinds, code) ? (code as ErrorCode) : 'ERR'
  return new FahaoError(
    known,
    known === 'NOAUTH' ? `Authentication required; ${credentialAdvice}` : detail + advice(),
  )

  function advice(): string {
    if (known === 'WRONGPASS' || (known === 'NOPERM' && !hasCredentials)) return `; ${credentialAdvice}`
    // The detail may be a bare ECONNREFUSED, which reads as if the server itself were unreachable.
    if (known !== 'UNAVAILABLE') return ''
    return `; the server runs, but its engine or a leader does not answer it: see ${url.replace(/\/+$/, '')}/readyz`
  }
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
