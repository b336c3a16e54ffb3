/**
 * The owner lock: whoever has it alone serves strict kinds. It is a file lock that SQLite takes on a file of its
 * own, so the system takes it back however the process ends.
 *
 * No other code may open and close that file in a process that holds the lock: POSIX drops a process's locks
 * on a file when it closes any handle to it. Hence the second file, which says who the holder is.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'

/** See the top of the file. */
export class OwnerLock {
  readonly #file: string
  #held: DatabaseSync | undefined

  constructor(file: string) {
    this.#file = file
  }

  /** Takes the lock if it is free. Returns undefined when this process has it, else who does. */
  take(): string | undefined {
    if (this.#held !== undefined) return undefined
    const database = new DatabaseSync(`${this.#file}-owner`, { timeout: 0 })
    try {
      database.exec('BEGIN EXCLUSIVE')
    } catch {
      database.close()
      return this.#holder()
    }
    this.#held = database
    try {
      writeFileSync(`${this.#file}-holder`, `process ${process.pid} on ${hostname()}\n`)
    } catch {
      // Only a help for messages.
    }
    return undefined
  }

  /** Gives the lock back. */
  release(): void {
    this.#held?.close()
    this.#held = undefined
  }

  #holder(): string {
    try {
      return readFileSync(`${this.#file}-holder`, 'utf8').trim()
    } catch {
      return 'another process'
    }
  }
}
