/** Settings that have no effect, or no meaning, without another one. */
import { type Config, hyphenated, type Sources } from './config-schema.ts'
import { configError } from './config-values.ts'

/** Throws CONFIG if a setting of TLS lacks another one that it needs. */
export function refuseIncompleteTls(config: Config, sources: Sources): void {
  const { tlsCert, tlsKey, tlsCa, tlsClientAuth } = config
  if (tlsCert !== undefined && tlsKey === undefined) {
    throw configError(
      `${sources.tlsCert}: tls-cert needs the private key of the certificate; name its file with tls-key`,
    )
  }
  if (tlsCert === undefined) {
    const given = tlsKey !== undefined ? 'tlsKey' : tlsCa !== undefined ? 'tlsCa' : 'tlsClientAuth'
    if (given === 'tlsClientAuth' && tlsClientAuth === 'off') return
    throw configError(
      `${sources[given]}: ${hyphenated(given)} has no effect without a certificate; name its file with tls-cert`,
    )
  }
  if (tlsClientAuth !== 'off' && tlsCa === undefined) {
    throw configError(
      `${sources.tlsClientAuth}: tls-client-auth needs the authorities that sign the clients' certificates; name their file with tls-ca`,
    )
  }
}

/** Throws CONFIG if a setting of the MySQL proxy lacks another one that it needs. */
export function refuseIncompleteProxy(config: Config, sources: Sources): void {
  const { mysqlProxy, upstream, upstreamCa } = config
  if (mysqlProxy !== undefined && upstream === undefined) {
    throw configError(
      'no upstream: the MySQL proxy needs the server behind it; name it with --upstream, such as mysql://127.0.0.1:3306',
    )
  }
  if (upstreamCa !== undefined && upstream?.isTls !== true) {
    throw configError(
      `${sources.upstreamCa}: upstream-ca has no effect without TLS to the server; write upstream with mysqls://`,
    )
  }
}
