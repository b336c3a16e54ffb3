/** Clients of a simulation: each asks for ids again and again, and follows redirects as cluster-aware clients do. */

import { callerStopped } from '../../src/operations/caller-session.ts'
import type { Machine } from './machine.ts'
import { type Answer, type Request, slotOfName } from './program.ts'
import type { Process, Simulation } from './simulation.ts'
import type { World } from './world.ts'

/** A redirect that a client was given. */
type Redirect = { readonly from: string; readonly to: string }

/** An answer, and the machine that gave it. */
type From<Value> = { readonly answer: Value; readonly by: string; readonly isUnaware: boolean }

const patienceUs = 3_000_000
/** The interval of the search for requests without an answer. */
const lookUs = 200_000
const redirectsMax = 6
/** Requests whose clients go before the answer, and when they go. */
const leavingShare = 0.05
const leavesAfterUs = [200, 20_000] as const

export class Clients {
  /** Requests that were sent from A to B to A to B although nothing was wrong. */
  bounces = 0
  /** Errors that clients saw. */
  errors = 0
  readonly #simulation: Simulation

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  /** Lets clients ask until the simulation is over. */
  begin(): void {
    for (let each = 0; each < this.#simulation.options.clients; each++) void this.#client()
    this.#giveUp()
  }

  /** Has one process answer one request, redirects not followed. */
  send<Value extends object>(
    address: string | undefined,
    act: (process: Process) => Promise<Value>,
    waitUs = patienceUs,
  ): Promise<From<Value | { readonly down: string; readonly code: string }>> {
    const { world, processes } = this.#simulation
    const process = processes.find((each) => each.address === address)
    const failed = (code: string) => ({ answer: { down: code, code }, by: '', isUnaware: false })
    if (process === undefined) return world.pass(1).then(() => failed('REFUSED'))
    const { machine, pending } = process
    const wayUs = () => (world.chance(0.02) ? world.between(1000, 400_000) : world.between(100, 2000))
    return new Promise((resolve) => {
      const end = (answer: From<Value | { readonly down: string; readonly code: string }>) => {
        pending.delete(request)
        resolve(answer)
      }
      const request = { untilUs: world.nowUs + waitUs, fail: (code: string) => end(failed(code)) }
      pending.add(request)
      world.after(wayUs(), () =>
        machine.reach(() => {
          void act(process).then((answer) => {
            const { isUnaware } = machine
            world.after(wayUs(), () => end({ answer, by: machine.name, isUnaware }))
          })
        }),
      )
    })
  }

  /** One request, redirects followed. */
  async request(request: Request, slots: Map<number, string>, first?: string): Promise<From<Answer>> {
    const { world, witness, processes } = this.#simulation
    const slot = slotOfName(request.generator)
    let last: Redirect | undefined
    let returns = 0
    for (let redirects = 0; redirects < redirectsMax; redirects++) {
      // Some clients do not remember the leader, as behind a load balancer; all of them would stay with an old leader.
      const known = redirects > 0 || world.chance(0.6) ? slots.get(slot) : undefined
      const address = (redirects === 0 ? first : undefined) ?? known ?? world.pick(processes)?.address
      const found = await this.send(address, (process) => this.#ask(process, request))
      const { answer } = found
      if (!('moved' in answer)) {
        if ('down' in answer) slots.delete(slot)
        return { ...found, answer }
      }
      const back = last?.from === answer.moved && last.to === address
      returns = back ? returns + 1 : 0
      if (returns === 2 && witness.isCalm) this.bounces++
      last = { from: address!, to: answer.moved }
      slots.set(slot, answer.moved)
    }
    slots.delete(slot)
    return { answer: { down: 'redirected too often', code: 'MOVED' }, by: '', isUnaware: false }
  }

  /** Asks once, `first` there, and has the answer judged. Resolves to what was said instead of ids. */
  async once(request: Request, slots: Map<number, string>, first?: string): Promise<string | undefined> {
    const { world, checker } = this.#simulation
    const sentUs = world.nowUs
    const { answer, by, isUnaware } = await this.request(request, slots, first)
    const { generator, count, contiguous = false } = request
    if (!('runs' in answer)) {
      this.errors++
      return 'down' in answer ? `${answer.code}: ${answer.down}` : `led by ${answer.moved}`
    }
    const { runs, increment } = answer
    world.note(() => `${generator}: ${by} gave ${runs.map(textOf).join(', ')}, asked for at ${ms(sentUs)}`)
    checker.reply(generator, { sentUs, by, runs, count, contiguous, isUnaware })
    if (increment !== undefined)
      for (const run of runs)
        for (let at = 0; at < run.count; at++) checker.block(generator, run.at(at), increment)
    return undefined
  }

  /** Ends every wait that has lasted too long. */
  #giveUp(): boolean {
    const { world, processes } = this.#simulation
    let isAny = false
    for (const { pending } of processes) {
      for (const { untilUs, fail } of pending) {
        if (untilUs > world.nowUs) continue
        isAny = true
        fail('TIMEOUT')
      }
    }
    world.after(lookUs, () => this.#giveUp())
    return isAny
  }

  async #client(): Promise<void> {
    const { world, generators, options } = this.#simulation
    const slots = new Map<number, string>()
    while (!this.#simulation.isOver) {
      await world.pass(world.between(1, 80))
      const generator = world.pick(generators)
      if (generator === undefined) continue
      const count = world.chance(0.5) ? 1 : Math.ceil(world.between(0, options.countMax))
      const contiguous = options.program !== 'least' && count > 1 && world.chance(0.2)
      // Some go before the answer has come, and their place in a queue with them.
      const isLeaving = options.program !== 'least' && world.chance(leavingShare)
      const going = isLeaving ? new AbortController() : undefined
      if (going !== undefined) world.after(world.between(...leavesAfterUs), () => going.abort(callerStopped))
      const at = options.periods && world.chance(0.1) ? earlierMs(options.periods.beginUs, world) : undefined
      await this.once(
        {
          generator,
          count,
          ...(contiguous && { contiguous }),
          ...(at && { at }),
          ...(going && { signal: going.signal }),
        },
        slots,
      )
    }
  }

  #ask({ machine, program }: Process, { signal, ...asked }: Request): Promise<Answer> {
    const { witness } = this.#simulation
    const request: Request = { ...asked, ...(signal && { signal: heardBy(machine, signal) }) }
    const { cluster } = program
    const isLed = () => cluster !== undefined && witness.isLedBy(request.generator, cluster.nodeId)
    if (!isLed()) return program.ask(request)
    return program.ask(request).then((answer) => {
      if ('moved' in answer && isLed()) witness.sentAway(machine, request.generator, answer.moved)
      return answer
    })
  }
}

/** Aborts when the machine hears that the client has gone, which is never while the machine stands still. */
function heardBy(machine: Machine, signal: AbortSignal): AbortSignal {
  const heard = new AbortController()
  if (signal.aborted) heard.abort(callerStopped)
  else signal.addEventListener('abort', () => machine.reach(() => heard.abort(callerStopped)), { once: true })
  return heard.signal
}

/** A moment of the last days, or of this minute. */
function earlierMs(beginUs: number, world: World): number {
  return Math.floor(
    beginUs / 1000 - world.pick([0, 3_600_000, 86_400_000, 31 * 86_400_000, 366 * 86_400_000]),
  )
}

function textOf(run: { readonly first: bigint; readonly count: number; readonly stride: number }): string {
  return run.count === 1 ? `${run.first}` : `${run.first} + ${run.count - 1} × ${run.stride}`
}

function ms(us: number): string {
  return (us / 1000).toFixed(1)
}
