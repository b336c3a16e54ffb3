/** The engine as one machine reaches it: over a network that delays, loses and cuts. */
import { FahaoError } from '../../src/base/errors.ts'
import type {
  Counter,
  Engine,
  EngineStatus,
  Ownership,
  RecordChange,
  Reservation,
  ReserveRequest,
  StoredRecord,
  Watch,
} from '../../src/engine/engine.ts'
import type { Machine } from './machine.ts'
import type { World } from './world.ts'

/** The way between a machine and the engine; changed as the simulation goes on. */
export type Link = {
  /** Nothing comes through. */
  cut: boolean
  /** Of each way, in ms. */
  delayMinMs: number
  delayMaxMs: number
  /** What answers and news take longer than that, in ms. */
  answerMs: number
  /** Probabilities that a call gets lost, that its answer does, and that it is carried out after it was given up. */
  loseRequest: number
  loseReply: number
  late: number
}

/** Sees every write that the engine carries out, in its order. */
export type Witness = (
  machine: Machine,
  method: 'reserve' | 'write' | 'remove',
  args: readonly unknown[],
) => void

const callTimeoutMs = 2000

/** See the top of the file. */
export class RemoteEngine implements Engine {
  readonly name = 'remote'
  readonly location = 'remote:'
  readonly lastWriteUs = undefined
  readonly newsMs = 0
  readonly #world: World
  readonly #machine: Machine
  readonly #engine: Engine
  readonly #link: Link
  readonly #witness: Witness

  constructor(world: World, machine: Machine, engine: Engine, link: Link, witness: Witness) {
    this.#world = world
    this.#machine = machine
    this.#engine = engine
    this.#link = link
    this.#witness = witness
  }

  reserve(counter: string, request: ReserveRequest): Promise<Reservation> {
    return this.#write('reserve', [counter, request], () => this.#engine.reserve(counter, request))
  }

  release(...args: Parameters<Engine['release']>): Promise<boolean> {
    return this.#write('release', args, () => this.#engine.release(...args))
  }

  leave(counter: string, from: bigint): void {
    this.#engine.leave(counter, from)
  }

  adopt(counter: string, end: bigint): void {
    this.#engine.adopt(counter, end)
  }

  write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    return this.#write('write', [key, value, expected], () => this.#engine.write(key, value, expected))
  }

  remove(key: string, expected: bigint): Promise<boolean> {
    return this.#write('remove', [key, expected], () => this.#engine.remove(key, expected))
  }

  counter(name: string): Promise<Counter> {
    return this.#call(false, () => this.#engine.counter(name))
  }

  read(key: string): Promise<StoredRecord | undefined> {
    return this.#call(false, () => this.#engine.read(key))
  }

  list(...args: Parameters<Engine['list']>): Promise<StoredRecord[]> {
    return this.#call(false, () => this.#engine.list(...args))
  }

  async watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    const news: RecordChange[] = []
    const deliver = () => {
      if (this.#link.cut) return this.#world.after(100_000, deliver)
      const change = news.shift()
      if (change !== undefined) this.#machine.reach(() => listener(change))
    }
    return this.#call(false, () =>
      this.#engine.watch(prefix, (change) => {
        news.push(change)
        this.#world.after(this.#delayUs() + this.#link.answerMs * 1000, deliver)
      }),
    )
  }

  advance(): Promise<number> {
    return Promise.reject(new FahaoError('ERR', 'not simulated'))
  }

  ownership(): Promise<Ownership> {
    return Promise.resolve({ state: 'shared' })
  }

  status(): EngineStatus {
    return { state: 'up' }
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  #write<Value>(
    method: 'reserve' | 'release' | 'write' | 'remove',
    args: readonly unknown[],
    call: () => Promise<Value>,
  ): Promise<Value> {
    return this.#call(true, async () => {
      const value = await call()
      const done = value !== undefined && value !== false
      if (done && method !== 'release') this.#witness(this.#machine, method, args)
      return value
    })
  }

  #call<Value>(changes: boolean, call: () => Promise<Value>): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>()
    const world = this.#world
    const answer = (settle: () => void) => this.#machine.reach(settle)
    const giveUp = () => {
      const code = changes ? 'UNKNOWN' : 'UNAVAILABLE'
      answer(() => reject(new FahaoError(code, 'no answer')))
    }
    const fate = this.#fate()
    const tooLateMs = world.chance(0.5) ? callTimeoutMs : world.between(1, 200)
    if (fate !== 'none') world.after(tooLateMs * 1000, giveUp)
    const arrive = () => {
      if (this.#link.cut) return fate === 'none' && world.after(callTimeoutMs * 1000, giveUp)
      call().then(
        (value) => fate === 'none' && this.#back(() => answer(() => resolve(value)), giveUp),
        (error) => fate === 'none' && this.#back(() => answer(() => reject(error)), giveUp),
      )
      return undefined
    }
    if (fate === 'late') world.after((tooLateMs + world.between(0, 4000)) * 1000, arrive)
    else if (fate !== 'lose-request') world.after(this.#delayUs(), arrive)
    return promise
  }

  #back(answer: () => void, giveUp: () => void): void {
    this.#world.after(this.#delayUs() + this.#link.answerMs * 1000, () => {
      if (this.#link.cut) this.#world.after(callTimeoutMs * 1000, giveUp)
      else answer()
    })
  }

  #fate(): 'none' | 'lose-request' | 'lose-reply' | 'late' {
    const { loseRequest, loseReply, late } = this.#link
    const dice = this.#world.random()
    if (dice < loseRequest) return 'lose-request'
    if (dice < loseRequest + loseReply) return 'lose-reply'
    return dice < loseRequest + loseReply + late ? 'late' : 'none'
  }

  #delayUs(): number {
    return this.#world.between(this.#link.delayMinMs, this.#link.delayMaxMs) * 1000
  }
}
