/** A generator in use: its issuer, and what its definition puts around it. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import { compileFormat, type Format } from '../ids/format.ts'
import type { Run } from '../ids/run.ts'
import type { DrawOptions, IssuerStats, Kind } from '../issuing/issuer.ts'
import type { Reservoir } from '../issuing/reservoir.ts'
import type { Generator, Mode } from './catalogue.ts'
import type { Definition } from './definition.ts'
import type { OpenIssuer } from './issuers.ts'
import type { StoredGenerator } from './stored.ts'

/** The index that `{node}` shows: its value and its width. */
export type NodeIndex = { readonly value: number; readonly width: number }

/** What a generator takes from its catalogue. */
export type OpenGeneratorDeps = {
  readonly timeline: Timeline
  readonly nodeIndex: NodeIndex | undefined
  /** Opens the generator that has taken this one's place. */
  readonly reopen: () => Promise<OpenGenerator>
}

/** How many alterations in a row a waiting caller follows. */
const reopensMax = 10

/** One incarnation of a generator, with one set of options; an alteration puts another in its place. */
export class OpenGenerator implements Generator {
  readonly name: string
  readonly definition: Definition
  readonly incarnation: bigint
  /** The version of its record. */
  readonly version: bigint
  readonly #issuer: Reservoir
  readonly #open: OpenIssuer
  readonly #deps: OpenGeneratorDeps
  readonly #format: Format | undefined

  constructor(
    name: string,
    stored: StoredGenerator,
    version: bigint,
    open: OpenIssuer,
    deps: OpenGeneratorDeps,
  ) {
    this.name = name
    this.definition = stored.definition
    this.incarnation = stored.incarnation
    this.version = version
    this.#issuer = open.issuer
    this.#open = open
    this.#deps = deps
    this.#format = formatOf(name, stored.definition, deps.nodeIndex)
  }

  get kind(): Kind {
    return this.definition.kind
  }

  get mode(): Mode {
    return this.kind === 'sequence' || this.kind === 'timestamp' ? 'local' : 'node'
  }

  get contiguous(): boolean {
    const { increment, within, scramble } = this.definition
    return increment === 1 && within === 'ordered' && scramble === false
  }

  take(count: number, run: Run): number {
    return this.#issuer.take(count, run)
  }

  async draw(count: number, options?: DrawOptions): Promise<Run[]> {
    let generator: OpenGenerator = this
    for (let reopens = 0; ; reopens++) {
      try {
        return await generator.#draw(count, options)
      } catch (error) {
        // Altered while this caller waited: nothing was used up, so it goes on with what is there now.
        if (!hasCode(error, 'STALE') || reopens === reopensMax) throw error
        generator = await generator.#deps.reopen()
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
    if (this.#format === undefined) return String(id)
    const unixUs = this.#format.needsTime ? this.#deps.timeline.burstUs() : undefined
    return this.#format.format(id, { node: this.#deps.nodeIndex?.value, unixUs })
  }

  parse(text: string): bigint {
    if (this.#format !== undefined) return this.#format.parse(text)
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
    const { max } = this.definition
    if (max !== undefined && newest > max)
      throw new FahaoError('ERR', `${newest} is above max ${max} of generator '${this.name}'`)
    await this.#open.moveTo(newest)
  }

  /** Stops issuing, tells waiting callers why, and releases what can be. */
  close(reason: Error): Promise<void> {
    return this.#issuer.close(reason)
  }
}

function formatOf(name: string, definition: Definition, index: NodeIndex | undefined): Format | undefined {
  if (definition.format === undefined) return undefined
  const format = compileFormat(definition.format, { nodeWidth: index?.width ?? 1 })
  if (format.needsNode && index === undefined) {
    throw new FahaoError(
      'CONFIG',
      `the format of generator '${name}' shows {node}; start this node with --node-index N`,
    )
  }
  return format
}
