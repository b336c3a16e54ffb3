/**
 * Statements by the exact bytes of their texts, for all connections of a server: a repeated text is not read again.
 *
 * Invariants
 *  1. What is cached follows from the bytes alone, and holds nothing of a session or a user.
 *  2. What is cached takes at most about 2 × `generationBytesMax` + `scriptBytesMax`.
 */
import { Generations } from '../base/generations.ts'
import type { Session, Statement } from './session.ts'
import { bytesOf } from './statement-size.ts'

/** A longer text is read each time, in bytes. */
export const cachedBytesMax = 2048
/** Scripts whose statements take more memory are not cached, in bytes. */
export const scriptBytesMax = 262_144
/** What an entry counts beside its text and its statements. */
const entryBytes = 128
const generationBytesMax = 8_388_608

/** A statement of a text, which is compiled when it is wanted first. */
export interface Source {
  readonly text: string
  /** About how much memory it takes, in bytes. */
  readonly heldBytes: number
  /** Compiles it. Throws or rejects with SqlError. @param declared the types of parameters that a client gave; 0: open. */
  compile(session: Session, declared?: readonly number[]): Statement | Promise<Statement>
}

/** The statements of a text. */
export type Script = readonly Source[]

/** The cache of one server. */
export class StatementCache {
  readonly #scripts = new Generations<string, Script>(generationBytesMax, bytesTaken)

  /** The statements of the text whose bytes are this Latin-1 text. */
  get(bytes: string): Script | undefined {
    return this.#scripts.get(bytes)
  }

  /** Adds a text, unless it is long. */
  add(bytes: string, script: Script): void {
    if (bytes.length <= cachedBytesMax && bytesTaken(script, bytes) <= scriptBytesMax)
      this.#scripts.add(bytes, script)
  }
}

/** What statements may take at the most: they are compiled later. */
function bytesTaken(script: Script, bytes: string): number {
  return script.reduce((sum, { text }) => sum + bytesOf(text, true), bytes.length + entryBytes)
}
