/**
 * Generators whose ids are charged to the quotas of namespaces before they are issued.
 *
 * Invariants
 *  1. A generator that no namespace counts is returned as it is: its fast path costs nothing.
 *  2. A request that is refused, or whose draw rejects, is charged nothing.
 *  3. The ids of a leased range are charged before it is reserved, and stay charged when the caller gives the range back.
 *  4. Ids of a strict generator are charged by the node that issues them.
 *  5. What a draw above a number skips is charged as ids, unless it is forced, as a move by SET is not.
 */

import { emptyRow } from '../buffers/fast-runs.ts'
import type { Format } from '../ids/format.ts'
import type { IdText } from '../ids/id-text.ts'
import type { Run } from '../ids/run.ts'
import type { DrawOptions, IssuerStats, Kind } from '../issuing/issuer.ts'
import type { Namespaces } from '../quotas/namespaces.ts'
import { type Meter, Quotas } from '../quotas/quotas.ts'
import type { AskLedger, Generator, GeneratorRange, IssuingMode } from './catalogue.ts'
import type { Definition } from './definition.ts'
import type { MoveOptions } from './floor.ts'
import type { DrawnOnce, KeyedRequest } from './once.ts'

/** How many users have their own view of a generator at most. */
const usersMax = 1000
/** Stamps have 30 bits. */
const stampMax = 2 ** 30 - 1

/** A generator as one user sees it. */
class MeteredGenerator implements Generator {
  /** Its ids are charged first. */
  readonly row = emptyRow
  readonly name: string
  readonly kind: Kind
  readonly definition: Definition
  readonly incarnation: bigint
  readonly mode: IssuingMode
  readonly contiguous: boolean
  readonly #generator: Generator
  readonly #meter: Meter

  constructor(generator: Generator, meter: Meter) {
    this.#generator = generator
    this.#meter = meter
    this.name = generator.name
    this.kind = generator.kind
    this.definition = generator.definition
    this.incarnation = generator.incarnation
    this.mode = generator.mode
    this.contiguous = generator.contiguous
  }

  get issuesHere(): boolean {
    return this.#generator.issuesHere
  }

  /** As the generator's `take`; also throws QUOTA. */
  take(count: number, run: Run): number {
    if (!this.issuesHere) return 0
    const taken = this.#generator.take(this.#meter.allowed(count), run)
    if (taken > 0) this.#meter.issued(taken)
    return taken
  }

  /** As the generator's `takeNumber`; also throws QUOTA. */
  takeNumber(): number {
    if (!this.issuesHere) return -1
    this.#meter.allowed(1)
    const number = this.#generator.takeNumber()
    if (number >= 0) this.#meter.issued(1)
    return number
  }

