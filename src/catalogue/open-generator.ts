/** A generator in use: its issuer, and what its definition puts around it. */
import { FahaoError, hasCode } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import type { Timeline } from '../base/timeline.ts'
import type { LeaderTerm } from '../cluster/leadership.ts'
import { slotOf } from '../cluster/slots.ts'
import type { Reservation } from '../engine/engine.ts'
import type { Run } from '../ids/run.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import type { DrawOptions, Issuer, IssuerStats, Kind } from '../issuing/issuer.ts'
import type { Generator, Mode } from './catalogue.ts'
import type { Definition } from './definition.ts'
import { type MoveOptions, refuseJump } from './floor.ts'
import { type GeneratorLeaders, moved } from './generator-leaders.ts'
import { ledOn, type Opened, standby } from './open-issuer.ts'
import type { Plan } from './plans.ts'
import { writeDefinition } from './stored.ts'

/** What the generators of one catalogue share. */
export type OpenGeneratorDeps = {
  readonly timeline: Timeline
  /** What `{node}` shows. */
  readonly node: number | undefined
  /** Who leads strict kinds; undefined: the node is in no cluster. */
  readonly leads: GeneratorLeaders | undefined
  /** Opens the generator that has taken this one's place. */
  readonly reopen: (stale: OpenGenerator) => Promise<OpenGenerator>
}

/** How many alterations in a row a waiting caller follows. */
const reopensMax = 10

/** One incarnation of a generator, with one set of options; an alteration puts another in its place. */
export class OpenGenerator implements Generator {
  /** The version of its record. */
  readonly version: bigint
  readonly mode: Mode
  /** See `Opened`. */
  readonly under: Opened['under']
  readonly #life: Incarnation
  readonly #plan: Plan
  readonly #issuer: Issuer
  readonly #opened: Opened
  readonly #deps: OpenGeneratorDeps

  constructor(life: Incarnation, version: bigint, plan: Plan, opened: Opened, deps: OpenGeneratorDeps) {
    this.version = version
    this.#life = life
    this.#plan = plan
    this.#issuer = opened.issuer
    this.#opened = opened
    this.mode = opened.mode
    this.under = opened.under
    this.#deps = deps
  }

  get name(): string {
    return this.#life.name
  }

  get incarnation(): bigint {
    return this.#life.incarnation
  }

  /** See `Life`. */
  get counter(): string {
    return this.#life.counter
  }

  /** See `Life`. */
  get floor(): bigint {
    return this.#life.floor
  }

  get definition(): Definition {
    return this.#plan.definition
  }

  get kind(): Kind {
    return this.definition.kind
  }

  get contiguous(): boolean {
    const { increment, within, scramble } = this.definition
    return increment === 1 && within === 'ordered' && scramble === false
  }

  take(count: number, run: Run): number {
    return this.#issuer.take(count, run)
  }

  takeNumber(): number {
    return this.#issuer.takeNumber()
  }

  draw(count: number, options?: DrawOptions): Promise<Run[]> {
    return this.#following((generator) => generator.#draw(count, options))
  }

  here(): Promise<OpenGenerator> {
    return this.#following((generator) => generator.#ifHere())
  }

