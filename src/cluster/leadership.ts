/**
 * Which shards this process leads, and who leads the others: the view's leaderships as seen by this node.
 *
 * Invariants
 *  1. A shard is led here only if a record was seen to name this very node id with this epoch, and no record of a
 *     higher version was seen since. Nobody else changes such a record while this node's lease holds; once it does
 *     not hold, `check()` says so.
 *  2. From the moment when a shard is being lost until its record has changed, nothing is issued for it, also
 *     when the write that gives it away has no known outcome.
 *  3. What a leader left is for the one leadership that its record was written for, and is offered once: the holder is
 *     one process, which does not lead with an epoch that it has seen before.
 *  4. Once the record names somebody else, or the lease is over, the shard is not led here, and listeners have
 *     been told before anything else runs.
 */
import type { Clock } from '../base/clock.ts'
import type { Lease } from './lease.ts'
import type { Leadership, LeftoverRange, NodeRecord } from './records.ts'
import type { View } from './view.ts'

/** A leadership of this node. One object for as long as it lasts: keep it and compare. */
export type LeaderTerm = {
  readonly state: 'here'
  readonly shard: number
  /** What every reserve for the shard's strict generators carries. */
  readonly fence: bigint
  /** What the leader before left to go on with. */
  readonly tails: readonly LeftoverRange[]
}

/** Who leads a shard. */
export type Lead =
  | LeaderTerm
  /** Another node, as far as this one knows. */
  | { readonly state: 'elsewhere'; readonly shard: number; readonly node: NodeRecord }
  /** Nobody who could issue, or nobody yet: a hand-over under way, a lapsed lease, a dead leader. */
  | { readonly state: 'nobody'; readonly shard: number; readonly forMs: number }

/** Who is told what happens to leaderships here. Called synchronously; must not throw. */
export type LeadershipListener = {
  /** This node leads the shard. The first reserve with the fence on each counter seals out its predecessors. */
  readonly onWon: (here: LeaderTerm, from: string, vacantMs: number) => void
  /** This node leads it no more, without having given it away: forget what is in hand. */
  readonly onLost: (here: LeaderTerm, holder: string) => void
}

type Mine = { readonly here: LeaderTerm; readonly epoch: number; losingUs: number | undefined }

/** See the invariants at the top of the file. */
export class Leaderships {
  readonly #clock: Clock
  readonly #view: View
  readonly #lease: () => Lease
  readonly #listener: LeadershipListener
  readonly #mine: (Mine | undefined)[]
  /** The highest epoch that this process has led each shard with. */
  readonly #ledUpTo: number[]
  /** Since when a shard has had no living leader, as far as is known. */
  readonly #vacantUs: (number | undefined)[]
  /** Those who wait for a change, by shard; each leaves when its own time is over. */
  readonly #waiters: readonly Set<() => void>[]

  constructor(shards: number, clock: Clock, view: View, lease: () => Lease, listener: LeadershipListener) {
    this.#clock = clock
    this.#view = view
    this.#lease = lease
    this.#listener = listener
    this.#mine = new Array<Mine | undefined>(shards).fill(undefined)
    this.#ledUpTo = new Array<number>(shards).fill(0)
    this.#vacantUs = new Array<number | undefined>(shards).fill(clock.monoUs())
    this.#waiters = Array.from({ length: shards }, () => new Set<() => void>())
  }

  /** How many shards there are. */
  get shards(): number {
    return this.#mine.length
  }

  /** The leadership of this node, if it is not about to be lost. Says nothing about the lease. */
  held(shard: number): LeaderTerm | undefined {
    const mine = this.#mine[shard]
    return mine !== undefined && mine.losingUs === undefined ? mine.here : undefined
  }

