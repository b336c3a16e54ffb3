/** The certificate of the listeners. */
import type { Logger } from 'pino'
import { systemClock } from '../base/clock.ts'
import { Certificates } from '../node/certificates.ts'
import type { Config } from '../node/config-schema.ts'
import { speaksTls, type TlsListener } from '../node/tls-settings.ts'
import { onHangUp } from './signals.ts'

/** The certificate of each listener that speaks TLS, and what stops reading its files. */
export type ListenerTls = Readonly<Record<TlsListener, Certificates | undefined>> & { close(): void }

/** Reads the certificate. Rejects with CONFIG if its files cannot be used. */
export async function openTls(config: Config, log: Logger): Promise<ListenerTls> {
  const { tlsCert, tlsKey, tlsCa, tlsClientAuth, tlsProtocols, tlsCiphers, tlsHandshakeTimeoutMs } = config
  if (tlsCert === undefined || tlsKey === undefined)
    return { resp: undefined, http: undefined, postgres: undefined, 'mysql-proxy': undefined, close() {} }
  const certificates = await Certificates.open({
    cert: tlsCert,
    key: tlsKey,
    ca: tlsCa,
    clientAuth: tlsClientAuth,
    suites: { protocols: tlsProtocols, ciphers: tlsCiphers },
    handshakeTimeoutMs: tlsHandshakeTimeoutMs,
    clock: systemClock,
    onEvent: ({ level, message }) => log[level](message),
  })
  onHangUp(() => certificates.reload())
  const of = (listener: TlsListener) => (speaksTls(config, listener) ? certificates : undefined)
  return {
    resp: of('resp'),
    http: of('http'),
    postgres: of('postgres'),
    'mysql-proxy': of('mysql-proxy'),
    close: () => certificates.close(),
  }
}
