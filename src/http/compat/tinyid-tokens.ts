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
  /** What the records permit to each token; undefined before they were read. */
  #names: Map<string, Set<string>> | undefined
  #loading: Promise<void> | undefined
  #watch: Watch | undefined
  #closed = false

  constructor(engine: Engine, rules: readonly TokenRule[]) {
    this.#engine = engine
    this.#rules = rules
  }

  /** Whether `token` permits `bizType`; undefined: call `load` first. */
  permits(token: string, bizType: string): boolean | undefined {
    if (this.#rules.some((rule) => rule.token === token && globMatches(rule.pattern, bizType))) return true
    if (token.includes('/')) return false
    return this.#names && (this.#names.get(token)?.has(bizType) ?? false)
  }

  /** Whether `token` permits anything, as far as the records were read. */
  knows(token: string): boolean {
    return this.#names?.has(token) || this.#rules.some((rule) => rule.token === token)
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
      if (this.#names === undefined) changes.set(key, record !== undefined)
      else change(this.#names, key, record !== undefined)
    })
    try {
      const names = new Map<string, Set<string>>()
      for (const { key } of await listAll(this.#engine, prefix)) change(names, key, true)
      for (const [key, exists] of changes) change(names, key, exists)
      if (this.#closed) watch.close()
      this.#names = names
      this.#watch = watch
    } catch (error) {
      watch.close()
      throw error
    }
  }
}

/** The first slash after the prefix ends the token. */
function change(names: Map<string, Set<string>>, key: string, exists: boolean): void {
  const slash = key.indexOf('/', prefix.length)
  if (slash < 0) return
  const [token, name] = [key.slice(prefix.length, slash), key.slice(slash + 1)]
  const own = names.get(token) ?? new Set()
  if (exists) names.set(token, own.add(name))
  else if (own.delete(name) && own.size === 0) names.delete(token)
}
