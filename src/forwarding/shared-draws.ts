/**
 * Requests for one id of a generator that another node leads: those that wait together share one draw.
 *
 * Invariants
 *  1. A request takes an id only of a draw that was sent after the request had come (P3), and of one draw only.
 *  2. The ids of a draw go to its requests in the order in which these came. Those of a draw whose reply is lost are gaps.
 *  3. Only requests of one user share a draw: it is charged to its namespaces, and the leader permits it.
 *  4. A request gets an id of the shared draw, or its own error: if the leader refuses the shared draw, each request is sent alone.
 *  5. A client that has gone before the draw is sent uses up no id.
 */
import type { Access } from '../auth/access.ts'
import { hasCode } from '../base/errors.ts'
import { MeteredCatalogue } from '../catalogue/metered-catalogue.ts'
import type { Tracing } from '../installation/tracing.ts'
import type { Leaders, OperatingNode } from '../operations/caller.ts'
import { nextOperation } from '../operations/drawing.ts'
import type { IssuedIds } from '../operations/issued-texts.ts'

type Waiting = {
  readonly signal: AbortSignal
  readonly resolve: (text: string) => void
  readonly reject: (error: unknown) => void
}

/** The requests for a generator that the next draw serves. */
type Group = { readonly name: string; readonly caller: Access; readonly waiting: Waiting[] }

/** Refusals that a draw of fewer ids may not get. */
const tooMany = ['QUOTA', 'LIMIT', 'DRY', 'EXHAUSTED'] as const

const neverGone = new AbortController().signal

/** Collects the requests of a turn of the event loop. */
export class SharedDraws {
  readonly #leaders: Leaders
  readonly #node: OperatingNode
  readonly #tracing: Tracing | undefined
  /** By the user and the name of the generator. */
  readonly #groups = new Map<string, Group>()

  constructor(leaders: Leaders, node: OperatingNode, tracing?: Tracing) {
    this.#leaders = leaders
    this.#node = node
    this.#tracing = tracing
  }

  /** Whether requests for a generator go to another node. */
  areFor(name: string): boolean {
    return this.#leaders.isElsewhere(name)
  }

  /** The text of the next id. Rejects with the error of the leader, or with the reason of `signal`. */
  next(name: string, caller: Access, signal: AbortSignal): Promise<string> {
    const join = () => this.#join(name, caller, signal)
    return this.#tracing === undefined ? join() : this.#tracing.call('forward', {}, join)
  }

  #join(name: string, caller: Access, signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => {
      const key = keyOf(caller.user, name)
      let group = this.#groups.get(key)
      if (group === undefined) {
        group = { name, caller, waiting: [] }
        // After the reads of this turn.
        if (this.#groups.size === 0) this.#soon(() => this.#sendAll())
        this.#groups.set(key, group)
      }
      group.waiting.push({ signal, resolve, reject })
    })
  }

  /** A draw is of many requests, and in the trace of none: each has its own span. */
  #soon(send: () => void): void {
    if (this.#tracing === undefined) setImmediate(send)
    else this.#tracing.apart(() => setImmediate(send))
  }

  #sendAll(): void {
    const groups = [...this.#groups.values()]
    this.#groups.clear()
    const { countMax } = this.#node.server
    for (const { name, caller, waiting } of groups) {
      const present = waiting.filter(({ signal, reject }) => !signal.aborted || reject(signal.reason))
      for (let at = 0; at < present.length; at += countMax)
        void this.#send(name, caller, present.slice(at, at + countMax))
    }
  }

  #draw(name: string, count: number, access: Access): Promise<IssuedIds> {
    const { catalogue, server } = this.#node
    const values = { name, count: BigInt(count) }
    const caller = { access, address: '', signal: neverGone }
    const metered = new MeteredCatalogue(catalogue, server.meters, () => access.user)
    return this.#leaders.carryOut(nextOperation, values, caller, async () =>
      nextOperation.run({ caller, server, catalogue: metered }, values),
    )
  }

  async #send(name: string, caller: Access, waiting: readonly Waiting[]): Promise<void> {
    try {
      const ids = await this.#draw(name, waiting.length, caller)
      for (const [index, { resolve }] of waiting.entries()) resolve(ids.at(index))
    } catch (error) {
      const isTooMany = waiting.length > 1 && tooMany.some((code) => hasCode(error, code))
      for (const each of waiting) {
        if (isTooMany) void this.#send(name, caller, [each])
        else each.reject(error)
      }
    }
  }
}

function keyOf(user: string, name: string): string {
  return `${user.length} ${user} ${name}`
}
