/**
 * The queue before scrypt. libuv's pool has four threads, which file systems, DNS and SQLite need too.
 *
 * Invariants
 *  1. At most `widthMax` tasks run at once, and at most `lengthMax` wait.
 *  2. Addresses take turns: a task waits for one task at most of each other address before the address's own next turn.
 *  3. Favoured tasks run before all others. An attacker without a valid password has none.
 *  4. A full queue refuses the newest task of the address with the most of them, so one address cannot fill it for
 *     others; it refuses a favoured task only when all that wait are favoured.
 */
import { FahaoError } from '../base/errors.ts'

const widthMax = 2
/** Five seconds of work at 25 hashes a second: clients do not wait for much longer. */
const lengthMax = 128

/** From where a task comes, and whether that address has proved itself. */
export type Asker = { readonly address: string; readonly isFavoured: boolean }

type Task = { readonly run: () => void; readonly refuse: () => void }

/** Tasks of one rank, by address. */
class Lane {
  length = 0
  readonly #tasks = new Map<string, Task[]>()

  /** How many tasks of an address wait. */
  of(address: string): number {
    return this.#tasks.get(address)?.length ?? 0
  }

  add(address: string, task: Task): void {
    const tasks = this.#tasks.get(address)
    if (tasks === undefined) this.#tasks.set(address, [task])
    else tasks.push(task)
    this.length++
  }

  /** Removes the oldest task of the address whose turn it is. */
  next(): Task | undefined {
    const [turn] = this.#tasks
    if (turn === undefined) return undefined
    const [address, tasks] = turn
    const task = tasks.shift()
    this.length--
    this.#tasks.delete(address)
    if (tasks.length > 0) this.#tasks.set(address, tasks)
    return task
  }

  /** The address with the most tasks. */
  busiest(): string | undefined {
    let busiest: string | undefined
    for (const address of this.#tasks.keys()) {
      if (busiest === undefined || this.of(address) > this.of(busiest)) busiest = address
    }
    return busiest
  }

  /** Refuses the newest task of an address. */
  refuseNewest(address: string): void {
    const tasks = this.#tasks.get(address)!
    const task = tasks.pop()!
    this.length--
    if (tasks.length === 0) this.#tasks.delete(address)
    task.refuse()
  }
}

/** Runs two tasks at a time. One queue serves a whole process. */
export class HashQueue {
  readonly #favoured = new Lane()
  readonly #others = new Lane()
  #running = 0

  /** How many tasks run. */
  get running(): number {
    return this.#running
  }

  /** How many tasks wait. */
  get waiting(): number {
    return this.#favoured.length + this.#others.length
  }

  /** Runs a task when its turn comes. Rejects as the task does, or with BUSY. */
  run<Value>({ address, isFavoured }: Asker, task: () => Promise<Value>): Promise<Value> {
    const lane = isFavoured ? this.#favoured : this.#others
    return new Promise((resolve, reject) => {
      if (this.waiting >= lengthMax && !this.#makeRoom(lane, address)) return reject(busy())
      const run = () => {
        this.#running++
        task()
          .then(resolve, reject)
          .finally(() => {
            this.#running--
            this.#runNext()
          })
      }
      lane.add(address, { run, refuse: () => reject(busy()) })
      this.#runNext()
    })
  }

  /** Whether a waiting task has been refused, because the new one goes before it. */
  #makeRoom(lane: Lane, address: string): boolean {
    const others = this.#others.busiest()
    if (lane === this.#favoured && others !== undefined) {
      this.#others.refuseNewest(others)
      return true
    }
    const busiest = lane.busiest()
    if (busiest === undefined || lane.of(busiest) <= lane.of(address) + 1) return false
    lane.refuseNewest(busiest)
    return true
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
