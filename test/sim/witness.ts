/**
 * Looks into the store while a simulation runs: who may issue, and whether what is issued was reserved before. Knows true
 * time, and nothing of the code that it looks at but what its records say.
 */
import assert from 'node:assert/strict'
import { periodsOf } from '../../src/catalogue/periods.ts'
import { type Leadership, type NodeRecord, shardKey } from '../../src/cluster/records.ts'
import type { StoredRecord } from '../../src/engine/engine.ts'
import type { PeriodId } from '../../src/ids/period.ts'
import type { Run } from '../../src/ids/run.ts'
import {
  firstValue,
  type PeriodCounting,
  periodCounter,
  positionOf,
} from '../../src/issuing/period-counters.ts'
import type { Machine } from './machine.ts'
import { counterOf, type Issued } from './program.ts'
import type { SimulatedPeriods } from './simulation.ts'
import type { SharedStore } from './store.ts'
import type { World } from './world.ts'

type StoredOf = { incarnation: string; counter?: string; definition: { period?: string } }
type Counting = Pick<PeriodCounting, 'periods' | 'keep'>
type Newest = { readonly id: bigint; readonly fence: bigint; readonly atUs: number; readonly machine: string }
/** A generator: the keys of its records, and what was issued of it last. */
type Watched = { readonly counterKey: string; readonly leaderKey: string; newest: Newest | undefined }

/** Epochs of layouts of 41 bits of time in ms, 10 of the node and 12 of the sequence, in Unix ms. */
const epochsMs: Readonly<Record<string, number>> = { twitter: 1_288_834_974_657, discord: 1_420_070_400_000 }

export class Witness {
  issued = 0
  /** Leaders that changed in all. */
  changes = 0
  /** Longest time in which a shard's generators issued nothing although nothing was wrong, in ms. */
  longestGapMs = 0
  /** The first thing found wrong. Kept, not thrown: whatever is judged might catch it. */
  wrong: Error | undefined
  /** When each node's record was last renewed, in true µs. */
  readonly renewedUs = new Map<string, number>()
  /** Whether nothing happens now but hand-overs. */
  onlyPlanned = false
  readonly #world: World
  readonly #store: SharedStore
  readonly #leaseTtlMs: number
  readonly #shardOf: (generator: string) => number
  readonly #watched = new Map<string, Watched>()
  /** Values of records, each parsed once: the store replaces records and changes none. */
  readonly #values = new WeakMap<StoredRecord, unknown>()
  readonly #leaderships = new Map<string, Leadership>()
  readonly #fences = new Map<string, bigint>()
  /** Node ids of each machine's program, as they wrote them. */
  readonly #machineOf = new Map<string, string>()
  #calmSinceUs: number | undefined
  readonly #counting: Counting | undefined

  /** @param counting of generators with periods; undefined: there are none. */
  constructor(
    world: World,
    store: SharedStore,
    leaseTtlMs: number,
    shardOf: (generator: string) => number,
    counting?: SimulatedPeriods['options'],
  ) {
    this.#counting = counting && { periods: periodsOf(counting)!, keep: counting.keep }
    this.#world = world
    this.#store = store
    this.#leaseTtlMs = leaseTtlMs
    this.#shardOf = shardOf
  }

  /** Ids are issued just now. */
  issue(machine: Machine, generator: string, runs: readonly Run[], how: Issued): void {
    // Called for every reply: the sentences are made only when they are needed.
    if (machine.isStopped) this.#fail(`${machine.name} issued of ${generator} while it was stopped`)
    const watched = this.#of(generator)
    for (const run of runs) {
      this.issued += run.count
      const last = run.at(run.count - 1)
      this.#below(machine, generator, watched, last, how)
      if (how.fence !== undefined) this.#asLeader(machine, generator, watched, run.first, last, how.fence)
    }
  }

