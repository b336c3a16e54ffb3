/**
 * Judges a simulation by what must hold whatever happens. Knows true time and the inside of the engine, and nothing of
 * the cluster's code.
 */
import assert from 'node:assert/strict'
import { type Leadership, type NodeRecord, shardKey } from '../../src/cluster/records.ts'
import type { MemoryStore } from '../../src/engine/memory/engine.ts'
import { counterOf } from './issuer.ts'
import type { Machine } from './machine.ts'
import type { World } from './world.ts'

type Newest = { id: bigint; fence: bigint; atUs: number; machine: string }
type Reply = { readonly sentUs: number; readonly receivedUs: number; readonly id: bigint }

/** See the top of the file. */
export class Checker {
  issued = 0
  answered = 0
  /** Leaders that changed in all, and those refused because a newer one had been there. */
  changes = 0
  /** Longest time in which a shard's generators issued nothing although nothing was wrong, in ms. */
  longestGapMs = 0
  /** The first thing found wrong. Kept, not thrown: whoever is judged might catch it. */
  wrong: Error | undefined
  readonly #world: World
  readonly #store: MemoryStore
  readonly #leaseTtlMs: number
  readonly #shardOf: (generator: string) => number
  readonly #newest = new Map<string, Newest>()
  readonly #replies = new Map<string, Reply[]>()
  readonly #leaderships = new Map<string, Leadership>()
  readonly #fences = new Map<string, bigint>()
  /** Node ids of each machine's program, as they wrote them. */
  readonly #machineOf = new Map<string, string>()
  /** When each node's record was last renewed, in true µs. */
  readonly renewedUs = new Map<string, number>()
  /** Whether nothing happens now but hand-overs. */
  onlyPlanned = false
  #calmSinceUs: number | undefined

  constructor(world: World, store: MemoryStore, leaseTtlMs: number, shardOf: (generator: string) => number) {
    this.#leaseTtlMs = leaseTtlMs
    this.#shardOf = shardOf
    this.#world = world
    this.#store = store
  }

