/**
 * The tokens of tinyid's API: a token permits the use of generators by name. Tokens are records
 * `tinyid-tokens/TOKEN/BIZTYPE`, and rules of the setting `tinyid-tokens`.
 *
 * Invariants
 *  1. The records are kept in memory and updated by a watch: tokens work while the engine is unavailable.
 *  2. A record permits one generator to one token: the first slash after the prefix ends the token.
 *  3. Tokens are in no error and no log.
 */
import { globMatches } from '../../base/glob.ts'
import type { Engine, Watch } from '../../engine/engine.ts'
import { listAll } from '../../engine/pages.ts'
import type { TokenRule } from '../../node/compat-settings.ts'

/** Records of tokens start with this. */
const prefix = 'tinyid-tokens/'

/** The tokens of one node. */
export class TinyidTokens {
  readonly #engine: Engine
  readonly #rules: readonly TokenRule[]
  /** Keys of records; undefined before they were read. */
  #keys: Set<string> | undefined
  #loading: Promise<void> | undefined
  #watch: Watch | undefined
  #closed = false

  constructor(engine: Engine, rules: readonly TokenRule[]) {
    this.#engine = engine
    this.#rules = rules
  }

  /** Whether `token` permits `bizType`; undefined: call `load` first. */
  permits(token: string, bizType: string): boolean | undefined {
    if (token === '' || bizType === '') return false
    if (this.#rules.some((rule) => rule.token === token && globMatches(rule.pattern, bizType))) return true
    if (token.includes('/')) return false
    return this.#keys?.has(`${prefix}${token}/${bizType}`)
  }

  /** Reads the records, and watches them from then on. Rejects while the engine is unavailable; call it again then. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  /** Ends the watch. */
  close(): void {
    this.#closed = true
    this.#watch?.close()
  }

  async #load(): Promise<void> {
    // Changes during the read are newer than the list.
    const changes = new Map<string, boolean>()
    const watch = await this.#engine.watch(prefix, ({ key, record }) => {
      if (this.#keys === undefined) changes.set(key, record !== undefined)
      else change(this.#keys, key, record !== undefined)
    })
    try {
      const keys = await this.#list()
      for (const [key, exists] of changes) change(keys, key, exists)
      if (this.#closed) watch.close()
      this.#keys = keys
      this.#watch = watch
    } catch (error) {
      watch.close()
      throw error
    }
  }

  async #list(): Promise<Set<string>> {
    return new Set((await listAll(this.#engine, prefix)).map(({ key }) => key))
  }
}

function change(keys: Set<string>, key: string, exists: boolean): void {
  if (exists) keys.add(key)
  else keys.delete(key)
}
