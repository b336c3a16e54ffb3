/** Certificates in use, for tests of servers that speak TLS. */
import { systemClock } from '../../../src/base/clock.ts'
import { type CertificateOptions, Certificates } from '../../../src/node/certificates.ts'
import type { CertificateFiles } from '../../launch/certificates.ts'
import type { Lifetime } from '../../launch/lifetime.ts'

/** Opens the certificates of `files` until `lifetime` ends. Clients need none, unless `options` say otherwise. */
export async function openCertificates(
  lifetime: Lifetime,
  files: CertificateFiles,
  options: Partial<CertificateOptions> = {},
): Promise<Certificates> {
  const certificates = await Certificates.open({
    ...files,
    clientAuth: 'off',
    handshakeTimeoutMs: 60_000,
    clock: systemClock,
    onEvent: () => {},
    ...options,
  })
  lifetime.after(async () => certificates.close())
  return certificates
}
