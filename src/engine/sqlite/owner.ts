/**
 * The ownership of a store: the right of one process to serve strict kinds.
 *
 * The owner lock alone does not suffice, because its file can be deleted while its owner runs: the next process then
 * locks a new file of the same name. So an owner checks again and again that its lock file still has its name, and
 * writes a claim into the store, which shows the next owner which file was locked.
 *
 * Invariants
 *  1. `owns` is true only if the locked file had its name at most `trustMs` before, on the monotonic clock.
 *  2. An owner begins `waitMs` after it has taken the lock, unless the claim in the store shows that the previous owner
 *     had locked this very file: then the operating system has released that process's lock, so the process has ended.
 *     `waitMs` is longer than `trustMs`, and both processes run on one kernel, whose monotonic clock they share. So
 *     every request for which `owns` was true in the old owner precedes every request that the new owner serves.
 *  3. Every reserve that is sent while `owns` is true carries the claim, and the store rejects it once it contains another.
 *  4. Before `owns` returns false for the first time after a loss, `onLost` has been called.
 */

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, sleep, stayAlive } from '../../base/clock.ts'
import type { LogEvent } from '../../base/events.ts'
import type { StoreOwnership } from '../engine.ts'
import type { OwnerLock } from './owner-lock.ts'

/** The time for which a check of the lock file is valid, in ms. */
const trustMs = 200
/** The time for which a new owner waits, because a previous owner may still run, in ms. */
const waitMs = 500

/** The lock, the claim and the callbacks of an ownership. */
export type OwnerOptions = {
  readonly lock: OwnerLock
  readonly clock: Clock
  /** Reads the claim in the store; undefined if there is none. */
  readonly read: () => Promise<string | undefined>
  /** Replaces a claim by another. */
  readonly sign: (claim: string, over: string | undefined) => Promise<unknown>
  /** Called when this process no longer owns the store. */
  readonly onLost: () => void
  readonly onEvent: (event: LogEvent) => void
}

/** A claim as stored: the process that made it, and the identity of the lock file that it had locked. */
type Claim = { readonly holder: string; readonly lock?: string }

/** The ownership of one store by one process. */
export class Owner {
  readonly #options: OwnerOptions
  readonly #claims = new Set<string>()
  #claim: string | undefined
  /** The claim that this process's claim replaced. */
  #over: string | undefined
  #trustedUntilUs = 0
  /** Whether at the last check another process owned the store, or this one had lost it. */
  #elsewhere = false
  /** The lock file was touched, and another process may have taken the store meanwhile. */
  #inDoubt = false
  #taking: Promise<boolean> | undefined
  #signing: Promise<unknown> | undefined

  constructor(options: OwnerOptions) {
    this.#options = options
  }

  /** The claim that this process's reserves carry; undefined if it does not own the store. */
  get claim(): string | undefined {
    return this.#claim
  }

  /** Returns whether this process owns the store now; cheap enough for every callback. */
  owns(): boolean {
    if (this.#claim === undefined) return false
    const nowUs = this.#options.clock.monoUs()
    return nowUs < this.#trustedUntilUs || this.#look(nowUs)
  }

  /** Tries to take the store if no other process owns it, and returns its owner. Rejects as the lock does. */
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

  /** Tries to take the store if no other process owns it. Always resolves: the next call fails in the same way. */
  async settle(): Promise<void> {
    await this.ask().catch(() => {})
    await this.#signing
  }

  /** Writes the claim into the store again: an older state of the store contains another one. */
  async sign(): Promise<void> {
    if (this.#claim === undefined) return
    this.#over = await this.#options.read()
    await this.#options.sign(this.#claim, this.#over)
  }

  /** Handles the store's rejection of a reserve that carried `claim`. */
  async confirm(claim: string): Promise<void> {
    const found = await this.#options.read()
    if (claim !== this.#claim || found === claim) return
    // The store still has the claim before: an earlier attempt to replace it failed.
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
    // If this fails, the first reserve that carries the claim is rejected, and the claim is written then.
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
    // A file that was moved away and back looks the same, but another process may have been the owner meanwhile.
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

  /** Ends the ownership. */
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
      // The next call fails in the same way, and reports it.
    }
  }
}

/** Stands for an unreadable claim, which may be any. */
const unreadable = 'another process'

function holderOf(claim: string | undefined): string {
  return claim === undefined ? 'another process' : readClaim(claim).holder
}

/** Older versions stored only the process. */
function readClaim(text: string): Claim {
  try {
    const { holder, lock } = JSON.parse(text)
    return { holder, lock }
  } catch {
    return { holder: text }
  }
}