  /** The engine has carried out a write. */
  witness(machine: Machine, method: string, args: readonly unknown[]): void {
    if (method === 'reserve') return this.#reserved(args[0] as string, args[1] as { fence?: bigint })
    const [key, value] = args as [string, string]
    if (method !== 'write') return
    if (key.startsWith('cluster/nodes/')) this.#node(machine, JSON.parse(value) as NodeRecord)
    if (key.startsWith('cluster/shards/')) this.#shard(machine, key, JSON.parse(value) as Leadership)
  }

  /** The store has gone back: what was seen in it says nothing any more. */
  forgot(): void {
    this.#leaderships.clear()
    this.#fences.clear()
    this.renewedUs.clear()
  }

  /** Whether nothing is wrong now. */
  get isCalm(): boolean {
    return this.#calmSinceUs !== undefined
  }

  /** For how long nothing has been wrong, in ms. */
  get calmMs(): number {
    return (this.#world.nowUs - (this.#calmSinceUs ?? this.#world.nowUs)) / 1000
  }

  /** Nothing is wrong from now on; by then every generator must have issued again. */
  calm(): void {
    this.#calmSinceUs = this.#world.nowUs
  }

  /** Something is about to go wrong. Every generator must have issued lately. */
  trouble(generators: readonly string[]): void {
    if (this.#calmSinceUs !== undefined) for (const generator of generators) this.#gap(this.#of(generator))
    this.#calmSinceUs = undefined
  }

  /** Whether the record of the generator's shard names this node. */
  isLedBy(generator: string, node: string): boolean {
    return this.#leadershipOf(this.#of(generator))?.holder === node
  }

  /** A node has redirected a request elsewhere which came when its shard was that node's already. */
  sentAway({ name }: Machine, generator: string, to: string): void {
    // News that set out slowly before all was well still come late.
    if (this.calmMs > 2000 || this.onlyPlanned)
      this.#fail(`${name} sent a request for ${generator}, which it was to lead, to ${to}`)
  }

  /** What is issued was reserved before, as the store stands now. */
  #below(
    machine: Machine,
    generator: string,
    watched: Watched,
    last: bigint,
    { kind, layout, incarnation }: Issued,
  ): void {
    // Until an advance, a store that has forgotten says nothing of what was reserved.
    if (this.#store.isSuspect || kind === undefined) return
    if (kind === 'snowflake' || kind === 'timestamp') {
      const epochMs = epochsMs[layout ?? '']
      if (epochMs === undefined) return
      const timeMs = last >> 22n
      if (kind === 'snowflake') {
        const worker = `workers/${(last >> 12n) & 1023n}`
        const { boundUs } = this.#value<{ boundUs: number }>(worker) ?? { boundUs: 0 }
        const us = (Number(timeMs) + epochMs + 1) * 1000
        if (us > boundUs)
          this.#fail(`${machine.name} issued ${last} of ${generator}, past its worker id's ${boundUs}`)
        return
      }
      const raw = (timeMs << 12n) | (last & 4095n)
      return this.#belowBound(machine, generator, watched, raw, last, incarnation)
    }
    this.#belowBound(machine, generator, watched, last, last, incarnation)
  }

  #belowBound(
    machine: Machine,
    generator: string,
    { counterKey }: Watched,
    raw: bigint,
    id: bigint,
    incarnation: bigint | undefined,
  ): void {
    const record = this.#value<StoredOf>(counterKey)
    // What is left of an earlier life may have been counted in another scale.
    if (incarnation !== undefined && record?.incarnation !== String(incarnation)) return
    const own = record?.counter ?? counterKey
    const period = record?.definition.period && this.#counting?.periods.split(id)
    if (period) return this.#belowBoundOfPeriod(machine, generator, own, id, period)
    const bound = this.#store.counters.get(own)?.bound ?? 0n
    if (raw >= bound) this.#fail(`${machine.name} issued ${id} of ${generator}, whose bound is ${bound}`)
  }

  #belowBoundOfPeriod(
    machine: Machine,
    generator: string,
    own: string,
    id: bigint,
    { ordinal, number }: PeriodId,
  ): void {
    const { periods } = this.#counting!
    const { bound = 0n } = this.#store.counters.get(periodCounter(own, this.#counting!, ordinal)) ?? {}
    if (firstValue(periods, ordinal) + number >= bound)
      this.#fail(`${machine.name} issued ${id} of ${generator}, whose period stands at ${bound}`)
    const mark = positionOf(periods, this.#store.counters.get(own)?.bound ?? 0n).ordinal
    if (mark < ordinal) this.#fail(`${machine.name} issued ${id} of ${generator}, whose mark is ${mark}`)
  }

  #asLeader(
    machine: Machine,
    generator: string,
    watched: Watched,
    first: bigint,
    last: bigint,
    fence: bigint,
  ): void {
    const before = watched.newest
    const epoch = this.#leadershipOf(watched)?.epoch ?? 0
    if (BigInt(epoch) !== fence)
      this.#fail(
        `${machine.name} issued ${first} of ${generator} with fence ${fence} while the record says ${epoch}`,
      )
    // Callers that waited together, for a refill, an opening or a section, hear of their ids in one moment, in any order.
    const isTogether = before?.atUs === this.#world.nowUs && before.machine === machine.name
    if (before !== undefined && (fence < before.fence || (first <= before.id && !isTogether))) {
      const what = fence < before.fence ? 'two leaders at once' : 'out of order, or twice'
      this.#fail(
        `${what}: ${machine.name} issued ${first} of ${generator} with fence ${fence} ${this.#world.nowUs - before.atUs} µs after ${before.machine} ${before.id} with fence ${before.fence}`,
      )
    }
    if (this.#calmSinceUs !== undefined) this.#gap(watched)
    const newest = isTogether && before!.id > last ? before!.id : last
    watched.newest = { id: newest, fence, atUs: this.#world.nowUs, machine: machine.name }
  }

  /** What the record of the generator's shard says at this moment. */
  #leadershipOf({ leaderKey }: Watched): Leadership | undefined {
    return this.#value<Leadership>(leaderKey)
  }

  /** What the record says at this moment. */
  #value<Value>(key: string): Value | undefined {
    const stored = this.#store.records.get(key)
    if (stored === undefined) return undefined
    let value = this.#values.get(stored)
    if (value === undefined) {
      value = JSON.parse(stored.value)
      this.#values.set(stored, value)
    }
    return value as Value
  }

  #of(generator: string): Watched {
    const watched = this.#watched.get(generator)
    if (watched !== undefined) return watched
    const leaderKey = shardKey(this.#shardOf(generator))
    const fresh: Watched = { counterKey: counterOf(generator), leaderKey, newest: undefined }
    this.#watched.set(generator, fresh)
    return fresh
  }

  #fail(message: string): void {
    this.wrong ??= new assert.AssertionError({ message })
  }

  #gap({ newest }: Watched): void {
    const sinceUs = Math.max(this.#calmSinceUs!, newest?.atUs ?? 0)
    const gapMs = (this.#world.nowUs - sinceUs) / 1000
    if (gapMs > this.longestGapMs) this.longestGapMs = gapMs
  }

  #reserved(counter: string, { fence = 0n }: { fence?: bigint }): void {
    const before = this.#fences.get(counter) ?? 0n
    if (fence < before) this.#fail(`a reserve of ${counter} with fence ${fence} was let in after ${before}`)
    this.#fences.set(counter, fence)
  }

  #node(machine: Machine, { id, deadBy }: NodeRecord): void {
    if (deadBy !== undefined) {
      const silentMs = (this.#world.nowUs - (this.renewedUs.get(id) ?? 0)) / 1000
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
    const what = () => `${key} from ${JSON.stringify(before)} to ${JSON.stringify(next)} by ${machine.name}`
    if (next.epoch < before.epoch || (next.epoch === before.epoch && next.holder !== ''))
      this.#fail(`the epoch did not grow: ${what()}`)
    if (before.holder === '' || this.#machineOf.get(before.holder) === machine.name) return
    const record = this.#value<NodeRecord>(`cluster/nodes/${before.holder}`)
    if (record !== undefined && record.deadBy === undefined) this.#fail(`taken from the living: ${what()}`)
  }
}
