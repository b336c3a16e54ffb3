/** The keys by which clients cancel what their other connections wait for. */
import { secretBytes } from '../base/clock.ts'

/** The length in protocol 3.0: 4 bytes of the key, and 4 that PostgreSQL uses for its process id. */
const keyBytes = 4
/** Protocol 3.2 allows more, so that the key cannot be guessed. */
const longKeyBytes = 32

/** The keys of the open connections of one server. */
export class CancelKeys<Connection extends { cancel(): void }> {
  readonly #connections = new Map<string, Connection>()

  /** The key of a connection: its id, and a secret. */
  add(connection: Connection, id: number, isLong: boolean): Buffer {
    const key = Buffer.alloc(4 + (isLong ? longKeyBytes : keyBytes))
    key.writeInt32BE(id)
    key.set(secretBytes(key.length - 4), 4)
    this.#connections.set(key.toString('latin1'), connection)
    return key
  }

  /** Cancels what the connection of this key waits for. A key that no connection has does nothing. */
  cancel(key: string): void {
    this.#connections.get(key)?.cancel()
  }

  /** Forgets the key of a connection that has ended. */
  remove(key: Buffer): void {
    this.#connections.delete(key.toString('latin1'))
  }
}