  /** As the generator's; also rejects with QUOTA, and with LIMIT for more ids than a quota ever allows at once. */
  async draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    // Without an await where the ids are issued here, so that draws keep their order.
    const generator = this.issuesHere ? this.#generator : await this.#generator.ledHere()
    // Without an await for most draws, for the same reason.
    const skips = skippedBy(generator, count, options)
    const all = count + (skips === undefined ? 0 : await skips)
    return this.#meter.draw(all, (onWait) => generator.draw(count, { ...options, onWait }))
  }

  skips(above: bigint | number, count: number): Promise<number> {
    return this.#generator.skips(above, count)
  }

  /** As the generator's; a repeat is charged nothing. */
  async drawOnce(count: number, request: KeyedRequest): Promise<DrawnOnce> {
    const generator = this.issuesHere ? this.#generator : await this.#generator.ledHere()
    return generator.drawOnce(count, request, async (draw) => {
      const all = count + ((await skippedBy(generator, count, request)) ?? 0)
      return this.#meter.draw(all, draw, (drawn) => (drawn === undefined ? 0 : all))
    })
  }

  /** As the generator's; also rejects with QUOTA, and with LIMIT for more ids than a quota ever allows at once. */
  leaseRange(ids: number): Promise<GeneratorRange> {
    return this.#meter.draw(
      ids,
      () => this.#generator.leaseRange(ids),
      (range) => range.ids,
    )
  }

  /** As the generator's; also rejects with QUOTA, and with LIMIT for more numbers than a quota ever allows at once. */
  ledger<Answer>(ask: AskLedger<Answer>, numbers = 0): Promise<Answer> {
    if (numbers === 0) return this.#generator.ledger(ask)
    return this.#meter.draw(numbers, (onWait) => this.#generator.ledger((ledger) => ask(ledger, onWait)))
  }

  get leasedUpTo(): bigint | undefined {
    return this.#generator.leasedUpTo
  }

  noteDrawn(ids: number): void {
    this.#generator.noteDrawn(ids)
  }

  noteReturned(ids: number): void {
    this.#generator.noteReturned(ids)
  }

  nextIsSafe(): boolean {
    return this.#generator.nextIsSafe()
  }

  lastIssued(): bigint | undefined {
    return this.#generator.lastIssued()
  }

  stats(): IssuerStats {
    return this.#generator.stats()
  }

  get formKey(): string | undefined {
    return this.#generator.formKey
  }

  get format(): Format | undefined {
    return this.#generator.format
  }

  text(id: bigint): string {
    return this.#generator.text(id)
  }

  writer(): IdText | undefined {
    return this.#generator.writer()
  }

  parse(text: string): bigint {
    return this.#generator.parse(text)
  }

  async ledHere(): Promise<Generator> {
    const led = await this.#generator.ledHere()
    return led === this.#generator ? this : new MeteredGenerator(led, this.#meter)
  }

  moveTo(newest: bigint, options?: MoveOptions): Promise<void> {
    return this.#generator.moveTo(newest, options)
  }
}

/** How many ids a draw above a number skips. Undefined: it is none, or may skip any number. */
function skippedBy(
  generator: Generator,
  count: number,
  { above, force }: DrawOptions,
): Promise<number> | undefined {
  return above === undefined || force ? undefined : generator.skips(above, count)
}

/** Puts meters on generators. */
export class Meters {
  readonly namespaces: Namespaces
  readonly quotas: Quotas
  /** Unix µs; never decreases. */
  readonly nowUs: () => number
  /** Metered generators by the generator and the user; the empty name: all users that no namespace names. */
  #metered = new WeakMap<Generator, Map<string, Generator>>()
  #revision = -1
  /** The stamps of this revision, by the same users. */
  readonly #stamps = new Map<string, number>()
  #stampedRevision = -1
  #newestStamp = 0

  /** @param nowUs Unix µs; never decreases. */
  constructor(namespaces: Namespaces, nowUs: () => number) {
    this.namespaces = namespaces
    this.nowUs = nowUs
    this.quotas = new Quotas(namespaces, nowUs)
  }

  /**
   * Stands for the namespaces of this moment, as far as they concern requests of this user: which meter counts a name is known
   * as long as the stamp is the same. 0: there are no namespaces. −1: no stamp is left, and nothing may be kept.
   */
  stampOf(user: string): number {
    const { all, revision } = this.namespaces
    if (all.length === 0) return 0
    if (this.#stampedRevision !== revision) {
      this.#stampedRevision = revision
      this.#stamps.clear()
    }
    const key = this.namespaces.hasUser(user) ? user : ''
    let stamp = this.#stamps.get(key)
    if (stamp === undefined) {
      stamp = this.#newestStamp < stampMax ? ++this.#newestStamp : -1
      this.#stamps.set(key, stamp)
    }
    return stamp
  }

  /** The generator for requests of this user; the generator itself if no namespace counts them. */
  meter(generator: Generator, user: string): Generator {
    const { all, revision } = this.namespaces
    if (all.length === 0) return generator
    if (this.#revision !== revision) {
      this.#revision = revision
      this.#metered = new WeakMap()
    }
    const key = this.namespaces.hasUser(user) ? user : ''
    let byUser = this.#metered.get(generator)
    const known = byUser?.get(key)
    if (known !== undefined) return known
    if (byUser === undefined || byUser.size >= usersMax) {
      byUser = new Map()
      this.#metered.set(generator, byUser)
    }
    const meter = this.quotas.meterOf(generator.name, user)
    const metered = meter === undefined ? generator : new MeteredGenerator(generator, meter)
    byUser.set(key, metered)
    return metered
  }
}
