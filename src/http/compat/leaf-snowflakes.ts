/**
 * The snowflake of a key of Leaf. Leaf has one per server and ignores the key, so any key must work: a key that is the
 * name of a snowflake stands for that one, and every other key for the generator `snowflake`, which is created on first
 * use.
 *
 * Invariants
 *  1. A key stands for the same generator until this process ends: two generators of one node may issue the same number,
 *     and users of one key must not receive it twice. A restart starts above all time reserved before.
 *  2. The generator of a key is never guessed: while the engine is unavailable, a new key is refused.
 *  3. Memory is bounded for any keys.
 */
import { FahaoError, hasCode } from '../../base/errors.ts'
import type { Catalogue, Generator } from '../../catalogue/catalogue.ts'

/** The snowflake of every key that is no snowflake's own name. */
const shared = 'snowflake'
/** Leaf's bits and epoch, and its fresh start of each millisecond, so that ids do not all end alike. */
const sharedOptions = { kind: 'snowflake', layout: 'leaf', sequenceStart: 'random' } as const

/** The number of keys beyond which a new key is looked up each time. */
const keysMax = 100_000

/** The snowflakes of Leaf's keys on one node. */
export class LeafSnowflakes {
  readonly #catalogue: Catalogue
  /** The name of the generator of each key. */
  readonly #names = new Map<string, string>()
  readonly #lookUps = new Map<string, Promise<string>>()

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue
  }

  /** The snowflake of `key`, if the key was used before and the generator is in use. */
  find(key: string): Generator | undefined {
    const name = this.#names.get(key)
    return name === undefined ? undefined : this.#catalogue.find(name)
  }

  /** Opens the snowflake of `key`, if `permit` does not throw for its name. */
  async open(key: string, permit: (name: string) => void = () => {}): Promise<Generator> {
    const name = this.#names.get(key) ?? (await this.#lookUpOnce(key))
    permit(name)
    return name === shared ? this.#openShared() : this.#catalogue.open(name)
  }

  async #openShared(): Promise<Generator> {
    try {
      return await this.#catalogue.create(shared, sharedOptions)
    } catch (error) {
      // The snowflake was created with other options, which do as well.
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

/** Throws WRONGTYPE for another kind, which has the name now, or has the shared name. */
export function refuseOtherKinds({ name, kind }: Generator): void {
  if (kind === 'snowflake') return
  throw new FahaoError(
    'WRONGTYPE',
    `'${name}' is a ${kind}; keys mean snowflakes; get its ids from /api/segment/get`,
  )
}
