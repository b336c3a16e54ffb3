/**
 * The proof of a password for MySQL's protocol: mysql_native_password, and caching_sha2_password, which MySQL has without
 * the other one since 9.0. Sources: MySQL's "Authentication Methods", and "Caching_sha2_password information" of its
 * client/server protocol.
 */
import { constants, createHash, publicEncrypt } from 'node:crypto'

/** A way to prove a password. */
export type MysqlPlugin = 'mysql_native_password' | 'caching_sha2_password'

/** The packets of caching_sha2_password behind the proof start with 1; then the server says one of these. */
const [passed, full] = [3, 4]
const askForKey = Buffer.from([2])

/** The way that a greeting prefers. */
export function pluginOf(greeting: Buffer): MysqlPlugin {
  return greeting.includes('caching_sha2_password') ? 'caching_sha2_password' : 'mysql_native_password'
}

/** The proof of a password for the server's challenge of 20 bytes. */
export function proofOf(plugin: MysqlPlugin, password: string, challenge: Uint8Array): Buffer {
  const algorithm = plugin === 'mysql_native_password' ? 'sha1' : 'sha256'
  const hash = (...parts: readonly Uint8Array[]) => {
    const made = createHash(algorithm)
    for (const part of parts) made.update(part)
    return made.digest()
  }
  const once = hash(Buffer.from(password))
  const twice = hash(once)
  return xor(once, algorithm === 'sha1' ? hash(challenge, twice) : hash(hash(twice), challenge))
}

/**
 * What answers a payload that the server sends behind the proof: a question for its key, or the password under that key;
 * undefined: nothing does, and OK or ERR follows.
 */
export function answerOf(payload: Buffer, password: string, challenge: Uint8Array): Buffer | undefined {
  if (payload[1] === passed) return undefined
  if (payload[1] === full) return askForKey
  const key = { key: payload.subarray(1).toString(), padding: constants.RSA_PKCS1_OAEP_PADDING }
  return publicEncrypt(key, xor(Buffer.from(`${password}\0`), challenge))
}

function xor(bytes: Uint8Array, mask: Uint8Array): Buffer {
  return Buffer.from(bytes.map((byte, at) => byte ^ mask[at % mask.length]!))
}
