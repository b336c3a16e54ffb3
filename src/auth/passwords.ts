/**
 * Passwords: what is stored of them, and whether one fits.
 *
 * Invariants
 *  1. No password is kept, and of its SHA-256 nothing is stored but the hash that scrypt derives from it.
 *  2. scrypt runs on libuv's threads, and behind the queue: two derivations at a time in all.
 *  3. All passwords of one user have one salt and one cost, that of the first. A check therefore takes one derivation for
 *     any number of passwords; where there is none to compare with, a hash made up at the start takes its place. Neither
 *     the existence of a user nor the number of its passwords can be told by the time that a wrong password takes: a
 *     second password adds 4 µs to 85 ms (`npm run login-timing`).
 *     Hashes with salts of their own, which only a foreign writer can store, are checked too, one derivation each.
 *  4. A stored hash that is malformed or too expensive fits no password and costs no derivation of its own.
 */
import { createHash } from 'node:crypto'
import { secretBytes } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { HashQueue, type Requester } from './hash-queue.ts'
import {
  type Cost,
  type Derivation,
  derive,
  hashBytes,
  type Phc,
  phcText,
  presentCost,
  readPhc,
  saltBytes,
  sameHash,
} from './phc.ts'

/** The longest password that can be stored, in bytes of UTF-8. */
export const passwordBytesMax = 512
/** Derivations for one check at most. */
const derivationsMax = 8
/** Hashing for an administrator, who is logged in. */
const administrator: Requester = { address: '', isFavoured: true }

/** The lower-case hexadecimal SHA-256 of a password (as UTF-8): what Redis writes after `#`. */
export function digestOf(password: string | Uint8Array): string {
  return createHash('sha256').update(password).digest('hex')
}

/** Hashes and checks passwords. One instance serves a whole process, because its queue limits the threads in use. */
export class Passwords {
  readonly #queue = new HashQueue()
  readonly #cost: Cost
  /** A hash that fits no password. */
  readonly #made: string

  /** @param cost the cost of new hashes; tests lower it. */
  constructor(cost: Cost = presentCost) {
    this.#cost = cost
    this.#made = phcText({ ...cost, salt: secretBytes(saltBytes), hash: secretBytes(hashBytes) })
  }

  /** How many derivations run, and how many checks wait for one. */
  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#queue.running, waiting: this.#queue.waiting }
  }

  /** Refuses the checks that wait, and those that come, with SHUTDOWN. */
  stop(): void {
    this.#queue.stop()
  }

  /**
   * The PHC string of a new password.
   * @param beside the hashes that the user has already. Pass them always: the new hash takes their salt.
   * @throws ERR for an empty or overlong password, BUSY if too many others wait.
   */
  async hashPassword(password: string | Uint8Array, beside: readonly string[] = []): Promise<string> {
    const bytes = Buffer.byteLength(password)
    if (bytes === 0 || bytes > passwordBytesMax)
      throw new FahaoError('ERR', `a password has 1 to ${passwordBytesMax} bytes; this one has ${bytes}`)
    return this.hashDigest(digestOf(password), beside)
  }

  /** The PHC string of the password with this SHA-256, as `hashPassword` has it. @throws ERR unless it is one, BUSY. */
  async hashDigest(digest: string, beside: readonly string[] = []): Promise<string> {
    if (!/^[0-9a-f]{64}$/i.test(digest))
      throw new FahaoError('ERR', 'the SHA-256 of a password is 64 hexadecimal digits')
    const [first] = readAll(beside)
    const derivation = first?.phc ?? { ...this.#cost, salt: secretBytes(saltBytes) }
    const hash = await this.#queue.run(administrator, () => derive(derivation, digest.toLowerCase()))
    return phcText({ ...derivation, hash })
  }

  /**
   * The first of a user's hashes that fits the password with this SHA-256; undefined: none does. No hashes at all cost the
   * same time as hashes that do not fit. Rejects with BUSY.
   * @param begin called when the derivation is about to start: false withdraws the check, which then finds nothing.
   */
  find(
    hashes: readonly string[],
    digest: string,
    asker: Requester = administrator,
    begin: () => boolean = () => true,
  ): Promise<string | undefined> {
    return this.#queue.run(asker, async () => {
      if (!begin()) return undefined
      const stored = readAll(hashes)
      const compared = stored.length > 0 ? stored : readAll([this.#made])
      const groups = [...Map.groupBy(compared, ({ phc }) => derivationText(phc)).values()]
      for (const group of groups.slice(0, derivationsMax)) {
        const hash = await derive(group[0]!.phc, digest)
        // All are compared, so that the time does not say which one fits.
        const fitting = group.filter(({ phc }) => sameHash(phc.hash, hash))
        if (fitting[0] !== undefined) return fitting[0].text
      }
      return undefined
    })
  }
}

function readAll(texts: readonly string[]): { readonly text: string; readonly phc: Phc }[] {
  return texts.flatMap((text) => {
    const phc = readPhc(text)
    return phc === undefined ? [] : [{ text, phc }]
  })
}

function derivationText({ ln, r, p, salt }: Derivation): string {
  return `${ln},${r},${p},${Buffer.from(salt).toString('hex')}`
}
