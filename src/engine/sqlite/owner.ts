/**
 * The ownership of a store: the right of one process to serve strict kinds.
 *
 * The owner lock alone does not give it, because its file can be deleted while its owner runs: the next process then
 * locks a new file of the same name. So an owner looks again and again whether its lock file still has its name, and
 * writes a claim into the store, by which the next owner sees which file was locked.
 *
 * Invariants
 *  1. `owns` is true only if the locked file had its name at most `trustMs` before, on the monotonic clock.
 *  2. An owner begins `waitMs` after it has taken the lock, unless the claim in the store says that the owner before it
 *     had locked this very file: the operating system has taken the lock back from that process then, and it is gone.
 *     `waitMs` is longer than `trustMs`, and both processes run on one kernel, whose monotonic clock they share. So
 *     every request for which `owns` was true at the old owner came before every request that the new owner serves.
 *  3. Every reserve that is sent while `owns` is true carries the claim, and the store refuses it once it holds another.
 *  4. When `owns` turns false, `onLost` has been called before it returns.
 */

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, sleep, stayAlive } from '../../base/clock.ts'
import type { LogEvent } from '../../base/events.ts'
import type { StoreOwnership } from '../engine.ts'
import type { OwnerLock } from './owner-lock.ts'

/** For how long a look at the lock file counts, in ms. */
const trustMs = 200
/** How long a new owner waits for one before that may still run, in ms. */
const waitMs = 500

/** What the ownership of a store needs of its engine. */
export type OwnerOptions = {
  readonly lock: OwnerLock
  readonly clock: Clock
  /** Reads the claim in the store; undefined: there is none. */
  readonly read: () => Promise<string | undefined>
  /** Writes a claim in the place of another. */
  readonly sign: (claim: string, over: string | undefined) => Promise<unknown>
  /** Told when this process owns the store no longer. */
  readonly onLost: () => void
  readonly onEvent: (event: LogEvent) => void
}

/** A claim as it is stored: which process made it, and which lock file that process had locked. */
type Claim = { readonly holder: string; readonly lock?: string }

/** See the invariants at the top of the file. */
export class Owner {
  readonly #options: OwnerOptions
  readonly #claims = new Set<string>()
  #claim: string | undefined
  /** What stood in the store before the claim. */
  #over: string | undefined
  #trustedUntilUs = 0
  /** Whether another process owned the store, or this one had lost it, when this was last asked. */
  #elsewhere = false
  /** The lock file was touched, and whether another process has taken the store meanwhile is not yet known. */
  #inDoubt = false
  #taking: Promise<boolean> | undefined
  #signing: Promise<unknown> | undefined

  constructor(options: OwnerOptions) {
    this.#options = options
  }

  /** What this process's reserves carry; undefined: it does not own the store. */
  get claim(): string | undefined {
    return this.#claim
  }

  /** Whether this process owns the store now; cheap enough for every callback. */
  owns(): boolean {
    if (this.#claim === undefined) return false
    const nowUs = this.#options.clock.monoUs()
    return nowUs < this.#trustedUntilUs || this.#look(nowUs)
  }

  /** Whether this process owns the store; tries to take it when no other process does. Rejects as the lock does. */
  async ask(): Promise<StoreOwnership> {
    if (this.owns()) return { state: 'owner' }
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined
    })
    if (await this.#taking) return { state: 'owner' }
    this.#elsewhere = true
    const claim = await this.#options.read().catch(() => undefined)
    const holder = holderOf(claim)
    if (this.#inDoubt) this.#tellLost(`${holder} owns the store now`)
    this.#inDoubt = false
    return { state: 'other', holder }
  }

  /** Takes the store if no other process has it. Resolves, whatever hinders that: the next question meets it too. */
  async settle(): Promise<void> {
    await this.ask().catch(() => {})
    await this.#signing
  }

  /** Writes the claim into the store once more: it may hold another one since it was set back. */
  async sign(): Promise<void> {
    if (this.#claim === undefined) return
    this.#over = await this.#options.read()
    await this.#options.sign(this.#claim, this.#over)
  }

  /** The store has refused what carried `claim`: finds out why. */
  async confirm(claim: string): Promise<void> {
    const found = await this.#options.read()
    if (claim !== this.#claim || found === claim) return
    // It could not be written at the time.
    if (found === this.#over) await this.#options.sign(claim, found)
    else {
      this.#stop()
      this.#tellLost(`${holderOf(found)} owns the store now`)
    }
  }

  async #take(): Promise<boolean> {
    const { lock, clock, onEvent } = this.#options
    if (!lock.tryToOwn()) return false
    const lockedUs = clock.monoUs()
    const before = await this.#options.read().catch(() => unreadable)
    if (before !== undefined && !this.#claims.has(before) && readClaim(before).lock !== lock.identity) {
      const { holder } = readClaim(before)
      onEvent({
        level: 'warn',
        message: `${holder} owned this store by another lock file than the present one: the store was moved or restored, or the file was deleted; strict kinds wait ${waitMs} ms, in which that process notices it if it still runs`,
      })
      const alive = stayAlive()
      await sleep(clock, waitMs - Math.floor((clock.monoUs() - lockedUs) / 1000))
      alive.cancel()
    }
    const nowUs = clock.monoUs()
    if (!lock.isOwner || !lock.stands) {
      this.#giveUp()
      return false
    }
    this.#trustedUntilUs = nowUs + trustMs * 1000
    this.#over = before
    this.#claim = JSON.stringify({
      holder: `process ${process.pid} on ${hostname()}`,
      lock: lock.identity,
      id: randomUUID(),
    })
    this.#claims.add(this.#claim)
    // If it cannot be written now, the first reserve that carries it is refused, and it is written then.
    this.#signing = this.#options.sign(this.#claim, before).catch(() => {})
    if (this.#elsewhere)
      onEvent({ level: 'info', message: 'this process owns the store now, and serves strict kinds' })
    this.#elsewhere = false
    this.#inDoubt = false
    return true
  }

  #look(nowUs: number): boolean {
    const { lock, onEvent } = this.#options
    if (lock.stands) {
      this.#trustedUntilUs = nowUs + trustMs * 1000
      return true
    }
    // A file that was moved away and back looks the same: another process may have been the owner meanwhile.
    this.#inDoubt = lock.touched
    this.#stop()
    if (this.#inDoubt) {
      onEvent({
        level: 'info',
        message:
          'the file of the owner lock was linked, moved or given another mode; strict kinds pause here until this process has locked it again',
      })
    } else this.#tellLost('the file of its owner lock was removed or replaced')
    return false
  }

  /** Is the owner no longer. */
  #stop(): void {
    this.#claim = undefined
    this.#elsewhere = true
    this.#options.onLost()
    this.#giveUp()
  }

  #tellLost(reason: string): void {
    this.#options.onEvent({
      level: 'error',
      message: `this process owns the store no longer: ${reason}; strict kinds stop here until it does again`,
    })
  }

  #giveUp(): void {
    try {
      this.#options.lock.disown()
    } catch {
      // The next question meets the same, and says it.
    }
  }
}

/** Stands for a claim that could not be read, and may be any. */
const unreadable = 'another process'

function holderOf(claim: string | undefined): string {
  return claim === undefined ? 'another process' : readClaim(claim).holder
}

/** Older versions wrote down the process alone. */
function readClaim(text: string): Claim {
  try {
    const { holder, lock } = JSON.parse(text)
    return { holder, lock }
  } catch {
    return { holder: text }
  }
}
