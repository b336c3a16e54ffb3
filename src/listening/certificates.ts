/**
 * The certificate of this node, and the authorities that it trusts: read from files, and read again when the files change.
 *
 * Invariants
 *  1. A certificate is in use only together with its key, and after all files of one reading were valid.
 *  2. Files that cannot be used change nothing: the certificate before stays in use.
 *  3. A new certificate is for new handshakes. Open connections continue.
 *  4. Readings follow one another: the newest one wins.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'
import { connect, createSecureContext, type SecureContext, type Server, type TlsOptions } from 'node:tls'
import type { Address } from '../base/address.ts'
import { type Clock, repeat, type Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { configError } from '../config/config-values.ts'
import { suiteOptions, type TlsSuites } from '../config/tls-suites.ts'
import type { Dial } from './dial.ts'
import { Handshakes } from './handshakes.ts'

/** Whether clients present certificates: `optional`: those that have one. */
export type ClientAuth = 'off' | 'optional' | 'required'

/** The files, and what is done with them. */
export type CertificateOptions = {
  /** The certificate, followed by those of its chain, in PEM. */
  readonly cert: string
  /** The key of the certificate. */
  readonly key: string
  /** The authorities that sign certificates of clients and of other nodes; undefined: the system's, for other nodes only. */
  readonly ca: string | undefined
  readonly clientAuth: ClientAuth
  /** The versions and suites for clients, and for other nodes. */
  readonly suites: TlsSuites
  /** How long a client may take for its handshake, in ms. */
  readonly handshakeTimeoutMs: number
  readonly clock: Clock
  readonly onEvent: (event: LogEvent) => void
}

/** The contents of the files. */
type Contents = { readonly cert: Buffer; readonly key: Buffer; readonly ca?: Buffer }

type Name = keyof Contents

const pollMs = 2000

/** The certificate of a node. */
export class Certificates {
  readonly #options: CertificateOptions
  readonly #servers = new Set<Server>()
  #contents: Contents
  #peerContext: SecureContext
  /** The files as of the newest reading, and of the newest poll. */
  #readState: string
  #polledState: string
  #reading: Promise<void> = Promise.resolve()
  readonly #poll: Timer

  /** Reads the files. Rejects with CONFIG when they cannot be used. */
  static async open(options: CertificateOptions): Promise<Certificates> {
    const state = await stateOf(options)
    return new Certificates(options, state, await contentsOf(options))
  }

  private constructor(options: CertificateOptions, state: string, contents: Contents) {
    this.#options = options
    this.#readState = state
    this.#polledState = state
    this.#contents = contents
    this.#peerContext = contextOf(contents, options.suites)
    this.#poll = repeat(options.clock, pollMs, () => this.#reloadIfChanged())
    this.#warnOfExpiry()
  }

  /** The options of a server that speaks TLS with this certificate. */
  get serverOptions(): TlsOptions {
    const { clientAuth, suites } = this.#options
    return {
      ...this.#contents,
      ...suiteOptions(suites),
      requestCert: clientAuth !== 'off',
      rejectUnauthorized: clientAuth === 'required',
    }
  }

  /** Bounds the handshakes of `server`, and gives it each new certificate until it is closed. */
  attach(server: Server): Handshakes {
    this.#servers.add(server)
    server.once('close', () => this.#servers.delete(server))
    return new Handshakes(server, this.#options.clock, this.#options.handshakeTimeoutMs)
  }

  /** Connects to another node, which must have a certificate for the host that it announces. Presents this node's own. */
  readonly dial: Dial = ({ host, port }: Address) => {
    const servername = isIP(host) === 0 ? { servername: host } : {}
    const secureContext = this.#peerContext
    const socket = connect({ host, port, ...servername, secureContext, rejectUnauthorized: true })
    return socket.setNoDelay(true).setKeepAlive(true)
  }

  /** Reads the files again. Reports what came of it, and never rejects. */
  reload(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read())
    return this.#reading
  }

  /** Stops reading the files. */
  close(): void {
    this.#poll.cancel()
  }

  /** A file that changed since the last poll may be incomplete, or the next one may change too: the next poll reads them. */
  async #reloadIfChanged(): Promise<void> {
    const state = await stateOf(this.#options)
    const isSettled = state === this.#polledState
    this.#polledState = state
    if (isSettled && state !== this.#readState) await this.reload()
  }

  async #read(): Promise<void> {
    const { onEvent } = this.#options
    this.#readState = await stateOf(this.#options)
    try {
      const contents = await contentsOf(this.#options)
      this.#peerContext = contextOf(contents, this.#options.suites)
      this.#contents = contents
      for (const server of this.#servers) server.setSecureContext(this.serverOptions)
    } catch (error) {
      const reason = error instanceof FahaoError ? error.message : describe(error)
      return onEvent({ level: 'error', message: `${reason}. The certificate before stays in use` })
    }
    const { validTo } = new X509Certificate(this.#contents.cert)
    onEvent({ level: 'info', message: `new connections get the certificate that is valid until ${validTo}` })
    this.#warnOfExpiry()
  }

  #warnOfExpiry(): void {
    const { clock, cert, onEvent } = this.#options
    const { validTo } = new X509Certificate(this.#contents.cert)
    if (Date.parse(validTo) * 1000 > clock.wallUs()) return
    onEvent({
      level: 'warn',
      message: `the certificate in ${cert} has expired on ${validTo}; clients refuse it`,
    })
  }
}

/** The names and files that are given. */
function filesOf({ cert, key, ca }: CertificateOptions): [Name, string][] {
  return [['cert', cert], ['key', key], ...(ca === undefined ? [] : [['ca', ca] as [Name, string]])]
}

/** Changes when a file does. */
async function stateOf(options: CertificateOptions): Promise<string> {
  const states = filesOf(options).map(async ([, file]) => {
    const { ino, mtimeMs, size } = await stat(file)
    return `${ino} ${mtimeMs} ${size}`
  })
  return (await Promise.allSettled(states))
    .map((state) => (state.status === 'fulfilled' ? state.value : 'none'))
    .join(', ')
}

async function contentsOf(options: CertificateOptions): Promise<Contents> {
  const read = filesOf(options).map(async ([name, file]) => [name, await readPem(name, file)] as const)
  const contents = Object.fromEntries(await Promise.all(read)) as Contents
  const { cert, key, suites } = options
  if (!new X509Certificate(contents.cert).checkPrivateKey(createPrivateKey(contents.key))) {
    throw configError(
      `tls-key: the key in ${key} does not belong to the certificate in ${cert}; give its own key`,
    )
  }
  try {
    contextOf(contents, suites)
  } catch (error) {
    throw configError(
      `tls-cert: TLS cannot use ${cert} with ${key}: ${describe(error)}; make a new certificate`,
    )
  }
  return contents
}

async function readPem(name: Name, file: string): Promise<Buffer> {
  let pem: Buffer
  try {
    pem = await readFile(file)
  } catch (error) {
    throw configError(
      `tls-${name}: ${file} cannot be read: ${describe(error)}; name a file that this user may read`,
    )
  }
  try {
    if (name === 'key') createPrivateKey(pem)
    else new X509Certificate(pem)
  } catch {
    const wanted = name === 'key' ? 'private key without a password' : 'certificate'
    throw configError(`tls-${name}: ${file} contains no ${wanted} in PEM; name a file that does`)
  }
  return pem
}

function contextOf(contents: Contents, suites: TlsSuites): SecureContext {
  return createSecureContext({ ...contents, ...suiteOptions(suites) })
}
