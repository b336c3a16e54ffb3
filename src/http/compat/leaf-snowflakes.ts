/**
 * Which snowflake a key of Leaf means. Leaf has one per server and ignores the key, so any key must work: a key
 * that is the name of a snowflake means that one, and every other means the generator `snowflake`, which is made
 * when it is first wanted.
 *
 * Invariants
 *  1. A key means the same generator for the life of this process: two generators of one node may issue the same
 *     number, and who uses one key must not see it twice. A restart starts above all time reserved before.
 *  2. What a key means is never guessed: while the engine cannot tell, a key that is new here is refused.
 *  3. Memory is bounded, whatever keys are sent.
 */
import { FahaoError, hasCode } from '../../base/errors.ts'
import type { Catalogue, Generator } from '../../catalogue/catalogue.ts'

/** The snowflake of every key that is no snowflake's own name. */
const shared = 'snowflake'
/** Leaf's bits and epoch, and its fresh start of each millisecond, so that ids do not all end alike. */
const sharedOptions = { kind: 'snowflake', layout: 'leaf', sequenceStart: 'random' } as const

/** Keys that are new when so many are known are looked up each time. */
const keysMax = 100_000

/** See the top of the file. */
export class LeafSnowflakes {
  readonly #catalogue: Catalogue
  /** By key, the name of the generator that it means. */
  readonly #names = new Map<string, string>()
  readonly #lookUps = new Map<string, Promise<string>>()

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue
  }

  /** The snowflake that `key` means, if that is known and it is in use. */
  find(key: string): Generator | undefined {
    const name = this.#names.get(key)
    return name === undefined ? undefined : this.#catalogue.find(name)
  }

  /** The snowflake that `key` means. */
  async open(key: string): Promise<Generator> {
    const name = this.#names.get(key) ?? (await this.#lookUpOnce(key))
    return name === shared ? this.#openShared() : this.#catalogue.open(name)
  }

  async #openShared(): Promise<Generator> {
    try {
      return await this.#catalogue.create(shared, sharedOptions)
    } catch (error) {
      // Somebody has made it with options of their own, which are as good.
      if (hasCode(error, 'EXISTS')) return this.#catalogue.open(shared)
      throw error
    }
  }

  #lookUpOnce(key: string): Promise<string> {
    const running = this.#lookUps.get(key)
    if (running !== undefined) return running
    const lookUp = this.#lookUp(key).finally(() => this.#lookUps.delete(key))
    this.#lookUps.set(key, lookUp)
    return lookUp
  }

  async #lookUp(key: string): Promise<string> {
    const name = (await this.#isSnowflake(key)) ? key : shared
    if (this.#names.size < keysMax) this.#names.set(key, name)
    return name
  }

  async #isSnowflake(key: string): Promise<boolean> {
    try {
      return (await this.#catalogue.info(key)).definition.kind === 'snowflake'
    } catch (error) {
      if (hasCode(error, 'NOGENERATOR') || hasCode(error, 'ERR')) return false
      throw error
    }
  }
}

/** Throws WRONGTYPE for another kind: one that has taken the name since, or that has the shared name. */
export function refuseOtherKinds({ name, kind }: Generator): void {
  if (kind === 'snowflake') return
  throw new FahaoError(
    'WRONGTYPE',
    `'${name}' is a ${kind}; keys mean snowflakes; get its ids from /api/segment/get`,
  )
}
