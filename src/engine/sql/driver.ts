/** The engine's interface to a database's client library: connections that carry one command at a time. */

import { describe, FahaoError } from '../../base/errors.ts'

/** A row as the driver returns it: 64-bit integers as text, bytes as text or bytes. */
export type Row = Readonly<Record<string, unknown>>

/** One message to the server, with one answer. */
export type SqlCommand = {
  readonly text: string
  /** The values of the text's parameters, for drivers that send them apart. */
  readonly values?: readonly string[]
  /** Finds the rows in several result sets. Default: there is one. */
  readonly answer?: (answers: readonly unknown[]) => readonly Row[]
  /** Whether a lost answer leaves its outcome unknown. */
  readonly writes?: boolean
}

/** Sends a command on the connection of a call, and resolves to its rows. */
export type Ask = (command: SqlCommand) => Promise<readonly Row[]>

/**
 * The meaning of a driver's error. With `lost`, the command may have been carried out; with every other kind, the server
 * refused it and changed nothing.
 *
 * `contended`: another session holds a lock. `missing`: the tables do not exist. `denied`: the server refuses until a
 * right, a password or a name is changed. `unmatched`: a column cannot hold the text that it was compared with.
 * `refused`: any other reason.
 */
export type Failure = {
  readonly kind: 'refused' | 'contended' | 'missing' | 'denied' | 'unmatched' | 'lost'
  readonly message: string
}

/** A failure with the driver's reason. */
export class DriverError extends FahaoError {
  readonly failure: Failure

  constructor(code: 'UNAVAILABLE' | 'UNKNOWN', failure: Failure) {
    super(code, failure.message)
    this.failure = failure
  }
}

/** Whether an error is a failure of this kind. */
export function isFailure(error: unknown, kind: Failure['kind']): error is DriverError {
  return error instanceof DriverError && error.failure.kind === kind
}

/** Whether the server has refused a command, and carries out others. */
export function isRefusal(error: unknown): error is DriverError {
  return error instanceof DriverError && error.failure.kind !== 'lost'
}

const unfit: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name is unknown: is it spelled right?',
  HANDSHAKE_NO_SSL_SUPPORT: 'the server does not speak TLS: use sslmode=disable, or enable TLS on the server',
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is signed by itself: name it with sslrootcert=FILE",
  SELF_SIGNED_CERT_IN_CHAIN:
    "the server's certificate was issued by an unknown authority: name it with sslrootcert=FILE",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the server's certificate was issued by an unknown authority: name it with sslrootcert=FILE",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the server's certificate was issued by an unknown authority: name it with sslrootcert=FILE",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another host name",
}

/**
 * The failure that an error of a client library means, if the server reports it: with its kind and its remedy. An error
 * of TLS or of the host name lasts until the URL or the server is changed.
 */
export function failureBy(error: unknown, kind: Failure['kind'], remedy: string | undefined): Failure {
  // If a name has several addresses, there is one error for each.
  const first = (error as { readonly errors?: readonly unknown[] } | null)?.errors?.[0] ?? error
  const { code, message = '' } = (first ?? {}) as { readonly code?: unknown; readonly message?: string }
  const known = /server does not support SSL/.test(message) ? 'HANDSHAKE_NO_SSL_SUPPORT' : String(code)
  if (Object.hasOwn(unfit, known)) return { kind: 'denied', message: `${unfit[known]} (${message || known})` }
  const cause = describe(first) || known
  return { kind, message: remedy === undefined ? cause : `${remedy} (${cause})` }
}

/** One connection. */
export interface DatabaseConnection {
  /** Resolves when it can carry a command; rejects with the driver's error. */
  readonly ready: Promise<void>
  /** Sends a command, one at a time. Rejects with the driver's error. */
  ask(command: SqlCommand): Promise<readonly Row[]>
  /** Sets whether the connection keeps the process alive. */
  hold(alive: boolean): void
  /** Closes it by the protocol. Never rejects. */
  end(): Promise<void>
  /** Closes it at once; the server rolls back its open transaction. */
  destroy(): void
}

/** Makes connections, and explains their errors. */
export type Driver = {
  /** Begins to connect. `onGone` is called when the connection has ended for any reason. */
  readonly connect: (onGone: () => void) => DatabaseConnection
  readonly failureOf: (error: unknown) => Failure
}

/** The text in a column, whether the driver returns text or bytes. */
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
