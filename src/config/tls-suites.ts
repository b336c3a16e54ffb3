/** The versions of TLS that a node speaks, and the suites of TLS 1.2 that it offers: on all listeners, and to other nodes. */
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { configError, someOf, type ValueType, wordsOf } from './config-values.ts'

/** A version, as Redis and OpenSSL write it. */
export type TlsProtocol = 'TLSv1.2' | 'TLSv1.3'

/** See `tls-protocols` and `tls-ciphers`. */
export type TlsSuites = { readonly protocols: readonly TlsProtocol[]; readonly ciphers: string }

/** The versions that are spoken. */
export const tlsProtocols: ValueType<readonly TlsProtocol[]> = someOf(['TLSv1.2', 'TLSv1.3'])

/**
 * Who records a connection cannot read it with a key that is stolen later, and no padding is left to guess: an ephemeral key
 * for each connection, and AEAD (RFC 9325, 4.2).
 */
export const defaultCiphers = 'ECDHE+AESGCM:ECDHE+CHACHA20'

/** A list as OpenSSL reads it. OpenSSL ignores words that name nothing; here only words that exclude something may do so. */
export const tlsCiphers: ValueType<string> = {
  read(given) {
    if (given === defaultCiphers) return given
    const words = wordsOf(given.replaceAll(/[:,]/g, ' '))
    for (const word of words) refuseUnknown(word)
    const ciphers = words.join(':')
    if (words.length > 0 && namesSuite(ciphers)) return ciphers
    throw configError(`'${ciphers.slice(0, 60)}' leaves no suite of TLS 1.2; name one, such as ECDHE+AESGCM`)
  },
  show: (value) => value,
  takes: 'SUITES',
  list: true,
}

/** The part of the options of a TLS connection or server that `suites` decides. */
export function suiteOptions({ protocols, ciphers }: TlsSuites): SecureContextOptions {
  return {
    minVersion: protocols.includes('TLSv1.2') ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: protocols.includes('TLSv1.3') ? 'TLSv1.3' : 'TLSv1.2',
    ciphers,
  }
}

function refuseUnknown(word: string): void {
  if (/^[!+-]?TLS_/.test(word)) {
    throw configError(
      `'${word.slice(0, 60)}' is a suite of TLS 1.3, all of which are offered; name suites of TLS 1.2, or leave TLSv1.3 out of tls-protocols`,
    )
  }
  const name = word.replace(/^\+/, '')
  if (/^(?:[!-].+|@STRENGTH|@SECLEVEL=[0-5])$/.test(word) || namesSuite(name)) return
  throw configError(
    `'${name.slice(0, 60)}' names no suite of TLS 1.2 that this server has; \`openssl ciphers -v\` lists names`,
  )
}

function namesSuite(ciphers: string): boolean {
  try {
    // Without an empty list of authorities Node reads all those of the system.
    createSecureContext({ ciphers, ca: [] })
    return true
  } catch {
    return false
  }
}
