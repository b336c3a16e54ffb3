/**
 * Cores of a cluster on a model of an engine: a map with versions. A test chooses what happens next: which call reaches the
 * engine, which answer comes back, which is given up, whose clock stands still. True time is known, so that the cores can be
 * compared at one instant.
 */
import { FahaoError } from '../../../src/base/errors.ts'
import { ClusterCore } from '../../../src/cluster/core.ts'
import type { Answer, Call, ClusterEvent, Event } from '../../../src/cluster/events.ts'
import { clusterPrefix } from '../../../src/cluster/records.ts'
import { type Moment, timing } from '../../../src/cluster/timing.ts'
import type { StoredRecord } from '../../../src/engine/engine.ts'

/** What is under way for a core: a call of the engine, or another event that comes later. */
type UnderWay = {
  readonly node: ModelNode
  readonly call?: Call
  readonly event?: Event
  /** Set when the engine has carried the call out. */
  answer?: Answer
  isGivenUp: boolean
}

/** One core and its machine. */
export type ModelNode = {
  readonly core: ClusterCore
  readonly events: ClusterEvent[]
  /** Monotonic µs per true µs. */
  readonly rate: number
  /** True µs in which its monotonic clock stood still. */
  suspendedUs: number
  /** Its process does not run: nothing reaches the core. */
  isStalled: boolean
}

export class Model {
  readonly nodes: readonly ModelNode[]
  readonly shards: number
  /** True time in µs. */
  nowUs = 0
  readonly #records = new Map<string, StoredRecord>()
  readonly #underWay: UnderWay[] = []
  #version = 0n
  #ids = 0

  /** A node for each rate of a monotonic clock. */
  constructor(shards: number, rates: readonly number[]) {
    this.shards = shards
    const durations = timing({ leaseTtlMs: 3000 })
    this.nodes = rates.map((rate, at) => {
      const now = { monoUs: 0, wallUs: 0 }
      const self = { resp: `${at}:1`, version: '1' }
      const core = new ClusterCore(durations, shards, self, this.#newId(), now)
      return { core, events: [], rate, suspendedUs: 0, isStalled: false }
    })
    for (const node of this.nodes) {
      this.#later(node, { type: 'list' })
      this.#later(node, { type: 'join', id: node.core.state.lease.id })
    }
  }

  /** The nodes that would issue for a shard at this instant. */
  leaders(shard: number): ModelNode[] {
    return this.nodes.filter(({ core, ...node }) => {
      const { monoUs, wallUs } = this.#clocks(node)
      return core.leaderships.held(shard) !== undefined && core.state.lease.isValid(monoUs, wallUs)
    })
  }

  /** The next thing that would happen on a calm day. */
  goOn(): void {
    const next = this.#underWay.findIndex(({ node }) => !node.isStalled)
    if (next >= 0) return this.#advance(next)
    const due = this.nodes
      .filter(({ isStalled }) => !isStalled)
      .map((node) => ({ node, inUs: (node.core.nextUs - this.#clocks(node).monoUs) / node.rate }))
      .sort((a, b) => a.inUs - b.inUs)[0]
    if (due === undefined) return this.pass(10)
    // A microsecond more than needed: clocks are rounded.
    if (due.inUs > 0) this.nowUs += due.inUs + 1
    this.#step(due.node, { type: 'tick' })
  }

  /** Moves one call on its way: to the engine, or back. */
  advanceAny(which: number): void {
    if (this.#underWay.length > 0) this.#advance(which % this.#underWay.length)
  }

  /** A node waits for one answer no more. The call may reach the engine later all the same. */
  giveUpAny(which: number): void {
    if (this.#underWay.length === 0) return
    const each = this.#underWay[which % this.#underWay.length]!
    if (each.call === undefined || each.isGivenUp || each.node.isStalled) return
    each.isGivenUp = true
    if (each.answer !== undefined) this.#underWay.splice(this.#underWay.indexOf(each), 1)
    const answer = { error: new FahaoError('UNKNOWN', 'no answer') }
    this.#step(each.node, { type: 'answered', call: each.call, answer })
  }

  /** A watch shows one node a record as it is now. */
  news(which: number): void {
    const node = this.nodes[which % this.nodes.length]!
    const record = [...this.#records.values()][which % Math.max(1, this.#records.size)]
    if (record !== undefined && !node.isStalled)
      this.#step(node, { type: 'changed', change: { key: record.key, record } })
  }

  /** An event for one node. */
  tell(which: number, event: Event): void {
    const node = this.nodes[which % this.nodes.length]!
    if (!node.isStalled) this.#step(node, event)
  }

  /** One process is stopped, and those that were stopped go on. */
  stall(which: number): void {
    for (const [at, node] of this.nodes.entries()) node.isStalled = at === which
  }

  /** Time passes, and nothing else happens. */
  pass(ms: number): void {
    this.nowUs += ms * 1000
  }

  /** Time passes that one node's monotonic clock does not count. */
  suspend(which: number, ms: number): void {
    this.nodes[which % this.nodes.length]!.suspendedUs += ms * 1000
    this.pass(ms)
  }

  #advance(at: number): void {
    const each = this.#underWay[at]!
    const { node, call, event, answer } = each
    if (call !== undefined && answer === undefined) {
      each.answer = this.#carryOut(call)
      if (each.isGivenUp) this.#underWay.splice(at, 1)
    } else if (!node.isStalled) {
      this.#underWay.splice(at, 1)
      this.#step(node, event ?? { type: 'answered', call: call!, answer: answer! })
    }
  }

  #step(node: ModelNode, event: Event): void {
    for (const effect of node.core.step(event, this.#clocks(node))) {
      if (effect.do === 'list' || effect.do === 'read' || effect.do === 'write' || effect.do === 'remove')
        this.#underWay.push({ node, call: effect, isGivenUp: false })
      else if (effect.do === 'release')
        this.#later(node, { type: 'released', change: effect.change, leftovers: [], error: undefined })
      else if (effect.do === 'report') {
        node.events.push(effect.event)
        if (effect.event.type === 'died') this.#later(node, { type: 'join', id: this.#newId() })
      }
    }
  }

  #later(node: ModelNode, event: Event): void {
    this.#underWay.push({ node, event, isGivenUp: false })
  }

  #carryOut(call: Call): Answer {
    if (call.do === 'list')
      return { records: [...this.#records.values()].filter(({ key }) => key.startsWith(clusterPrefix)) }
    const { key } = call
    const found = this.#records.get(key)
    if (call.do === 'read') return { stored: found }
    if (found?.version !== call.expected) return {}
    if (call.do === 'remove') {
      this.#records.delete(key)
      return {}
    }
    const stored = { key, value: call.value, version: ++this.#version }
    this.#records.set(key, stored)
    return { stored }
  }

  #clocks({ rate, suspendedUs }: Pick<ModelNode, 'rate' | 'suspendedUs'>): Moment {
    return { monoUs: (this.nowUs - suspendedUs) * rate, wallUs: this.nowUs }
  }

  #newId(): string {
    return `n${++this.#ids}`
  }
}
