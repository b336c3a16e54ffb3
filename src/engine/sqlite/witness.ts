/**
 * A small file beside the store that remembers how far the store had got, so that an older copy put in its
 * place is noticed. It is written without a sync, at most every second: it may lag behind, never run ahead.
 * What it cannot notice is a folder restored with the witness in it.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'

/** How far a store has got. */
export type Progress = {
  /** Random, made with the store. */
  readonly installation: string
  /** How many transactions have written. */
  readonly commits: bigint
}

/** See the top of the file. */
export class Witness {
  readonly #path: string
  #written: bigint | undefined

  constructor(file: string) {
    this.#path = `${file}-witness`
  }

  /** Why the store cannot be the one that was here before; undefined when it can. */
  objection(store: Progress): string | undefined {
    const remembered = this.#read()
    if (remembered === undefined) return undefined
    const { installation, commits } = remembered
    if (installation !== store.installation) {
      return `it is not the store that was here before (its witness ${this.#path} remembers another): run fahao advance, or remove the witness if that store is meant to be forgotten`
    }
    if (commits <= store.commits) return undefined
    return `it has forgotten ${commits - store.commits} writes (an older copy was put in its place): run fahao advance --by N with more than what can have been issued since`
  }

  /** Remembers how far the store has got, unless that is known. Never throws: it is a help, not a promise. */
  remember({ installation, commits }: Progress): void {
    if (this.#written === commits) return
    try {
      const temporary = `${this.#path}.${process.pid}`
      writeFileSync(temporary, `${JSON.stringify({ installation, commits: String(commits) })}\n`)
      renameSync(temporary, this.#path)
      this.#written = commits
    } catch {
      // A full or read-only disk shows at the next commit, with a better error.
    }
  }

  /** What is remembered; undefined when nothing readable is. */
  #read(): Progress | undefined {
    try {
      const { installation, commits } = JSON.parse(readFileSync(this.#path, 'utf8'))
      return { installation: String(installation), commits: BigInt(commits) }
    } catch {
      return undefined
    }
  }

  /** How many commits are remembered; 0 when nothing is. */
  get commits(): bigint {
    return this.#read()?.commits ?? 0n
  }
}