  /** What stands in its place once this node does not lead it any more. */
  demoted(leads: GeneratorLeaders): OpenGenerator {
    const opened = standby(leads, this.#plan, this.name)
    return new OpenGenerator(this.#life, this.version, this.#plan, opened, this.#deps)
  }

  /** What takes its place, that of a standby, once this node leads it and knows what is left of it. */
  promoted(here: LeaderTerm, tail: Reservation): OpenGenerator {
    const opened = ledOn(this.#plan, this.#life, here, tail)
    return new OpenGenerator(this.#life, this.version, this.#plan, opened, this.#deps)
  }

  /**
   * What takes its place, with everything in hand, when it is defined so; undefined where more than the sizes of refills
   * differs.
   */
  resized(definition: Definition, plans: { of(definition: Definition): Plan }): OpenGenerator | undefined {
    const { step, stepMax } = definition
    const sameBut = writeDefinition({ ...this.definition, step, stepMax })
    if (sameBut !== writeDefinition(definition) || this.#opened.resize === undefined) return undefined
    if (step !== this.definition.step || stepMax !== this.definition.stepMax)
      this.#opened.resize({ step: step!, stepMax: stepMax! })
    return new OpenGenerator(this.#life, this.version, plans.of(definition), this.#opened, this.#deps)
  }

  /** Altered, won or lost while a caller waited: nothing was used up, so it goes on with what is there now. */
  async #following<Result>(ask: (generator: OpenGenerator) => Promise<Result>): Promise<Result> {
    let generator: OpenGenerator = this
    for (let reopens = 0; ; reopens++) {
      try {
        return await ask(generator)
      } catch (error) {
        if (!hasCode(error, 'STALE') || reopens === reopensMax) throw error
        generator = await generator.#deps.reopen(generator)
      }
    }
  }

  async #ifHere(): Promise<OpenGenerator> {
    const { leads } = this.#deps
    if (this.mode !== 'leader' || leads === undefined) return this
    const slot = slotOf(this.name)
    const lead = await leads.cluster.leadWithin(slot)
    if (lead.state === 'elsewhere') throw moved(slot, lead)
    if (lead.state === 'nobody') throw slotNotServed()
    if (lead === this.under?.here) return this
    throw new FahaoError('STALE', `the leadership of generator '${this.name}' has just changed; retry`)
  }

  #draw(count: number, options?: DrawOptions): Promise<Run[]> {
    if (!options?.contiguous || this.contiguous) return this.#issuer.draw(count, options)
    throw new FahaoError('WRONGTYPE', `ids of '${this.name}' are not contiguous`)
  }

  nextIsSafe(): boolean {
    return this.#issuer.nextIsSafe()
  }

  lastIssued(): bigint | undefined {
    return this.#issuer.lastIssued()
  }

  stats(): IssuerStats {
    return this.#issuer.stats()
  }

  text(id: bigint): string {
    return this.writer()?.(id) ?? String(id)
  }

  writer(): ((id: bigint) => string) | undefined {
    const { format } = this.#plan
    if (format === undefined) return undefined
    const unixUs = format.needsTime ? this.#deps.timeline.burstUs() : undefined
    const values = { node: this.#deps.node, unixUs }
    return (id) => format.format(id, values)
  }

  parse(text: string): bigint {
    const { format } = this.#plan
    if (format !== undefined) return format.parse(text)
    if (!/^\d{1,19}$/.test(text))
      throw new FahaoError('ERR', `'${text.slice(0, 40)}' is no id of generator '${this.name}'`)
    return BigInt(text)
  }

  moveTo(newest: bigint, options: MoveOptions = {}): Promise<void> {
    return this.#following(async (generator) => {
      if (generator.kind !== this.kind)
        throw new FahaoError(
          'CONFLICT',
          `generator '${this.name}' was just changed by others; look at it again`,
        )
      await (await generator.#ifHere()).#moveTo(newest, options)
    })
  }

  async #moveTo(newest: bigint, { force = false }: MoveOptions): Promise<void> {
    const last = this.lastIssued()
    if (last !== undefined && newest < last) {
      throw new FahaoError(
        'ERR',
        `generator '${this.name}' has issued ${last} already; it moves forward only`,
      )
    }
    const { max, start } = this.definition
    if (start !== undefined && newest + 1n < this.#life.floor) {
      throw new FahaoError(
        'ERR',
        `generator '${this.name}' starts at ${this.#life.floor}; it moves forward only`,
      )
    }
    if (max !== undefined && newest > max)
      throw new FahaoError('ERR', `${newest} is above max ${max} of generator '${this.name}'`)
    if (max !== undefined && !force) refuseJump(this.name, last ?? this.#life.floor - 1n, newest, max)
    await this.#issuer.moveTo(newest)
  }

  /** Stops issuing, tells waiting callers why, and releases what can be. */
  close(reason: Error): Promise<void> {
    return this.#issuer.close(reason)
  }
}
