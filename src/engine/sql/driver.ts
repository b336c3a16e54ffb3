/** What the engine needs of a database's client library: connections that carry one command at a time. */

/** A row as the driver gives it: integers of 64 bits as text, bytes as text or bytes. */
export type Row = Readonly<Record<string, unknown>>

/** One message to the server, which answers it as a whole. */
export type SqlCommand = {
  readonly text: string
  /** For the places in the text, where the driver fills them in. */
  readonly values?: readonly string[]
  /** Which of several answers holds the rows, or how to find them in all of them. Default: the only one. */
  readonly answer?: number | ((answers: readonly unknown[]) => readonly Row[])
  /** Whether a lost answer leaves open what became of it. */
  readonly writes?: boolean
}

/** Has a command carried out on the connection that a call was given. */
export type Ask = (command: SqlCommand) => Promise<readonly Row[]>

/**
 * What an error of a driver means.
 *
 * `refused`: the server said no and has changed nothing. `contended`: so it did, because of another session's lock.
 * `missing`: so it did, because there are no such tables. `denied`: so it did, and will until a right, a password or a
 * name is changed. `unmatched`: so it did, because a column cannot hold the text that it was compared with. `lost`:
 * anything may have become of the command.
 */
export type Failure = {
  readonly kind: 'refused' | 'contended' | 'missing' | 'denied' | 'unmatched' | 'lost'
  readonly message: string
}

const unfit: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name is not known: is it spelled right?',
  HANDSHAKE_NO_SSL_SUPPORT: 'the server does not speak TLS: use sslmode=disable, or have it speak TLS',
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is signed by itself: name it with sslrootcert=FILE",
  SELF_SIGNED_CERT_IN_CHAIN:
    "the server's certificate is of an authority that is not known: name it with sslrootcert=FILE",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the server's certificate is of an authority that is not known: name it with sslrootcert=FILE",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the server's certificate is of an authority that is not known: name it with sslrootcert=FILE",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host name",
}

/** What is wrong with a connection for as long as the URL or the server is as it is; undefined: nothing of the kind. */
export function lastingFailure(error: unknown): Failure | undefined {
  const { code, message = '' } = (error ?? {}) as { readonly code?: unknown; readonly message?: string }
  const known = /server does not support SSL/.test(message) ? 'HANDSHAKE_NO_SSL_SUPPORT' : String(code)
  if (!Object.hasOwn(unfit, known)) return undefined
  return { kind: 'denied', message: `${unfit[known]} (${message || known})` }
}

/** One connection. */
export interface DatabaseConnection {
  /** Resolves when it can take a command; rejects with the driver's error. */
  readonly ready: Promise<void>
  /** Rejects with the driver's error. One at a time. */
  ask(command: SqlCommand): Promise<readonly Row[]>
  /** Whether it keeps the process alive. */
  hold(alive: boolean): void
  /** Says goodbye. Never rejects. */
  end(): Promise<void>
  /** Closes it at once; the server rolls back what it has open. */
  destroy(): void
}

/** Makes connections, and knows its errors. */
export type Driver = {
  /** Begins to connect. `onGone` is called when the connection is over, however that came. */
  readonly connect: (onGone: () => void) => DatabaseConnection
  readonly failureOf: (error: unknown) => Failure
}

/** The text in a column, whether the driver gives text or bytes. */
export function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('utf8') : String(value)
}

/** The text in a column, or undefined where there is none. */
export function optionalTextOf(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : textOf(value)
}

/** The integer in a column. */
export function integerOf(value: unknown): bigint {
  return BigInt(textOf(value))
}
