/** One request of the command line to a server, over HTTP with TLS or without. */
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import { text } from 'node:stream/consumers'
import { connect } from 'node:tls'
import { type Command, Option } from 'commander'
import { describe } from '../base/errors.ts'
import { request as requestPlain } from '../http/plain-http.ts'
import { UsageError } from './exit-codes.ts'

/** Files in PEM: the authority that signed the server's certificate, and this client's certificate with its key. */
export type TlsFiles = { readonly ca?: string; readonly cert?: string; readonly key?: string }

/** A request. */
export type Sent = {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal?: AbortSignal
}

/** An answer, whose body is text. */
export type Answered = { readonly head: IncomingMessage; readonly status: number; readonly text: string }

const probeMs = 1000

/** Adds --ca, --cert and --key to `command`. */
export function addTlsOptions(command: Command): Command {
  const file = (name: string, meaning: string) =>
    new Option(`--${name} <FILE>`, meaning).env(`FAHAO_${name.toUpperCase()}`)
  return command
    .addOption(file('ca', "the authority that signed the server's certificate"))
    .addOption(file('cert', 'the certificate to present, if the server asks'))
    .addOption(file('key', 'the private key of --cert'))
}

/** Returns what sends requests with these files, and rejects as the connection does. `read` reads the body of an answer. */
export function senderWith(files: TlsFiles, read = bodyOf): (target: URL, sent: Sent) => Promise<Answered> {
  const pem = pemOf(files)
  return (target, { body, ...options }) =>
    new Promise((resolve, reject) => {
      const send = target.protocol === 'https:' ? requestTls : requestPlain
      send(target, { ...options, ...pem }, (head) => {
        read(head).then((text) => resolve({ head, status: head.statusCode!, text }), reject)
      })
        .on('error', reject)
        .end(body)
    })
}

/** The body of an answer. */
export function bodyOf(head: IncomingMessage): Promise<string> {
  return text(head)
}

/** A `fetch` that uses these files, as far as a client of the service needs one: no body, and the answer as text. */
export function fetchWith(files: TlsFiles): typeof fetch {
  const send = senderWith(files)
  return async (input, { method = 'GET', headers, signal } = {}) => {
    const given = headers as Readonly<Record<string, string>>
    const options = { method, headers: given ?? {}, ...(signal && { signal }) }
    const { head, status, text } = await send(new URL(String(input)), options)
    const retryAfter = head.headers['retry-after']
    return new Response(status === 204 ? null : text, {
      status,
      statusText: head.statusMessage ?? '',
      ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
    })
  }
}

/** Why a request failed, for a sentence. */
export function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ABORT_ERR' ? 'it takes too long' : (code ?? describe(error))
}

/** What to do about TLS after a request has failed; undefined: the reason is another one. */
export async function tlsAdvice(error: unknown, target: URL): Promise<string | undefined> {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (target.protocol === 'http:') {
    return code === 'ECONNRESET' && (await speaksTls(target)) ? 'it speaks TLS: write https://' : undefined
  }
  // OpenSSL's words. Their code depends on when the bytes arrived.
  if (/wrong version number|packet length too long/.test(message))
    return 'it does not speak TLS: write http://'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return 'its certificate is for another host: write the name that the certificate has'
  }
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired: give the server a new one'
  if (/SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY)/.test(code)) {
    return `its certificate cannot be verified (${code}): name the authority that signed it with --ca`
  }
  if (/alert (?:certificate required|handshake failure|bad certificate|unknown ca)/.test(message)) {
    return 'it wants a certificate of this client: give one that it accepts with --cert and --key'
  }
  return undefined
}

function pemOf({ ca, cert, key }: TlsFiles) {
  if ((cert === undefined) !== (key === undefined)) {
    throw new UsageError('--cert and --key belong together; give both')
  }
  return {
    ...(ca !== undefined && { ca: read('ca', ca) }),
    ...(cert !== undefined && { cert: read('cert', cert) }),
    ...(key !== undefined && { key: read('key', key) }),
  }
}

function read(option: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new UsageError(`--${option}: ${file} cannot be read: ${describe(error)}`)
  }
}

/** Whether the port speaks TLS, with whatever certificate. */
function speaksTls({ hostname, port }: URL): Promise<boolean> {
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false, timeout: probeMs })
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('secureConnect', () => settle(true))
    socket.once('timeout', () => settle(false))
    socket.once('error', () => settle(false))
    socket.once('close', () => settle(false))
  })
}
