/**
 * The oids of sequences.
 *
 * Invariants
 *  1. An oid follows from the name alone, unless two names that this process has seen collide: the later one gets the next
 *     free oid. So two nodes show the same oid, but for collisions.
 *  2. No two names in the registry have the same oid.
 *  3. The registry keeps at most `namesMax` names. The names that were seen longest ago are forgotten first.
 */
import { sequenceOidMin } from './query/snapshot.ts'

/** Oids stay positive in 32 bits with a sign, for clients that keep them so. */
const sequenceOidEnd = 2 ** 31
const namesMax = 100_000

/** Oids by name, and names by oid. */
export class OidRegistry {
  readonly #oids = new Map<string, number>()
  readonly #names = new Map<number, string>()
  readonly #namesMax: number

  /** @param max names that are kept. */
  constructor(max = namesMax) {
    this.#namesMax = max
  }

  /** The oid of a name. */
  oidOf(name: string): number {
    const known = this.#oids.get(name)
    if (known !== undefined) return known
    let oid = firstOid(name)
    while (this.#names.has(oid)) oid = oid + 1 < sequenceOidEnd ? oid + 1 : sequenceOidMin
    if (this.#oids.size >= this.#namesMax) this.#forget()
    this.#oids.set(name, oid)
    this.#names.set(oid, name)
    return oid
  }

  /** The name with this oid, if it has been seen. */
  nameOf(oid: number): string | undefined {
    return this.#names.get(oid)
  }

  #forget(): void {
    const [name, oid] = this.#oids.entries().next().value!
    this.#oids.delete(name)
    this.#names.delete(oid)
  }
}

/** The oid that a name has unless another name took it: FNV-1a over its UTF-16 units. */
export function firstOid(name: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index++)
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  return sequenceOidMin + ((hash >>> 0) % (sequenceOidEnd - sequenceOidMin))
}
