/**
 * The queue before scrypt. libuv's pool has four threads, which file systems, DNS and SQLite need too.
 *
 * Invariants
 *  1. At most `widthMax` tasks run at once, and at most `lengthMax` wait.
 *  2. Networks take turns, then the networks in each of them, then addresses (`networksOf`): an attacker that has a /48 of IPv6
 *     gets every second turn beside one other login, whatever its number of addresses.
 *  3. Favoured tasks run before all others. An attacker without a valid password has none.
 *  4. A new task beyond `lengthMax` takes the place of one of the network with the most of them, at random among equals, which
 *     may be the new one: no number of addresses fills the queue permanently. A favoured task is refused only when all that
 *     wait are favoured.
 *  5. Once stopped, nothing waits and nothing starts.
 */
import { networksOf } from '../base/address.ts'
import { type Random, systemRandom } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'

const widthMax = 2
/** Five seconds of work at 25 hashes a second: clients do not wait for much longer. */
const lengthMax = 128

/** From where a task comes, and whether that address has proved itself. */
export type Requester = { readonly address: string; readonly isFavoured: boolean }

type Task = { readonly run: () => void; readonly refuse: (error: FahaoError) => void }

/** Tasks of one rank: of one network, with the networks in it, or at the last level those of one address. */
class Lane {
  length = 0
  readonly #lanes = new Map<string, Lane>()
  readonly #tasks: Task[] = []

  /** @param path the networks that the task comes from, the widest first. */
  add(path: readonly string[], task: Task): void {
    this.length++
    const [name, ...rest] = path
    if (name === undefined) {
      this.#tasks.push(task)
      return
    }
    const lane = this.#lanes.get(name) ?? new Lane()
    this.#lanes.set(name, lane)
    lane.add(rest, task)
  }

  /** Removes the oldest task of the network whose turn it is. */
  next(): Task | undefined {
    if (this.length === 0) return undefined
    this.length--
    const [turn] = this.#lanes
    if (turn === undefined) return this.#tasks.shift()
    const [name, lane] = turn
    const task = lane.next()
    this.#lanes.delete(name)
    if (lane.length > 0) this.#lanes.set(name, lane)
    return task
  }

  /** Removes the newest task of the network with the most of them, at random among equals. */
  shed(random: Random): Task | undefined {
    if (this.length === 0) return undefined
    this.length--
    let busiest: [name: string, lane: Lane] | undefined
    let equals = 0
    for (const each of this.#lanes) {
      const length = busiest?.[1].length ?? 0
      if (each[1].length < length) continue
      equals = each[1].length === length ? equals + 1 : 1
      if (equals === 1 || random() * equals < 1) busiest = each
    }
    if (busiest === undefined) return this.#tasks.pop()
    const [name, lane] = busiest
    const task = lane.shed(random)
    if (lane.length === 0) this.#lanes.delete(name)
    return task
  }
}

/** Runs two tasks at a time. One queue serves a whole process. */
export class HashQueue {
  readonly #favoured = new Lane()
  readonly #others = new Lane()
  readonly #random: Random
  #running = 0
  #stopped = false

  constructor(random: Random = systemRandom) {
    this.#random = random
  }

  /** How many tasks run. */
  get running(): number {
    return this.#running
  }

  /** How many tasks wait. */
  get waiting(): number {
    return this.#favoured.length + this.#others.length
  }

  /** Runs a task when its turn comes. Rejects as the task does, or with BUSY, or SHUTDOWN once the queue was stopped. */
  run<Value>({ address, isFavoured }: Requester, task: () => Promise<Value>): Promise<Value> {
    if (this.#stopped) return Promise.reject(stopping())
    const lane = isFavoured ? this.#favoured : this.#others
    return new Promise((resolve, reject) => {
      const run = () => {
        this.#running++
        task()
          .then(resolve, reject)
          .finally(() => {
            this.#running--
            this.#runNext()
          })
      }
      lane.add(networksOf(address), { run, refuse: reject })
      this.#runNext()
      if (this.waiting <= lengthMax) return
      const shed = this.#others.length > 0 ? this.#others : this.#favoured
      shed.shed(this.#random)?.refuse(busy())
    })
  }

  /** Refuses what waits and what comes: at the stop of a process, so that it waits for two derivations at most. */
  stop(): void {
    this.#stopped = true
    for (const lane of [this.#favoured, this.#others])
      for (let task = lane.next(); task !== undefined; task = lane.next()) task.refuse(stopping())
  }

  #runNext(): void {
    if (this.#running >= widthMax) return
    const next = this.#favoured.next() ?? this.#others.next()
    next?.run()
  }
}

function busy(): FahaoError {
  return new FahaoError('BUSY', 'too many passwords are being checked already; retry with a pause')
}

function stopping(): FahaoError {
  return new FahaoError('SHUTDOWN', 'this node is stopping, and checks no more passwords; retry')
}
