/**
 * The way of a client to one node of the simulation: its requests, word by word, to the commands of that node. Requests and
 * replies are late, get lost, or find no process.
 */
import { errorOf, type Link } from '../../client/src/link.ts'
import type { Request } from '../../client/src/requests.ts'
import { within } from '../../client/src/within.ts'
import { FahaoError } from '../../src/base/errors.ts'
import { IssuedRuns, MapReply, type Reply, SimpleString } from '../../src/commands/command.ts'
import { IssuedTexts } from '../../src/operations/issued-texts.ts'
import type { Machine } from './machine.ts'
import type { Process, Simulation } from './simulation.ts'
import type { World } from './world.ts'

/** What is wrong with the network of one client's machine. */
export type Trouble = {
  /** Nothing comes through. */
  cut: boolean
  /** Probabilities that a request gets lost, and that a reply does. */
  loseRequest: number
  loseReply: number
  /** Of each way, at most, in ms. */
  delayMaxMs: number
}

/** What the links of one client share. */
export type ClientLinkOptions = {
  readonly simulation: Simulation
  readonly machine: Machine
  readonly trouble: Trouble
  /** Told of each reply that arrives. */
  readonly onReply: (reply: Replied) => void
}

/** A reply that arrives. */
export type Replied = {
  /** Of the request. */
  readonly words: readonly string[]
  readonly reply: unknown
  readonly by: Machine
  /** When the request was sent, in true µs, and on the monotonic clock of the client's machine. */
  readonly sentUs: number
  readonly sentMonoUs: number
}

type Settle = { readonly resolve: (reply: unknown) => void; readonly reject: (error: Error) => void }

/** Sends to whatever process has the address at that moment. */
export class ClientLink implements Link {
  readonly node: string
  readonly #address: string
  readonly #options: ClientLinkOptions

  /** @param address `host:port` */
  constructor(address: string, options: ClientLinkOptions) {
    this.node = `redis://${address}`
    this.#address = address
    this.#options = options
  }

  send({ words }: Request<unknown>, timeoutMs: number): Promise<unknown> {
    const { machine } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#send(words, { resolve, reject })
    return within(machine, timeoutMs, promise, this.node)
  }

  close(): void {}

  #send(words: readonly string[], { resolve, reject }: Settle): void {
    const { simulation, machine, trouble, onReply } = this.#options
    const { world } = simulation
    const sent = { words, sentUs: world.nowUs, sentMonoUs: machine.monoUs() }
    const process = simulation.processes.find(({ address }) => address === this.#address)
    const back = (settle: () => void) =>
      world.after(this.#wayUs(), () => {
        if (trouble.cut) return false
        machine.reach(settle)
        return true
      })
    const refuse = () => reject(new FahaoError('UNAVAILABLE', `${this.node} cannot be reached`))
    if (process === undefined) {
      back(refuse)
      return
    }
    if (world.chance(trouble.loseRequest)) return
    const request = {
      untilUs: Number.POSITIVE_INFINITY,
      fail: () => {
        process.pending.delete(request)
        back(refuse)
      },
    }
    process.pending.add(request)
    const answer = (settle: () => void) => {
      process.pending.delete(request)
      if (!world.chance(trouble.loseReply)) back(settle)
    }
    world.after(this.#wayUs(), () => {
      if (trouble.cut) {
        process.pending.delete(request)
        return false
      }
      const replied = (reply: unknown) =>
        answer(() => {
          onReply({ ...sent, reply, by: process.machine })
          resolve(reply)
        })
      const refused = (error: FahaoError) => answer(() => reject(error))
      process.machine.reach(() => carryOut(world, process, words, replied, refused))
      return true
    })
  }

  #wayUs(): number {
    const { simulation, trouble } = this.#options
    return simulation.world.between(100, trouble.delayMaxMs * 1000)
  }
}

function carryOut(
  world: World,
  { program, machine }: Process,
  words: readonly string[],
  replied: (reply: unknown) => void,
  refused: (error: FahaoError) => void,
): void {
  program.command!(words).then(
    (answer) => {
      const reply = wireOf(answer)
      world.note(() => `${machine.name} replies to ${words.join(' ')}: ${textOf(reply)}`)
      replied(reply)
    },
    (error) => {
      // What is no refusal is a fault of the node, and ends the simulation as any unhandled rejection.
      if (!(error instanceof FahaoError)) throw error
      const { code, message, retryAfterMs } = error
      world.note(() => `${machine.name} refuses ${words.join(' ')}: ${code} ${message}`)
      refused(errorOf(code, message, retryAfterMs))
    },
  )
}

/** A reply as the package `redis` reads it: integers are numbers. */
function wireOf(reply: Reply): unknown {
  if (typeof reply === 'bigint') return Number(reply)
  if (Array.isArray(reply)) return reply.map(wireOf)
  if (reply instanceof MapReply) return new Map(reply.entries.map(([key, value]) => [key, wireOf(value)]))
  if (reply instanceof SimpleString) return reply.text
  if (reply instanceof IssuedTexts) return Array.from({ length: reply.count }, (_, index) => reply.at(index))
  if (reply instanceof IssuedRuns)
    return reply.runs.map(({ first, stride, count }) => [String(first), String(stride), count])
  return reply
}

function textOf(reply: unknown): string {
  return JSON.stringify(reply instanceof Map ? Object.fromEntries(reply) : reply)
}
