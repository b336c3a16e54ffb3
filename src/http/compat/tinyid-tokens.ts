/**
 * Who may use tinyid's API: a token opens generators by name. Tokens are records `tinyid-tokens/TOKEN/BIZTYPE`, and
 * rules of the setting `tinyid-tokens`.
 *
 * Invariants
 *  1. What records say is held here, and follows them by a watch: with the engine away, tokens go on to work.
 *  2. A record opens one generator to one token: the first slash after the prefix ends the token.
 *  3. Tokens are in no error and no log.
 */
import { globMatches } from '../../base/glob.ts'
import type { Engine, Watch } from '../../engine/engine.ts'
import { listAll } from '../../engine/pages.ts'
import type { TokenRule } from '../../node/compat-settings.ts'

/** Records of tokens start with this. */
const prefix = 'tinyid-tokens/'

/** See the top of the file. */
export class TinyidTokens {
  readonly #engine: Engine
  readonly #rules: readonly TokenRule[]
  /** Keys of records; undefined until they have been read. */
  #keys: Set<string> | undefined
  #loading: Promise<void> | undefined
  #watch: Watch | undefined
  #closed = false

  constructor(engine: Engine, rules: readonly TokenRule[]) {
    this.#engine = engine
    this.#rules = rules
  }

  /** Whether `token` opens `bizType`; undefined: `load` knows more. */
  opens(token: string, bizType: string): boolean | undefined {
    if (token === '' || bizType === '') return false
    if (this.#rules.some((rule) => rule.token === token && globMatches(rule.pattern, bizType))) return true
    if (token.includes('/')) return false
    return this.#keys?.has(`${prefix}${token}/${bizType}`)
  }

  /** Reads the records, and follows them from then on. Rejects when the engine cannot be asked; ask again then. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error) => {
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  /** Stops following. */
  close(): void {
    this.#closed = true
    this.#watch?.close()
  }

  async #load(): Promise<void> {
    // What is told while the list is being read is newer than the list.
    const told = new Map<string, boolean>()
    const watch = await this.#engine.watch(prefix, ({ key, record }) => {
      if (this.#keys === undefined) told.set(key, record !== undefined)
      else change(this.#keys, key, record !== undefined)
    })
    try {
      const keys = await this.#list()
      for (const [key, there] of told) change(keys, key, there)
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

function change(keys: Set<string>, key: string, there: boolean): void {
  if (there) keys.add(key)
  else keys.delete(key)
}
