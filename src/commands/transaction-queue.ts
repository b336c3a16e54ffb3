/**
 * The transaction of one connection: the requests between MULTI and EXEC.
 *
 * Invariants
 *  1. It holds the bytes of requests that may run, as they arrived and in order. An error that a request would get when it
 *     runs does not refuse it.
 *  2. It holds at most `transactionMaxBytes` bytes of `transactionRequestsMax` requests, in a buffer of twice that size.
 *  3. After a refused request it holds none, and EXEC runs none.
 *  4. It is open from MULTI to EXEC or DISCARD, and running until each of its requests has its reply.
 */
import { FahaoError, hasCode } from '../base/errors.ts'

/** What one transaction may hold. */
export type TransactionLimits = {
  /** The most bytes that the requests of one transaction have together. */
  readonly transactionMaxBytes: number
  /** The most requests in one transaction. */
  readonly transactionRequestsMax: number
}

/** The slot of generators that have a leader; undefined: any node issues. */
type Slot = number | undefined

/** Commands that run at once while a transaction is open. */
const immediate: ReadonlySet<string> = new Set(['multi', 'exec', 'discard', 'watch', 'quit', 'reset'])
const nothing = Buffer.alloc(0)
const startBytes = 256

/** The transaction of one connection. */
export class TransactionQueue {
  /** Requests that were queued. */
  count = 0
  /** Bytes of the queued requests. */
  bytes = 0
  readonly #limits: TransactionLimits
  readonly #slots = new Set<number>()
  #state: 'none' | 'open' | 'refused' | 'running' = 'none'
  #buffer: Buffer = nothing

  constructor(limits: TransactionLimits) {
    this.#limits = limits
  }

  /** Whether requests are queued instead of run. */
  get isOpen(): boolean {
    return this.#state === 'open' || this.#state === 'refused'
  }

  /** Whether EXEC has begun, and replies are missing. */
  get isRunning(): boolean {
    return this.#state === 'running'
  }

  /** Whether a request of this command (`get`, `client|list`) is queued. */
  holds(name: string): boolean {
    return this.isOpen && !immediate.has(name)
  }

  /** MULTI. */
  begin(): void {
    if (this.#state !== 'none') throw new FahaoError('ERR', 'MULTI calls can not be nested')
    this.#state = 'open'
  }

  /**
   * Queues a request.
   * @param check throws or rejects with the error that refuses the request; else its result is the slot that the request
   * depends on.
   */
  queue(request: Uint8Array, check: () => Slot | Promise<Slot>): Promise<void> | undefined {
    try {
      const slot = check()
      if (slot instanceof Promise) return this.#queueLater(request, slot)
      this.#add(request, slot)
      return undefined
    } catch (error) {
      this.#refuse()
      throw error
    }
  }

  async #queueLater(request: Uint8Array, slot: Promise<Slot>): Promise<void> {
    try {
      this.#add(request, await slot)
    } catch (error) {
      this.#refuse()
      throw error
    }
  }

  /** The error line for a request that was refused before it could run. */
  refused(error: unknown, word: string): unknown {
    if (this.isOpen) this.#refuse()
    if (this.isRunning && hasCode(error, 'NOPERM')) return noLongerPermitted(error as FahaoError)
    if (word !== 'exec' || !(error instanceof FahaoError)) return error
    this.clear()
    const reason = error.code === 'ERR' ? error.message : `${error.code} ${error.message}`
    return new FahaoError('EXECABORT', `Transaction discarded because of: ${reason}`)
  }

  /** EXEC: the requests to run, and the slots of those that may be led elsewhere. `clear` must follow. */
  run(): { readonly count: number; readonly requests: Buffer; readonly slots: readonly number[] } {
    if (!this.isOpen) throw new FahaoError('ERR', 'EXEC without MULTI')
    if (this.#state === 'refused') {
      this.clear()
      throw new FahaoError('EXECABORT', 'Transaction discarded because of previous errors.')
    }
    this.#state = 'running'
    return { count: this.count, requests: this.#buffer.subarray(0, this.bytes), slots: [...this.#slots] }
  }

  /** DISCARD. */
  discard(): void {
    if (!this.isOpen) throw new FahaoError('ERR', 'DISCARD without MULTI')
    this.clear()
  }

  /** Ends the transaction, if there is one. */
  clear(): void {
    this.#state = 'none'
    this.#empty()
  }

  #refuse(): void {
    this.#state = 'refused'
    this.#empty()
  }

  #empty(): void {
    this.#buffer = nothing
    this.#slots.clear()
    this.count = 0
    this.bytes = 0
  }

  #add(request: Uint8Array, slot: Slot): void {
    if (this.#state !== 'open') return
    const { transactionMaxBytes, transactionRequestsMax } = this.#limits
    const bytes = this.bytes + request.length
    if (this.count >= transactionRequestsMax) {
      throw new FahaoError(
        'LIMIT',
        `a transaction has at most ${transactionRequestsMax} requests; send several`,
      )
    }
    if (bytes > transactionMaxBytes) {
      throw new FahaoError(
        'LIMIT',
        `the requests of a transaction have at most ${transactionMaxBytes} bytes; send several`,
      )
    }
    if (bytes > this.#buffer.length) this.#grow(bytes)
    this.#buffer.set(request, this.bytes)
    this.bytes = bytes
    this.count++
    if (slot !== undefined) this.#slots.add(slot)
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(startBytes, bytes, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.bytes)
    this.#buffer = larger
  }
}

/** Permissions were checked when the request was queued, and have changed since. */
function noLongerPermitted({ message }: FahaoError): FahaoError {
  const reason = message.endsWith(' a key') ? 'touch the specified keys' : 'execute the command or subcommand'
  return new FahaoError(
    'NOPERM',
    `ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason: no permission to ${reason}`,
  )
}
