/**
 * The tokens of tinyid's API: a token permits the use of generators by name. Tokens are records
 * `tinyid-tokens/TOKEN/BIZTYPE`, and rules of the setting `tinyid-tokens`.
 *
 * Invariants
 *  1. The records are kept in memory by a watch: tokens work while the engine is unavailable.
 *  2. A record permits one generator to one token: the first slash after the prefix ends the token.
 *  3. Tokens are in no error and no log.
 */
import { globMatches } from '../../base/glob.ts'
import type { TokenRule } from '../../config/compat-settings.ts'
import { type RecordsEngine, WatchedRecords } from '../../engine/watched-records.ts'

/** The tokens of one node. */
export class TinyidTokens {
  readonly #rules: readonly TokenRule[]
  /** The records, by `TOKEN/BIZTYPE`: a record says nothing but its name. This class reads them and writes none. */
  readonly #records: WatchedRecords<string>
  /** How many records each token has. */
  readonly #counts = new Map<string, number>()
  #loading: Promise<void> | undefined
  #isLoaded = false
  #isClosed = false

  constructor(engine: RecordsEngine, rules: readonly TokenRule[]) {
    this.#rules = rules
    this.#records = new WatchedRecords(engine, {
      prefix: 'tinyid-tokens/',
      read: (name) => (name.includes('/') ? name : undefined),
      write: () => '',
      revisionOf: () => 0,
      isSame: () => true,
      hasToGo: () => true,
      isKept: () => false,
      unreadable: () => undefined,
      changed: (before, after) => this.#count(before ?? after ?? '', after === undefined ? -1 : 1),
      contended: (name) => name,
    })
  }

  /** Whether `token` permits `bizType`; undefined: call `load` first. */
  permits(token: string, bizType: string): boolean | undefined {
    if (this.#rules.some((rule) => rule.token === token && globMatches(rule.pattern, bizType))) return true
    if (token.includes('/')) return false
    return this.#isLoaded ? this.#records.get(`${token}/${bizType}`) !== undefined : undefined
  }

  /** Whether `token` permits anything, as far as the records were read. */
  knows(token: string): boolean {
    return this.#counts.has(token) || this.#rules.some((rule) => rule.token === token)
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
    this.#isClosed = true
    this.#records.close()
  }

  async #load(): Promise<void> {
    await this.#records.open()
    this.#isLoaded = true
    if (this.#isClosed) this.#records.close()
  }

  #count(name: string, change: 1 | -1): void {
    const [token = ''] = name.split('/', 1)
    const count = (this.#counts.get(token) ?? 0) + change
    if (count === 0) this.#counts.delete(token)
    else this.#counts.set(token, count)
  }
}
