/**
 * A machine of the simulation: its clocks, and a gate through which everything reaches its program.
 *
 * Stopped (SIGSTOP): its clocks go on, nothing reaches the program until it goes on; then all of it does, in any order.
 * Suspended: the same, and its monotonic clock stands still meanwhile; its wall clock does not.
 */
import type { Clock, Timer } from '../../src/base/clock.ts'
import type { World } from './world.ts'

/** See the top of the file. */
export class Machine implements Clock {
  readonly name: string
  readonly #world: World
  /** Monotonic µs per true µs. */
  readonly #rate: number
  readonly #monoStartUs: number
  #wallOffsetUs: number
  #lostUs = 0
  #suspendedAtUs: number | undefined
  #stopped = false
  #gone = false
  #inbox: (() => void)[] = []

  constructor(world: World, name: string, driftMax: number) {
    this.#world = world
    this.name = name
    this.#rate = world.between(1 - driftMax, 1 + driftMax)
    this.#monoStartUs = world.between(0, 1e9)
    this.#wallOffsetUs = 1.78e15 + world.between(-1e9, 1e9)
  }

  monoUs(): number {
    const trueUs = (this.#suspendedAtUs ?? this.#world.nowUs) - this.#lostUs
    return this.#monoStartUs + trueUs * this.#rate
  }

  wallUs(): number {
    return this.#world.nowUs * this.#rate + this.#wallOffsetUs
  }

  timer(delayMs: number, callback: () => void): Timer {
    let cancelled = false
    const dueUs = this.monoUs() + delayMs * 1000
    const wait = () => {
      const leftUs = dueUs - this.monoUs()
      // What is lost to a suspension is made up for afterwards.
      this.#world.after(Math.max(leftUs / this.#rate, 0), () => {
        if (cancelled) return false
        this.reach(() => {
          if (cancelled) return
          if (this.monoUs() >= dueUs - 1) callback()
          else wait()
        })
        return true
      })
    }
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
    if (this.#stopped) this.#inbox.push(run)
    else run()
  }

  /** Whether its program does not run. */
  get isStopped(): boolean {
    return this.#stopped || this.#gone
  }

  /** SIGSTOP, or, `suspended`, the whole machine. */
  stop(suspended = false): void {
    this.#stopped = true
    if (suspended) this.#suspendedAtUs ??= this.#world.nowUs
  }

  /** SIGCONT, or the machine wakes up. */
  goOn(): void {
    if (this.#suspendedAtUs !== undefined) this.#lostUs += this.#world.nowUs - this.#suspendedAtUs
    this.#suspendedAtUs = undefined
    this.#stopped = false
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