  /** Shards whose records name this node, those about to be lost too. */
  mine(): number[] {
    return [...this.#mine.keys()].filter((shard) => this.#mine[shard] !== undefined)
  }

  /** Whether this leadership is being lost and its record still names this node. */
  isLosing(here: LeaderTerm): boolean {
    const mine = this.#mine[here.shard]
    return mine?.here === here && mine.losingUs !== undefined
  }

  /** Nothing is issued for the shard any more. */
  lose(shard: number): LeaderTerm | undefined {
    const mine = this.#mine[shard]
    if (mine === undefined || mine.losingUs !== undefined) return undefined
    mine.losingUs = this.#clock.monoUs()
    return mine.here
  }

  /** Who leads the shard now. */
  look(shard: number): Lead {
    const nowUs = this.#clock.monoUs()
    const mine = this.#mine[shard]
    if (mine !== undefined) {
      const sinceUs = mine.losingUs ?? this.#lease().lapsedUs
      return sinceUs === undefined ? mine.here : { state: 'nobody', shard, forMs: (nowUs - sinceUs) / 1000 }
    }
    const leader = this.leader(shard)
    if (leader !== undefined && !this.#isThisProcess(leader))
      return { state: 'elsewhere', shard, node: leader }
    return { state: 'nobody', shard, forMs: (nowUs - (this.#vacantUs[shard] ?? nowUs)) / 1000 }
  }

  /** The living node that the shard's record names, as far as is known. */
  leader(shard: number): NodeRecord | undefined {
    const holder = this.#view.shard(shard)?.value.holder ?? ''
    return holder === '' ? undefined : this.#view.living(holder)
  }

  /** Since when the shard has had no living leader, on the monotonic clock in µs; undefined: it has one. */
  vacantUs(shard: number): number | undefined {
    return this.#vacantUs[shard]
  }

  /** Resolves when who leads the shard may have changed, or after `waitMs`. */
  changed(shard: number, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.#waiters[shard]!
      const wake = () => {
        timer.cancel()
        waiters.delete(wake)
        resolve()
      }
      const timer = this.#clock.timer(waitMs, wake)
      waiters.add(wake)
    })
  }

  /** Wakes whoever waits for any shard. */
  wakeAll(): void {
    for (const shard of this.#waiters.keys()) this.#wake(shard)
  }

  /** The view of this shard's leadership, or of its holder, has changed. */
  refresh(shard: number): void {
    const record = this.#view.shard(shard)?.value
    const mine = this.#mine[shard]
    const named = record !== undefined && record.holder === this.#lease().id && !this.#lease().over
    if (mine !== undefined && !(named && record.epoch === mine.epoch)) this.#drop(mine, record?.holder ?? '')
    if (named && this.#mine[shard] === undefined) this.#adopt(shard, record)
    if (this.leader(shard) !== undefined) this.#vacantUs[shard] = undefined
    else this.#vacantUs[shard] ??= this.#clock.monoUs()
    this.#wake(shard)
  }

  /** A node has come, gone or been declared dead. */
  refreshNode(id: string): void {
    for (let shard = 0; shard < this.shards; shard++) {
      if (this.#view.shard(shard)?.value.holder === id) this.refresh(shard)
    }
  }

  /** The lease is over. */
  dropAll(): void {
    for (const shard of this.mine()) this.#drop(this.#mine[shard]!, '')
    this.wakeAll()
  }

  /**
   * Clients are not sent to where they are: by one that was started again, while its old self is on record; nor by one
   * that is leaving, and was given a shard in that moment.
   */
  #isThisProcess({ id, resp, http }: NodeRecord): boolean {
    const lease = this.#lease()
    if (lease.id === id) return true
    const self = lease.address
    return resp === undefined ? http !== undefined && http === self.http : resp === self.resp
  }

  #adopt(shard: number, { epoch, from, tails = [] }: Leadership): void {
    const isNew = epoch > this.#ledUpTo[shard]!
    this.#ledUpTo[shard] = Math.max(epoch, this.#ledUpTo[shard]!)
    const here: LeaderTerm = Object.freeze({
      state: 'here',
      shard,
      fence: BigInt(epoch),
      tails: isNew ? tails : [],
    })
    const nowUs = this.#clock.monoUs()
    const vacantMs = (nowUs - (this.#vacantUs[shard] ?? nowUs)) / 1000
    this.#mine[shard] = { here, epoch, losingUs: undefined }
    this.#listener.onWon(here, from, vacantMs)
  }

  #drop(mine: Mine, holder: string): void {
    this.#mine[mine.here.shard] = undefined
    if (mine.losingUs === undefined || this.#lease().over) this.#listener.onLost(mine.here, holder)
  }

  #wake(shard: number): void {
    for (const wake of [...this.#waiters[shard]!]) wake()
  }
}
