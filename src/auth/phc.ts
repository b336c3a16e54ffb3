/**
 * The text that is stored of a password: `$scrypt$ln=15,r=8,p=1$SALT$HASH`, the PHC string format. scrypt runs over the
 * lower-case hexadecimal SHA-256 of the password rather than over the password, so that Redis's `#<sha256>` can be stored
 * too.
 *
 * The cost is N = 2^15, r = 8, p = 1: 32 MiB, and 50 to 100 ms of one thread for each login. OWASP's minimum for 32 MiB is
 * p = 3. A third of it is a choice: logins share two threads with the engine's, and `logins.ts` limits how many guesses
 * are hashed at all. Whether a thief of the store finds a password therefore depends on the password first: prefer
 * `ACL GENPASS`.
 */
import { scrypt, timingSafeEqual } from 'node:crypto'

/** The cost of scrypt: N = 2^ln, r and p of RFC 7914. */
export type Cost = { readonly ln: number; readonly r: number; readonly p: number }

/** All that scrypt is given, except for the password. */
export type Derivation = Cost & { readonly salt: Uint8Array }

/** A PHC string, read. */
export type Phc = Derivation & { readonly hash: Uint8Array }

/** The cost of new hashes. */
export const presentCost: Cost = Object.freeze({ ln: 15, r: 8, p: 1 })
/** Length of a new salt, in bytes. */
export const saltBytes = 16
/** Length of a hash, in bytes. */
export const hashBytes = 32
/**
 * The largest N · r · p: the most expensive of OWASP's choices. It limits a derivation to 128 MiB and, on today's processors, half a
 * second.
 */
const workMax = 2 ** 20
const pattern =
  /^\$scrypt\$ln=([1-9]\d?),r=([1-9]\d{0,3}),p=([1-9]\d{0,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43})$/

/** Reads a PHC string. Undefined if it is malformed, or costs more than a derivation may. */
export function readPhc(text: string): Phc | undefined {
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [ln, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])]
  if (2 ** ln * r * p > workMax) return undefined
  const [salt, hash] = [Buffer.from(match[4]!, 'base64'), Buffer.from(match[5]!, 'base64')]
  return hash.length === hashBytes ? { ln, r, p, salt, hash } : undefined
}

/** The PHC string that `readPhc` reads. */
export function phcText({ ln, r, p, salt, hash }: Phc): string {
  return `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`
}

/** Runs scrypt on a thread of libuv's pool. */
export function derive({ ln, r, p, salt }: Derivation, digest: string): Promise<Buffer> {
  const N = 2 ** ln
  // What scrypt needs by RFC 7914, with a page for OpenSSL's rounding.
  const maxmem = 128 * r * (N + p + 2) + 4096
  return new Promise((resolve, reject) => {
    scrypt(digest, salt, hashBytes, { N, r, p, maxmem }, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    )
  })
}

/** Whether two hashes are equal, in a time that does not depend on where they differ. */
export function sameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Base64 without padding, as the PHC string format has it. */
function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '')
}
