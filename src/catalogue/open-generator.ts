/** A generator in use: its issuer, and what its definition puts around it. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Run } from '../ids/run.ts'
import type { DrawOptions, Issuer, IssuerStats, Kind } from '../issuing/issuer.ts'
import type { Life } from '../issuing/life.ts'
import type { Generator, Mode } from './catalogue.ts'
import type { Definition } from './definition.ts'
import type { Opened, Plan } from './issuers.ts'

/** What the generators of one catalogue share. */
export type OpenGeneratorDeps = {
  readonly timeline: Timeline
  /** What `{node}` shows. */
  readonly node: number | undefined
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
  readonly #life: Life
  readonly #plan: Plan
  readonly #issuer: Issuer
  readonly #deps: OpenGeneratorDeps

  constructor(life: Life, version: bigint, plan: Plan, opened: Opened, deps: OpenGeneratorDeps) {
    this.version = version
    this.#life = life
    this.#plan = plan
    this.#issuer = opened.issuer
    this.mode = opened.mode
    this.#deps = deps
  }

  get name(): string {
    return this.#life.name
  }

  get incarnation(): bigint {
    return this.#life.incarnation
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

  async draw(count: number, options?: DrawOptions): Promise<Run[]> {
    let generator: OpenGenerator = this
    for (let reopens = 0; ; reopens++) {
      try {
        return await generator.#draw(count, options)
      } catch (error) {
        // Altered while this caller waited: nothing was used up, so it goes on with what is there now.
        if (!hasCode(error, 'STALE') || reopens === reopensMax) throw error
        generator = await generator.#deps.reopen(generator)
      }
    }
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
    const { format } = this.#plan
    if (format === undefined) return String(id)
    const unixUs = format.needsTime ? this.#deps.timeline.burstUs() : undefined
    return format.format(id, { node: this.#deps.node, unixUs })
  }

  parse(text: string): bigint {
    const { format } = this.#plan
    if (format !== undefined) return format.parse(text)
    if (!/^\d{1,19}$/.test(text))
      throw new FahaoError('ERR', `'${text.slice(0, 40)}' is no id of generator '${this.name}'`)
    return BigInt(text)
  }

  async moveTo(newest: bigint): Promise<void> {
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
    await this.#issuer.moveTo(newest)
  }

  /** Stops issuing, tells waiting callers why, and releases what can be. */
  close(reason: Error): Promise<void> {
    return this.#issuer.close(reason)
  }
}
