/**
 * The credentials that a connection has last proven, so that a request with the same ones costs no check of a password.
 *
 * Invariants
 *  1. A header is compared with the one before in constant time, byte for byte. Another one is checked in full.
 *  2. It is worth nothing once anything about its user or token has changed: see `AccessControl.unchanged`.
 *  3. It is forgotten with its connection.
 */
import { timingSafeEqual } from 'node:crypto'
import type { Access } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'

/** An Authorization header and what its caller may do. */
export class ProvenCaller {
  readonly #header: Buffer
  readonly #access: Access

  constructor(header: string, access: Access) {
    this.#header = bytesOf(header)
    this.#access = access
  }

  /** What the sender of this header may do; undefined: check it. Throws UNAVAILABLE while users are not known. */
  access(header: string, control: AccessControl): Access | undefined {
    const given = bytesOf(header)
    if (given.length !== this.#header.length || !timingSafeEqual(given, this.#header)) return undefined
    return control.unchanged(this.#access)
  }
}

/** Node reads headers as Latin-1. */
function bytesOf(header: string): Buffer {
  return Buffer.from(header, 'latin1')
}
