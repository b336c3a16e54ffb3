/** A session of the MySQL proxy without sockets: bytes of a client and of a server in, cut anywhere, bytes for both out. */
import assert from 'node:assert/strict'
import { turnBytesMax, turns } from '../../src/listening/turns.ts'
import { type IdMaker, IdSupply } from '../../src/proxy/id-supply.ts'
import { Guards } from '../../src/proxy/known-guards.ts'
import { Relay } from '../../src/proxy/relay.ts'
import { parseFilledColumn } from '../../src/proxy/sql/configured-columns.ts'
import { standing } from '../unit/proxy/obedient-server.ts'
import { MysqlServerModel } from './mysql-server-model.ts'

/** The longest statement that is held, in bytes. */
export const heldBytesMax = 1500
/** The turns within which a statement that waits goes on. */
const turnsMax = 20
const idTimeoutMs = 1000

/** How a server answers. */
export type Reply = (honest: Buffer, at: number) => Buffer

/** How bytes arrive. */
export type Cuts = readonly number[]

/** One session. */
export class Scene {
  readonly fromClient: Buffer[] = []
  readonly fromServer: Buffer[] = []
  readonly toClient: Buffer[] = []
  readonly toServer: Buffer[] = []
  /** Errors that are no fault of the other sides. */
  readonly faults: unknown[] = []
  /** The relay has ended the connection. */
  hasEnded = false
  /** Ids that were drawn. */
  drawn = 0
  readonly #server = new MysqlServerModel()
  readonly #relay: Relay
  readonly #reply: Reply
  readonly #cuts: Cuts
  #turn = 0
  #replies = 0
  #seen = 0

  constructor(isFilled: boolean, reply: Reply, cuts: Cuts) {
    this.#reply = reply
    this.#cuts = cuts
    const columns = [parseFilledColumn('shop.orders.id=order')]
    const filling = {
      guards: new Guards(columns, standing),
      supply: new IdSupply(this.#makeMaker(), idTimeoutMs),
      limits: { statementsMax: 5, statementsBytesMax: 65_536 },
      onError: (error: unknown) => void this.faults.push(error),
    }
    const flags = { common: 0x0f_a6_85, mariadb: 0 }
    const none = Buffer.alloc(0)
    const session = { flags, status: 2, fromClient: none, fromServer: none }
    this.#relay = new Relay(session, isFilled ? filling : undefined, {
      toClient: (bytes) => this.#send(this.toClient, bytes),
      toServer: (bytes) => this.#send(this.toServer, bytes),
      counted: () => {},
      refused: () => {},
      holding: (bytes) => bytes <= heldBytesMax,
      weighed: () => {},
      resumed: () => {},
      fail: (error) => {
        this.hasEnded = true
        this.faults.push(error)
      },
      lost: () => {
        this.hasEnded = true
      },
    })
  }

  /** Every other id is at hand. */
  #makeMaker(): IdMaker {
    const draw = (count: number) => {
      return { ids: Array.from({ length: count }, () => String(++this.drawn)), isText: false }
    }
    return {
      tryDraw: (_, count) => (this.drawn % 2 === 0 ? draw(count) : undefined),
      draw: (_, count) => Promise.resolve(draw(count)),
      open: () => Promise.resolve(),
    }
  }

  /** Commands that have not been answered. */
  get outstanding(): number {
    return this.#relay.outstanding
  }

  /** The client sends; then everything happens that follows from it. */
  async client(bytes: Buffer): Promise<void> {
    for (const chunk of this.#cut(bytes)) {
      // A client is not read while its statement waits.
      if (this.hasEnded || this.#relay.isSuspended) return
      this.fromClient.push(chunk)
      if (this.#turn % 2 === 0) turns.spend(turnBytesMax)
      this.#relay.fromClient(Buffer.from(chunk))
      assert.ok(this.#relay.countedBytes <= 2 * (heldBytesMax + chunk.length) || this.hasEnded)
      await this.#settle()
    }
  }

  /** Both sides end. */
  end(): void {
    this.#relay.end()
    if (!this.hasEnded) this.#relay.serverEnded()
  }

  #send(where: Buffer[], bytes: Uint8Array): void {
    if (!this.hasEnded) where.push(Buffer.from(bytes))
  }

  /** The server answers what it has received, until nothing more happens. */
  async #settle(): Promise<void> {
    for (let turns = 0; turns < turnsMax; turns++) {
      const isSuspended = this.#relay.isSuspended
      const news = this.toServer.slice(this.#seen)
      this.#seen = this.toServer.length
      for (const honest of this.#server.take(Buffer.concat(news))) this.#answer(honest)
      if (isSuspended) await new Promise((resolve) => setImmediate(resolve))
      else if (news.length === 0) return
    }
  }

  #answer(honest: Buffer): void {
    for (const chunk of this.#cut(this.#reply(honest, this.#replies++))) {
      if (this.hasEnded) return
      this.fromServer.push(chunk)
      this.#relay.fromServer(Buffer.from(chunk))
    }
  }

  #cut(bytes: Buffer): Buffer[] {
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; ) {
      const size = this.#cuts[this.#turn++ % this.#cuts.length]!
      chunks.push(bytes.subarray(at, at + size))
      at += size
    }
    return chunks
  }
}
