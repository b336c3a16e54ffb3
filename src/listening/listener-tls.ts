/** The certificate of the listeners. */
import { systemClock } from '../base/clock.ts'
import type { LogEvent } from '../base/events.ts'
import type { Config } from '../config/config-schema.ts'
import { Certificates } from './certificates.ts'

/** A listener that may speak TLS. */
export type TlsListener = Config['tlsOn'][number]

/** Whether a listener speaks TLS; the listeners of compatible APIs speak it if `http` does. */
export function speaksTls(config: Config, listener: TlsListener): boolean {
  return config.tlsCert !== undefined && config.tlsOn.includes(listener)
}

/** The certificate of each listener that speaks TLS, and what stops reading its files. */
export type ListenerTls = Readonly<Record<TlsListener, Certificates | undefined>> & { close(): void }

/**
 * Reads the certificate. Rejects with CONFIG if its files cannot be used.
 * @param onHangUp calls what it is given whenever the files are to be read again.
 */
export async function openTls(
  config: Config,
  onEvent: (event: LogEvent) => void,
  onHangUp: (reload: () => void) => void,
): Promise<ListenerTls> {
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
    onEvent,
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