  /** An id is issued just now. */
  issue(machine: Machine, generator: string, id: bigint, fence: bigint): void {
    this.issued++
    const bound = this.#store.counters.get(counterOf(generator))?.bound ?? 0n
    const before = this.#newest.get(generator)
    // Called for every id: the sentences are made only when they are needed.
    if (machine.isStopped) this.#fail(`${machine.name} issued ${id} of ${generator} while it was stopped`)
    if (id >= bound) this.#fail(`${machine.name} issued ${id} of ${generator}, whose bound is ${bound}`)
    const epoch = this.#epochOf(generator)
    if (BigInt(epoch) !== fence)
      this.#fail(
        `${machine.name} issued ${id} of ${generator} with fence ${fence} while the record says ${epoch}`,
      )
    if (before !== undefined && (fence < before.fence || id <= before.id)) {
      const what = fence < before.fence ? 'two leaders at once' : 'out of order, or twice'
      this.#fail(
        `${what}: ${machine.name} issued ${id} of ${generator} with fence ${fence} ${this.#world.nowUs - before.atUs} µs after ${before.machine} ${before.id} with fence ${before.fence}`,
      )
    }
    if (this.#calmSinceUs !== undefined) this.#gap(generator)
    this.#newest.set(generator, { id, fence, atUs: this.#world.nowUs, machine: machine.name })
  }

  /** A client has its id. */
  reply(generator: string, sentUs: number, receivedUs: number, id: bigint): void {
    this.answered++
    const replies = this.#replies.get(generator) ?? []
    replies.push({ sentUs, receivedUs, id })
    this.#replies.set(generator, replies)
  }

  /** The engine has carried out a write. */
  witness(machine: Machine, method: string, args: readonly unknown[]): void {
    if (method === 'reserve') return this.#reserved(args[0] as string, args[1] as { fence?: bigint })
    const [key, value] = args as [string, string]
    if (method !== 'write') return
    if (key.startsWith('cluster/nodes/')) this.#node(machine, JSON.parse(value) as NodeRecord)
    if (key.startsWith('cluster/shards/')) this.#shard(machine, key, JSON.parse(value) as Leadership)
  }

  /** Whether nothing is wrong now. */
  get isCalm(): boolean {
    return this.#calmSinceUs !== undefined
  }

  /** Nothing is wrong from now on; by then every generator must have issued again. */
  calm(): void {
    this.#calmSinceUs = this.#world.nowUs
  }

  /** Something is about to go wrong. Every generator must have issued lately. */
  trouble(generators: readonly string[]): void {
    if (this.#calmSinceUs !== undefined) for (const generator of generators) this.#gap(generator)
    this.#calmSinceUs = undefined
  }

  /** At the end: acknowledged ids are distinct, and each is larger than those whose reply came before it was asked for. */
  finish(): void {
    for (const [generator, replies] of this.#replies) {
      assert.equal(new Set(replies.map(({ id }) => id)).size, replies.length, `${generator} repeats an id`)
      const byReceipt = replies.toSorted((a, b) => a.receivedUs - b.receivedUs)
      let largest = -1n
      let at = 0
      for (const { sentUs, id } of replies.toSorted((a, b) => a.sentUs - b.sentUs)) {
        for (; byReceipt[at]!.receivedUs < sentUs; at++)
          if (byReceipt[at]!.id > largest) largest = byReceipt[at]!.id
        assert.ok(id > largest, `${generator}: ${id} was asked for after the reply ${largest} had come`)
      }
    }
  }

  /** Whether the record of the generator's shard names this node. */
  isLedBy(generator: string, node: string): boolean {
    const stored = this.#store.records.get(shardKey(this.#shardOf(generator)))
    return stored !== undefined && (JSON.parse(stored.value) as Leadership).holder === node
  }

  /** A node has redirected a request elsewhere which came when its shard was that node's already. */
  sentAway({ name }: Machine, generator: string, to: string): void {
    // News that set out slowly before all was well still come late.
    const calmUs = this.#world.nowUs - (this.#calmSinceUs ?? this.#world.nowUs)
    if (calmUs > 2_000_000 || this.onlyPlanned)
      this.#fail(`${name} sent a request for ${generator}, which it was to lead, to ${to}`)
  }

  /** Epoch in the record of the generator's shard at this moment. */
  #epochOf(generator: string): number {
    const stored = this.#store.records.get(shardKey(this.#shardOf(generator)))
    return stored === undefined ? 0 : (JSON.parse(stored.value) as Leadership).epoch
  }

  #fail(message: string): void {
    this.wrong ??= new assert.AssertionError({ message })
  }

  #gap(generator: string): void {
    const sinceUs = Math.max(this.#calmSinceUs!, this.#newest.get(generator)?.atUs ?? 0)
    const gapMs = (this.#world.nowUs - sinceUs) / 1000
    if (gapMs > this.longestGapMs) this.longestGapMs = gapMs
  }

  #reserved(counter: string, { fence = 0n }: { fence?: bigint }): void {
    const before = this.#fences.get(counter) ?? 0n
    assert.ok(
      fence >= before,
      `a reserve of ${counter} with fence ${fence} was let in after one with ${before}`,
    )
    this.#fences.set(counter, fence)
  }

  #node(machine: Machine, { id, deadBy }: NodeRecord): void {
    if (deadBy !== undefined) {
      const silentMs = (this.#world.nowUs - this.renewedUs.get(id)!) / 1000
      if (silentMs < this.#leaseTtlMs)
        this.#fail(`${machine.name} declared ${id} dead ${silentMs} ms after it was renewed`)
      return
    }
    const owner = this.#machineOf.get(id) ?? machine.name
    if (owner !== machine.name) this.#fail(`${machine.name} renewed the record of ${owner}`)
    this.#machineOf.set(id, owner)
    // Sent by one that was killed since, and late: its lease begins now, and so does the calm.
    if (machine.isStopped && this.isCalm) this.calm()
    this.renewedUs.set(id, this.#world.nowUs)
  }

  #shard(machine: Machine, key: string, next: Leadership): void {
    const before = this.#leaderships.get(key)
    this.#leaderships.set(key, next)
    if (before === undefined || (before.holder === next.holder && before.epoch === next.epoch)) return
    this.changes++
    const what = `${key} from ${JSON.stringify(before)} to ${JSON.stringify(next)} by ${machine.name}`
    if (next.epoch < before.epoch || (next.epoch === before.epoch && next.holder !== ''))
      this.#fail(`the epoch did not grow: ${what}`)
    if (before.holder === '' || this.#machineOf.get(before.holder) === machine.name) return
    const stored = this.#store.records.get(`cluster/nodes/${before.holder}`)
    const record = stored && (JSON.parse(stored.value) as NodeRecord)
    if (record !== undefined && record.deadBy === undefined) this.#fail(`taken from the living: ${what}`)
  }
}
