/**
 * Which shards this process leads, and which node leads the others: the view's leaderships as seen by this node.
 *
 * Invariants
 *  1. A shard is led here only if a record was seen that names this very node id with this epoch, and no record of a
 *     higher version was seen since. No other node changes such a record while this node's lease is valid; once it is
 *     not, `NodeLease.isValid` says so.
 *  2. From the moment when a shard is being handed over until its record has changed, nothing is issued for it, also
 *     when the write that hands it over has no known outcome.
 *  3. Leftover ranges are for the one term that their record was written for, and are offered once: the holder is one
 *     process, which ignores them where it has led with that epoch before.
 *  4. Once the record names another node, or the lease is over, the shard is not led here, and the step that notices
 *     returns `onLost` before any other effect of that change.
 *  5. A shard whose record says that it rests is not free before that version has been seen to stand for ttl + margin: a
 *     leader whose take-over the engine has forgotten may issue until its lease lapses, and no record names it.
 */
import type { LeaderTerm, ShardLeader, State } from './events.ts'
import type { Leadership, NodeRecord } from './records.ts'
import type { Moment } from './timing.ts'

type Led = { readonly term: LeaderTerm; readonly epoch: number; losingUs: number | undefined }

/** The terms of this node, and the leader of every shard. */
export class Leaderships {
  readonly #state: State
  readonly #led: (Led | undefined)[]
  /** The highest epoch that this process has led each shard with. */
  readonly #ledUpTo: number[]
  /** Since when a shard has had no living leader, as seen from here. */
  readonly #vacantUs: (number | undefined)[]

  constructor(state: State, nowUs: number) {
    this.#state = state
    this.#led = new Array<Led | undefined>(state.shards).fill(undefined)
    this.#ledUpTo = new Array<number>(state.shards).fill(0)
    this.#vacantUs = new Array<number | undefined>(state.shards).fill(nowUs)
  }

  /** The term of this node, unless the shard is being handed over. Says nothing about the lease. */
  held(shard: number): LeaderTerm | undefined {
    const led = this.#led[shard]
    return led !== undefined && led.losingUs === undefined ? led.term : undefined
  }

  /** Shards whose records name this node, those too that are being handed over. */
  led(): number[] {
    return [...this.#led.keys()].filter((shard) => this.#led[shard] !== undefined)
  }

  /** Whether this shard is being handed over and its record still names this node. */
  isLosing(term: LeaderTerm): boolean {
    const led = this.#led[term.shard]
    return led?.term === term && led.losingUs !== undefined
  }

  /** Nothing is issued for the shard any more. */
  lose(shard: number, nowUs: number): void {
    const led = this.#led[shard]
    if (led !== undefined) led.losingUs ??= nowUs
  }

  /** The leader of the shard now. */
  lead(shard: number, { monoUs, wallUs }: Moment): ShardLeader {
    const { lease } = this.#state
    const led = this.#led[shard]
    if (led !== undefined) {
      if (led.losingUs === undefined && lease.isValid(monoUs, wallUs)) return led.term
      return { state: 'none', shard, forMs: (monoUs - (led.losingUs ?? lease.lapsedUs)) / 1000 }
    }
    const node = this.leader(shard)
    if (node !== undefined && !this.#isThisProcess(node)) return { state: 'elsewhere', shard, node }
    return { state: 'none', shard, forMs: (monoUs - (this.#vacantUs[shard] ?? monoUs)) / 1000 }
  }

  /** The living node that the shard's record names, as seen from here. */
  leader(shard: number): NodeRecord | undefined {
    const { view } = this.#state
    return view.living(view.shard(shard)?.value.holder ?? '')
  }

  /** From when on a node may take the shard, on the monotonic clock in µs; undefined: it has a living leader. */
  freeUs(shard: number): number | undefined {
    const vacantUs = this.#vacantUs[shard]
    return vacantUs === undefined ? undefined : Math.max(vacantUs, this.restUntilUs(shard) ?? vacantUs)
  }

  /** Until when the shard rests, on the monotonic clock in µs; undefined: its record says nothing of a rest. */
  restUntilUs(shard: number): number | undefined {
    const { view, timing } = this.#state
    const known = view.shard(shard)
    return known?.value.rests === true ? known.seenUs + (timing.ttlMs + timing.marginMs) * 1000 : undefined
  }

  /** The view of this shard's leadership, or of its holder, has changed. */
  refresh(shard: number, nowUs: number): void {
    const { view, lease, effects } = this.#state
    const record = view.shard(shard)?.value
    const led = this.#led[shard]
    const isNamed = record?.holder === lease.id && !lease.isOver
    if (led !== undefined && !(isNamed && record.epoch === led.epoch)) this.#drop(led, record?.holder ?? '')
    if (isNamed && this.#led[shard] === undefined) this.#lead(shard, record, nowUs)
    if (this.leader(shard) !== undefined) this.#vacantUs[shard] = undefined
    else this.#vacantUs[shard] ??= nowUs
    effects.push({ do: 'wake', shard })
  }

  /** A node has come, gone or been declared dead. */
  refreshNode(id: string, nowUs: number): void {
    for (let shard = 0; shard < this.#led.length; shard++)
      if (this.#state.view.shard(shard)?.value.holder === id) this.refresh(shard, nowUs)
  }

  /** The lease is over. */
  dropAll(): void {
    for (const shard of this.led()) this.#drop(this.#led[shard]!, '')
    this.#state.effects.push({ do: 'wake' })
  }

  /**
   * A client is not sent to the address that it has reached: neither by a process that was started again, while its
   * predecessor is on record, nor by one that is leaving and was given a shard in that moment.
   */
  #isThisProcess({ id, resp, http }: NodeRecord): boolean {
    const { lease, self } = this.#state
    if (lease.id === id) return true
    return resp === undefined ? http !== undefined && http === self.http : resp === self.resp
  }

  #lead(shard: number, { epoch, from, leftovers = [] }: Leadership, nowUs: number): void {
    const isNew = epoch > this.#ledUpTo[shard]!
    this.#ledUpTo[shard] = Math.max(epoch, this.#ledUpTo[shard]!)
    const fence = BigInt(epoch)
    const term: LeaderTerm = Object.freeze({ state: 'here', shard, fence, leftovers: isNew ? leftovers : [] })
    const vacantMs = (nowUs - (this.#vacantUs[shard] ?? nowUs)) / 1000
    this.#led[shard] = { term, epoch, losingUs: undefined }
    this.#state.effects.push(
      { do: 'onWon', term },
      { do: 'report', event: { type: 'won', shard, fence, from, vacantMs } },
    )
  }

  /** Ends a term. Reports its loss, except after a hand-over, where the end is expected; if the lease is over, always. */
  #drop({ term, losingUs }: Led, to: string): void {
    const { lease, effects } = this.#state
    const { shard, fence } = term
    this.#led[shard] = undefined
    if (losingUs === undefined || lease.isOver)
      effects.push({ do: 'onLost', term }, { do: 'report', event: { type: 'lost', shard, fence, to } })
  }
}
