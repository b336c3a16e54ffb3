/** One connection after another to a server that may end. */
import { setTimeout as pause } from 'node:timers/promises'
import { RawClient } from '../launch/raw-client.ts'
import type { RawReply } from '../launch/raw-reply.ts'

/** A caller of one port. */
export class Asker {
  readonly #port: () => number
  #client: RawClient | undefined

  constructor(port: () => number) {
    this.#port = port
  }

  /** Sends a command once. Resolves to undefined if no reply came: whether it was carried out is unknown. */
  async ask(...command: readonly string[]): Promise<RawReply | undefined> {
    try {
      this.#client ??= await RawClient.connect(this.#port())
      return await this.#client.command(...command)
    } catch {
      await this.close()
      await pause(10)
      return undefined
    }
  }

  async close(): Promise<void> {
    await this.#client?.close()
    this.#client = undefined
  }
}
