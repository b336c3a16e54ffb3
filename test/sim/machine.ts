/**
 * A machine of the simulation: its clocks, and a gate through which everything reaches its program.
 *
 * Stopped (SIGSTOP): its clocks go on, nothing reaches the program until it goes on; then all of it does, in any order.
 * Suspended: the same, and its monotonic clock stands still meanwhile; its wall clock does not.
 * Paused (a virtual machine): the same, and both of its clocks stand still.
 */
import type { Clock, Timer } from '../../src/base/clock.ts'
import { type SelfChecking, touch } from '../invariants.ts'
import type { World } from './world.ts'

/** How a machine does not run. */
export type Standstill = 'stopped' | 'suspended' | 'paused'

/** How far clocks of machines run apart. */
export type Clocks = {
  /** Monotonic clocks: a machine's runs too slow or too fast by this fraction at most. */
  readonly driftMax: number
  /** Wall clocks: a machine's is off by this at most, in ms. */
  readonly skewMaxMs: number
  /** The moment around which wall clocks begin, in Unix µs. */
  readonly beginUs?: number
  /** Told what wall clocks show. */
  readonly onWall?: (wallUs: number) => void
}

export class Machine implements Clock {
  readonly name: string
  /** How often it has been paused. */
  pauses = 0
  /** Whether no renewal that it sent after its last pause was answered: it cannot know that others may have taken over. */
  isUnaware = false
  /** What runs on it, if that can check itself: it does after each event that has reached it. */
  program: SelfChecking | undefined
  readonly #world: World
  /** Monotonic µs per true µs. */
  readonly #rate: number
  readonly #monoStartUs: number
  #wallOffsetUs: number
  readonly #onWall: Clocks['onWall']
  #lostUs = 0
  #standstill: { readonly how: Standstill; readonly sinceUs: number } | undefined
  #gone = false
  #inbox: (() => void)[] = []

  constructor(world: World, name: string, { driftMax, skewMaxMs, beginUs = 1.78e15, onWall }: Clocks) {
    this.#world = world
    this.name = name
    const most = world.chance(0.5)
    this.#rate = most ? world.pick([1 - driftMax, 1 + driftMax]) : world.between(1 - driftMax, 1 + driftMax)
    this.#monoStartUs = world.between(0, 1e9)
    this.#onWall = onWall
    this.#wallOffsetUs = beginUs + world.between(-1, 1) * skewMaxMs * 1000
  }

  monoUs(): number {
    const { how, sinceUs } = this.#standstill ?? {}
    const isStill = sinceUs !== undefined && how !== 'stopped'
    return this.#monoStartUs + ((isStill ? sinceUs : this.#world.nowUs) - this.#lostUs) * this.#rate
  }

  wallUs(): number {
    const wallUs = this.#world.nowUs * this.#rate + this.#wallOffsetUs
    this.#onWall?.(wallUs)
    return wallUs
  }

  timer(delayMs: number, callback: () => void): Timer {
    let cancelled = false
    const dueUs = this.monoUs() + delayMs * 1000
    const reached = () => {
      if (cancelled) return
      // What is lost to a standstill is made up for afterwards.
      if (this.monoUs() >= dueUs - 1) callback()
      else wait()
    }
    const due = () => {
      if (cancelled || this.#gone) return false
      this.reach(reached)
      return true
    }
    const wait = () => this.#world.after(Math.max((dueUs - this.monoUs()) / this.#rate, 0), due)
    wait()
    return {
      cancel: () => {
        cancelled = true
      },
    }
  }

  /** Runs something in this machine's program, now or when it goes on; never if it is gone. */
  reach(run: () => void): void {
    if (this.#gone) return
    if (this.#standstill !== undefined) {
      this.#inbox.push(run)
      return
    }
    if (this.program !== undefined) touch(this.program)
    run()
  }

  /** Whether its program does not run. */
  get isStopped(): boolean {
    return this.#standstill !== undefined || this.#gone
  }

  /** It stands still until it goes on. */
  stop(how: Standstill = 'stopped'): void {
    this.#standstill ??= { how, sinceUs: this.#world.nowUs }
  }

  /** SIGCONT, or the machine wakes up. */
  goOn(): void {
    const { how, sinceUs = 0 } = this.#standstill ?? {}
    const lostUs = this.#world.nowUs - sinceUs
    if (how === 'suspended' || how === 'paused') this.#lostUs += lostUs
    if (how === 'paused') {
      this.#wallOffsetUs -= lostUs * this.#rate
      this.pauses++
      this.isUnaware = true
    }
    this.#standstill = undefined
    const inbox = this.#inbox
    this.#inbox = []
    for (const run of inbox) this.#world.after(this.#world.between(0, 2000), () => this.reach(run))
  }

  /** Sets the wall clock by so much. */
  setWall(byMs: number): void {
    this.#wallOffsetUs += byMs * 1000
  }

  /** kill -9. */
  kill(): void {
    this.#gone = true
    this.#inbox = []
  }
}
