/**
 * One trial: a cluster of three nodes, whose clients all draw from generators of one leader; that leader ends, and does not
 * come back. What a client sees is told by the lines that its program prints.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { slotOf } from '../../src/cluster/slots.ts'
import { settled, viewOf } from '../launch/cluster.ts'
import { startEtcd } from '../launch/etcd.ts'
import { startFahao } from '../launch/fahao.ts'
import { atEnd, inScope, type Lifetime } from '../launch/lifetime.ts'
import type { Client } from './clients.ts'

/** How many shards there are, and how the leader ends. */
export type Trial = { readonly shards: number; readonly signal: 'SIGKILL' | 'SIGTERM' }

/** What one client saw after the leader ended. */
export type Outcome = {
  /** Whether it has drawn again, and goes on. */
  readonly hasRecovered: boolean
  /** The longest time without an id, in s. */
  readonly withoutIdsS: number
  readonly errors: number
  /** The first error. */
  readonly error: string | undefined
  /** Whether each id was above the one before. */
  readonly isAscending: boolean
}

/** A trial ends when every client has drawn again, or after this. */
const watchedMs = 75_000
const drawnBefore = 50
const drawnAfter = 100

/** What each client saw, by its name. */
export function tryOut(clients: readonly Client[], { shards, signal }: Trial): Promise<Map<string, Outcome>> {
  return inScope(async (lifetime) => {
    const etcd = await startEtcd(lifetime, { members: 1 })
    const args = ['--cluster', 'test', '--shards', String(shards)]
    const start = () => startFahao(lifetime, { engine: etcd.url('ids'), args, readyWithinMs: 60_000 })
    const nodes = await Promise.all([start(), start(), start()])
    await settled(nodes)
    const view = await viewOf(nodes[0])
    const leaderOf = (name: string) =>
      view.shards.find(({ firstSlot, lastSlot }) => firstSlot <= slotOf(name) && slotOf(name) <= lastSlot)!
        .leader
    const victim = leaderOf('order')
    const address = view.nodes.find(({ id }) => id === victim)!.resp
    const names = namesOf(clients.length, (name) => leaderOf(name) === victim)
    const creating = await nodes[0].connect()
    for (const name of names) {
      const reply = await creating.command('ID.CREATE', name, 'KIND', 'sequence')
      if (reply !== 'OK') throw new Error(`${name} could not be created: ${String(reply)}`)
    }
    await creating.close()
    const addresses = nodes.map(({ resp }) => `127.0.0.1:${resp}`).join(',')
    const programs = clients.map((client, at) => new Drawing(lifetime, client, addresses, names[at]!))
    await Promise.all(programs.map((program) => program.drawn(drawnBefore)))
    for (const program of programs) program.begin()
    await nodes.find(({ resp }) => address.endsWith(`:${resp}`))!.kill(signal)
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, watchedMs).unref())
    await Promise.race([Promise.all(programs.map((program) => program.drawn(drawnAfter))), timeout])
    return new Map(programs.map((program) => [program.client.name, program.outcome]))
  })
}

/** As many names of generators as `count`, all of which fit. */
function namesOf(count: number, fits: (name: string) => boolean): string[] {
  const names: string[] = []
  for (let at = 0; names.length < count; at++) if (fits(`order:${at}`)) names.push(`order:${at}`)
  return names
}

/** A program that draws. */
class Drawing {
  readonly client: Client
  #ids = 0
  #newest = 0n
  #lastMs = performance.now()
  #longestMs = 0
  #errors: string[] = []
  #isAscending = true
  #waiting: { readonly ids: number; readonly resolve: () => void } | undefined

  constructor(lifetime: Lifetime, client: Client, addresses: string, name: string) {
    this.client = client
    const [program, ...args] = client.command
    const child = spawn(program, [...args, addresses, name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    createInterface(child.stdout).on('line', (line) => this.#read(line))
    atEnd(lifetime, async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.kill('SIGKILL')) await ended
    })
  }

  /** Resolves when `ids` more have come. */
  drawn(ids: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { ids: this.#ids + ids, resolve }
    })
  }

  /** What comes from now on counts. */
  begin(): void {
    this.#lastMs = performance.now()
    this.#longestMs = 0
    this.#errors = []
  }

  get outcome(): Outcome {
    const { length: errors, 0: error } = this.#errors
    const hasRecovered = this.#waiting !== undefined && this.#ids >= this.#waiting.ids
    const withoutIdsS = Math.max(this.#longestMs, hasRecovered ? 0 : performance.now() - this.#lastMs) / 1000
    return { hasRecovered, withoutIdsS, errors, error, isAscending: this.#isAscending }
  }

  #read(line: string): void {
    const [word, text = ''] = /^(\w+) (.*)$/.exec(line)?.slice(1) ?? []
    if (word === 'error') this.#errors.push(text)
    if (word !== 'id') return
    const nowMs = performance.now()
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs)
    this.#lastMs = nowMs
    this.#isAscending &&= BigInt(text) > this.#newest
    this.#newest = BigInt(text)
    this.#ids++
    if (this.#waiting !== undefined && this.#ids >= this.#waiting.ids) this.#waiting.resolve()
  }
}
