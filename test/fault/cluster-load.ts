/**
 * Clients of a cluster that pull ids without an end and follow MOVED, and note what they were told.
 *
 * Invariants
 *  1. An id's interval begins when it was asked of the node that answered: not before, so that order is judged as
 *     strictly as it can be.
 *  2. A client's wait begins when it first wanted an id: redirects, refusals and lost connections are part of it.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { restOf } from './campaign.ts'
import type { Journal } from './journal.ts'
import { type Ask, Load, nowUs } from './load.ts'

/** An ask of a cluster's client. */
export type FollowingAsk = Ask & {
  /** The time after which it leaves a node that does not answer for another one. Default: it waits for the answer. */
  readonly patienceMs?: number
  /** Stays with the node that it began with, as is right for kinds that any node issues. */
  readonly stays?: boolean
}

/** How long one id took to get, all in all. */
export type Wait = { readonly generator: string; readonly wantedUs: number; readonly receivedUs: number }

const slowUs = 5000
let clients = 0

/** A crowd of them. */
export class FollowingLoad {
  readonly #load = new Load()
  readonly #ports: readonly number[]
  readonly errors = this.#load.errors
  readonly errorTexts = this.#load.errorTexts
  readonly journals = this.#load.journals
  /** Waits of more than 5 ms. */
  readonly waits: Wait[] = []
  /** The most redirects in a row. */
  longestChase = 0
  redirects = 0
  /** Connections that ended, were refused, or were left. */
  lostLinks = 0
  #running: Promise<void>[] = []
  #stopped = false
  readonly #pulling = new Set<Pull>()

  /** Ends with `lifetime` if not before: it follows its nodes wherever they are, and would look for them for ever. */
  constructor(lifetime: Lifetime, ports: readonly number[]) {
    this.#ports = ports
    atEnd(lifetime, () => this.stop(0))
  }

  get count(): number {
    return this.#load.count
  }

  journal(generator: string): Journal {
    return this.#load.journal(generator)
  }

  /** Starts one client for each ask, beginning with the ports in turn. */
  start(asks: readonly FollowingAsk[]): void {
    this.#stopped = false
    this.#running = asks.map(async (ask, index) => {
      const pull = new Pull(ask, this.#ports, index % this.#ports.length)
      this.#pulling.add(pull)
      await this.#run(pull)
      this.#pulling.delete(pull)
    })
    this.#running.push(this.#leaveTheSilent())
  }

  /** Stops after the replies under way; connections that still wait after `graceMs` are ended. */
  async stop(graceMs = 5000): Promise<void> {
    this.#stopped = true
    const late = setTimeout(() => {
      for (const pull of this.#pulling) pull.leave()
    }, graceMs)
    await Promise.all(this.#running)
    clearTimeout(late)
  }

  /** See the function of this name. */
  longestWaitMs(fromUs: number, toUs: number, generator?: string): number {
    return longestWaitMs(this.waits, fromUs, toUs, generator)
  }

  async #run(pull: Pull): Promise<void> {
    const { generator, command, restMs = restOf(0), stays = false } = pull.ask
    const journal = this.journal(generator)
    let wantedUs = nowUs()
    let chase = 0
    while (!this.#stopped) {
      try {
        const { reply, sentUs, receivedUs, connection } = await pull.command(command, stays)
        if (!(reply instanceof ReplyError)) {
          const ids = [reply].flat().map((value) => BigInt(value as string | bigint))
          journal.add({ ids, sentUs, receivedUs, connection })
          if (receivedUs - wantedUs > slowUs) this.waits.push({ generator, wantedUs, receivedUs })
          if (restMs > 0) await pause(restMs)
          wantedUs = nowUs()
          chase = 0
          continue
        }
        if (reply.code === 'MOVED') {
          this.redirects++
          this.longestChase = Math.max(this.longestChase, ++chase)
          pull.moveTo(Number(reply.text.slice(reply.text.lastIndexOf(':') + 1)))
          continue
        }
        this.errors.set(reply.code, (this.errors.get(reply.code) ?? 0) + 1)
        this.errorTexts.set(reply.code, reply.text)
      } catch {
        // The node is gone, or says nothing: what was not acknowledged was never promised.
        this.lostLinks++
      }
      chase = 0
      if (!stays) pull.goOn()
      await pause(10)
    }
    await pull.end()
  }

  /** One look at all of them is cheaper than a timer for each request. */
  async #leaveTheSilent(): Promise<void> {
    while (!this.#stopped) {
      await pause(25)
      for (const pull of this.#pulling) {
        const { patienceMs } = pull.ask
        if (patienceMs !== undefined && nowUs() - pull.sinceUs > patienceMs * 1000) pull.leave()
      }
    }
  }
}

/** One client: a connection at a time to each node that it has been sent to. */
class Pull {
  readonly ask: FollowingAsk
  /** When the request was sent that is under way; without end when there is none. */
  sinceUs = Number.POSITIVE_INFINITY
  readonly #ports: readonly number[]
  #port: number
  readonly #links = new Map<number, { readonly client: RawClient; readonly connection: number }>()
  readonly #number = ++clients * 100_000
  #opened = 0

  constructor(ask: FollowingAsk, ports: readonly number[], at: number) {
    this.ask = ask
    this.#ports = ports
    this.#port = ports[at]!
  }

  /** Asks the present node. `perLink`: order is that of the connection, not of the client. */
  async command(command: readonly (string | number)[], perLink: boolean) {
    const { client, connection } = this.#links.get(this.#port) ?? (await this.#open())
    const sentUs = nowUs()
    this.sinceUs = sentUs
    try {
      const reply = await client.command(...command)
      return { reply, sentUs, receivedUs: nowUs(), connection: perLink ? connection : this.#number }
    } catch (error) {
      this.#links.delete(this.#port)
      throw error
    } finally {
      this.sinceUs = Number.POSITIVE_INFINITY
    }
  }

  moveTo(port: number): void {
    this.#port = port
  }

  /** To the next node. */
  goOn(): void {
    this.#port = this.#ports[(this.#ports.indexOf(this.#port) + 1) % this.#ports.length]!
  }

  /** Ends the connection that it waits on. */
  leave(): void {
    void this.#links.get(this.#port)?.client.close()
  }

  async end(): Promise<void> {
    await Promise.all([...this.#links.values()].map(({ client }) => client.close()))
  }

  async #open() {
    const port = this.#port
    const link = { client: await RawClient.connect(port), connection: this.#number + ++this.#opened }
    this.#links.set(port, link)
    return link
  }
}

/** The longest of those waits that overlap a time, in ms; 0 where none was slow. */
export function longestWaitMs(
  waits: readonly Wait[],
  fromUs: number,
  toUs: number,
  generator?: string,
): number {
  let longestUs = 0
  for (const { generator: name, wantedUs, receivedUs } of waits) {
    if (receivedUs < fromUs || wantedUs > toUs || (generator ?? name) !== name) continue
    longestUs = Math.max(longestUs, receivedUs - wantedUs)
  }
  return longestUs / 1000
}
