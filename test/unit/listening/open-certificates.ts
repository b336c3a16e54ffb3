/** Certificates in use, for tests of servers that speak TLS. */
import { systemClock } from '../../../src/base/clock.ts'
import { defaultCiphers, type TlsSuites } from '../../../src/config/tls-suites.ts'
import { type CertificateOptions, Certificates } from '../../../src/listening/certificates.ts'
import type { CertificateFiles } from '../../launch/certificates.ts'
import type { Lifetime } from '../../launch/lifetime.ts'

/** What is offered unless settings say otherwise. */
export const defaultSuites: TlsSuites = { protocols: ['TLSv1.2', 'TLSv1.3'], ciphers: defaultCiphers }

/** Opens the certificates of `files` until `lifetime` ends. Clients need none, unless `options` say otherwise. */
export async function openCertificates(
  lifetime: Lifetime,
  files: CertificateFiles,
  options: Partial<CertificateOptions> = {},
): Promise<Certificates> {
  const certificates = await Certificates.open({
    ...files,
    clientAuth: 'off',
    suites: defaultSuites,
    handshakeTimeoutMs: 60_000,
    clock: systemClock,
    onEvent: () => {},
    ...options,
  })
  lifetime.after(async () => certificates.close())
  return certificates
}
