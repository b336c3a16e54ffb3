/**
 * Statements by the exact bytes of their texts, for all connections of a server: a repeated text is not read again.
 *
 * Invariants
 *  1. What is cached follows from the bytes alone, and holds nothing of a session or a user.
 *  2. At most 2 × `generationBytesMax` of texts are cached, of at most `cachedBytesMax` each. What is compiled from a text
 *     takes many times its bytes.
 */
import type { Statement } from './session.ts'

/** A longer text is read each time, in bytes. */
export const cachedBytesMax = 2048
/** What an entry counts beside its text. */
const entryBytes = 32
const generationBytesMax = 131_072

/** The statements of a text. */
export type Script = readonly Statement[]

/** The cache of one server. */
export class StatementCache {
  #young = new Map<string, Script>()
  #youngBytes = 0
  #old: ReadonlyMap<string, Script> = new Map()

  /** The statements of the text whose bytes are this Latin-1 text. */
  get(bytes: string): Script | undefined {
    const found = this.#young.get(bytes)
    if (found !== undefined) return found
    const aged = this.#old.get(bytes)
    if (aged !== undefined) this.add(bytes, aged)
    return aged
  }

  /** Adds a text. A full young generation becomes the old one; what was only in the old one before is removed. */
  add(bytes: string, script: Script): void {
    if (bytes.length > cachedBytesMax) return
    if (this.#youngBytes >= generationBytesMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#young.set(bytes, script)
    this.#youngBytes += bytes.length + entryBytes
  }
}
