/** A generator that is open here: its issuer, and the format of its ids. */
import { FahaoError } from '../base/errors.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import type { Reservation } from '../engine/engine.ts'
import type { Format, FormatValues } from '../ids/format.ts'
import { readGenes } from '../ids/gene.ts'
import type { IdText } from '../ids/id-text.ts'
import type { Run } from '../ids/run.ts'
import { avoidingIssuer } from '../issuing/avoiding-issuer.ts'
import type { CounterAtRest } from '../issuing/counter-rows.ts'
import { issuerWithGene } from '../issuing/gene-issuer.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import type { DrawOptions, Issuer, IssuerStats, Kind } from '../issuing/issuer.ts'
import { atRest } from '../issuing/reservoir.ts'
import { aboveOf, skippedUpTo } from './above.ts'
import type { AskLedger, Generator, GeneratorRange, IssuingMode } from './catalogue.ts'
import { type Definition, isContiguous } from './definition.ts'
import type { CatalogueDeps } from './deps.ts'
import { justChanged, type MoveOptions, refuseMove } from './floor.ts'
import { type IssuingPlan, type IssuingPlans, readId } from './issuing-plans.ts'
import { commitsOnce, following, isBatched, ledgerOf } from './issuing-right.ts'
import type { LedIssuer } from './leadership/led-generators.ts'
import { refuseUnlessLed } from './leadership/redirection.ts'
import { type Charged, type DrawnOnce, drawOnce, type KeyedRequest, type OneDraw } from './once.ts'
import {
  drawPast,
  ledIssuerOf,
  noRanges,
  type OpenedIssuer,
  openWithLeftover,
  openWoken,
  type SharedAtRest,
  standby,
} from './open-issuer.ts'
import { formatFor } from './series.ts'
import { rowVersion, writeDefinition } from './stored-generator.ts'

/** What the generators of one catalogue share. */
export type OpenGeneratorDeps = CatalogueDeps & {
  /** Opens the generator that has replaced `stale`, and passes it to `use`. */
  readonly reopen: <Result>(
    stale: OpenGenerator,
    use: (generator: OpenGenerator) => Promise<Result>,
  ) => Promise<Result>
  /** The generator that is open under a name. */
  readonly find: (name: string) => OpenGenerator | undefined
}

/** One incarnation of a generator, with one definition. An alteration replaces it by another object. */
export class OpenGenerator implements Generator {
  /** The version of its record. */
  readonly version: bigint
  readonly mode: IssuingMode
  /** See `OpenedIssuer`. */
  readonly under: OpenedIssuer['under']
  readonly #incarnation: Incarnation
  readonly #plan: IssuingPlan
  readonly formKey: string | undefined
  readonly format: Format | undefined
  readonly #issuer: Issuer
  readonly #opened: OpenedIssuer
  readonly #deps: OpenGeneratorDeps
  /** When a look has last seen that something was asked of it. */
  usedUs = 0
  /** What had been asked of it at the last look. */
  #seen = -1

  constructor(
    incarnation: Incarnation,
    version: bigint,
    plan: IssuingPlan,
    opened: OpenedIssuer,
    deps: OpenGeneratorDeps,
    formKey?: string,
  ) {
    this.version = version
    this.#incarnation = incarnation
    this.#plan = plan
    this.formKey = formKey
    this.format = formatFor(plan.format, this)
    const issuer = issuerWithGene(incarnation.name, plan.geneBits, opened.issuer)
    this.#issuer = avoidingIssuer(issuer, plan.avoided, plan.definition, deps.turns)
    this.#opened = opened
    this.mode = opened.mode
    this.under = opened.under
    this.#deps = deps
  }

  /** A generator that was at rest. */
  static woken(
    incarnation: Incarnation,
    state: CounterAtRest,
    row: number,
    shared: SharedAtRest,
    deps: OpenGeneratorDeps,
  ): OpenGenerator {
    const { plan, mode, gate } = shared
    const opened = openWoken(plan, incarnation, mode, state, gate, row)
    const generator = new OpenGenerator(incarnation, state.recordVersion, plan, opened, deps)
    generator.usedUs = state.usedSeconds * 1_000_000
    generator.#seen = generator.#activity() ?? -1
    return generator
  }

  /** See `Issuer`; its `isOver` likewise. */
  get row(): number {
    return this.#issuer.row
  }

  get isOver(): boolean {
    return this.#issuer.isOver
  }

  /** Its issuer, if a leadership can have it. */
  get ledIssuer(): LedIssuer | undefined {
    return ledIssuerOf(this.#opened)
  }

  /** What it shares with others at rest; undefined: it does not rest. */
  get sharedAtRest(): SharedAtRest | undefined {
    const { reservoir, callerRanges, callers } = this.#opened
    const isPlain = this.under === undefined && this.version !== rowVersion && this.formKey === undefined
    if (reservoir === undefined || !isPlain || this.#plan.avoided !== undefined) return undefined
    if (callerRanges?.isUsed || callers?.isUsed) return undefined
    const { incarnation, floor, advances } = this.#incarnation
    return { plan: this.#plan, mode: this.mode, gate: reservoir.gate, incarnation, floor, advances }
  }

  /** See `IdSource`. Calls of those who have it go on with the generator that is woken. */
  rest(into: CounterAtRest): number {
    into.recordVersion = this.version
    into.usedSeconds = Math.floor(this.usedUs / 1_000_000)
    const row = this.#opened.reservoir!.rest(into)
    if (row !== emptyRow) this.#opened.callerRanges?.close(atRest)
    return row
  }

  /** How many buffered ids it could give back. */
  get buffered(): number {
    return (this.#opened.reservoir ?? this.#opened.inPeriods)?.buffered ?? 0
  }

  get name(): string {
    return this.#incarnation.name
  }

  get incarnation(): bigint {
    return this.#incarnation.incarnation
  }

  /** See `Incarnation`; its `floor` likewise. */
  get counter(): string {
    return this.#incarnation.counter
  }

  get floor(): bigint {
    return this.#incarnation.floor
  }

  get definition(): Definition {
    return this.#plan.definition
  }

  get kind(): Kind {
    return this.definition.kind
  }

  get issuesHere(): boolean {
    return this.mode !== 'leader' || (this.under !== undefined && !this.isOver)
  }

  get contiguous(): boolean {
    return isContiguous(this.definition)
  }

  take(count: number, run: Run): number {
    return this.#issuer.take(count, run)
  }

  takeNumber(): number {
    return this.#issuer.takeNumber()
  }

  draw(count: number, options?: DrawOptions): Promise<Run[]> {
    return this.#following((generator) => generator.#drawAny(count, options))
  }

  skips(above: bigint | number, count: number): Promise<number> {
    return this.#following((generator) => generator.#skips(aboveOf(generator, above, count), true))
  }

  ledger<Answer>(ask: AskLedger<Answer>): Promise<Answer> {
    return this.#following(async (asked) => ask(ledgerOf((await asked.#ifLedHere()).#opened, this.name)))
  }

  drawOnce(count: number, request: KeyedRequest, charged?: Charged): Promise<DrawnOnce> {
    return this.#following((one) => drawOnce(this.#deps, one, one.#oneDraw(count), count, request, charged))
  }

  leaseRange(ids: number): Promise<GeneratorRange> {
    return this.#following((generator) => generator.#leaseRange(ids))
  }

  get leasedUpTo(): bigint | undefined {
    return this.#opened.callerRanges?.leasedUpTo
  }

  noteDrawn(ids: number): void {
    this.#opened.callers?.drawn(ids)
  }

  noteReturned(ids: number): void {
    this.#opened.callers?.returned(ids, ids)
  }

  ledHere(): Promise<OpenGenerator> {
    return this.#following((generator) => generator.#ifLedHere())
  }

  /** The standby that replaces it when this node stops leading it. */
  demoted(): OpenGenerator {
    const { cluster, waitersMax } = this.#deps
    return this.#with(standby(cluster!, this.name, waitersMax), this.#plan)
  }

  /** The generator that replaces it, a standby, when this node leads it and has its leftover range. */
  promoted(led: Parameters<typeof openWithLeftover>[2], leftover: Reservation): OpenGenerator {
    return this.#with(openWithLeftover(this.#plan, this.#incarnation, led, leftover), this.#plan)
  }

  /** What replaces it under a new definition and keeps its buffer; undefined if more than the sizes of refills differs. */
  resized(definition: Definition, plans: IssuingPlans): OpenGenerator | undefined {
    const { step, stepMax } = definition
    const sameBut = writeDefinition({ ...this.definition, step, stepMax })
    const { reservoir } = this.#opened
    if (sameBut !== writeDefinition(definition) || reservoir === undefined) return undefined
    if (step !== this.definition.step || stepMax !== this.definition.stepMax)
      reservoir.resize({ step: step!, stepMax: stepMax! })
    return this.#with(this.#opened, plans.of(definition))
  }

  /** The same incarnation and record version, with another issuer or definition. */
  #with(opened: OpenedIssuer, plan: IssuingPlan): OpenGenerator {
    return new OpenGenerator(this.#incarnation, this.version, plan, opened, this.#deps, this.formKey)
  }

  #following<Result>(ask: (generator: OpenGenerator) => Promise<Result>): Promise<Result> {
    return following<OpenGenerator, Result>(this, this.#deps.reopen, ask)
  }

  async #ifLedHere(): Promise<OpenGenerator> {
    if (this.mode === 'leader') await refuseUnlessLed(this.#deps.cluster, this)
    return this
  }

  async #skips(above: bigint, isSure: boolean): Promise<number> {
    await this.#ifLedHere()
    return skippedUpTo(above, this, this.#present.#issuer, this.#deps.engine, isSure)
  }

  #drawAny(count: number, options?: DrawOptions): Promise<Run[]> {
    return options?.above === undefined ? this.#draw(count, options) : this.#drawAbove(count, options)
  }

  async #drawAbove(count: number, options: DrawOptions): Promise<Run[]> {
    const above = aboveOf(this, options.above!, count)
    if (!options.force) await this.#skips(above, false)
    return this.#draw(count, { ...options, above })
  }

  #oneDraw(count: number): OneDraw {
    const values = this.format && this.#valuesOf(this.format)
    const commits = commitsOnce(this.#plan, this.#opened)
    return { values, commits, draw: (options) => this.#drawAny(count, options) }
  }

  #draw(count: number, options?: DrawOptions): Promise<Run[]> {
    if (options?.at !== undefined && this.definition.period === undefined)
      return drawPast(this.#plan, this.#incarnation, count, options)
    // The issuer of a generator with a gene reads it.
    if (options !== undefined && this.#plan.geneBits === 0) readGenes(this.name, 0, count, options)
    if (!options?.contiguous || this.contiguous) return this.#issuer.draw(count, options)
    throw new FahaoError('WRONGTYPE', `ids of '${this.name}' are not contiguous`)
  }

  async #leaseRange(ids: number): Promise<GeneratorRange> {
    const { callerRanges, scrambleKey } = this.#opened
    if (callerRanges === undefined) throw noRanges(this.name, this.#plan)
    const range = await callerRanges.reserve(ids)
    const { incarnation, definition, formKey } = this
    return { ...range, incarnation, definition, key: scrambleKey, formKey }
  }

  nextIsSafe(): boolean {
    return this.#present.#issuer.nextIsSafe()
  }

  lastIssued(): bigint | undefined {
    return this.#present.#issuer.lastIssued()
  }

  stats(): IssuerStats {
    const { callers } = this.#present.#opened
    const stats = this.#present.#issuer.stats()
    // A survey asks many, and a copy takes as long as the figures.
    return callers === undefined ? stats : { ...stats, ...callers.stats() }
  }

  /** This, or the one that has what it had before it was put to rest. */
  get #present(): OpenGenerator {
    return (this.isAtRest && this.#deps.find(this.name)) || this
  }

  /** Whether it was put to rest: what it had belongs to the generator that is found under its name. */
  get isAtRest(): boolean {
    return this.#opened.reservoir?.isAtRest === true
  }

  text(id: bigint): string {
    return this.format?.format(id, this.#valuesOf(this.format)) ?? String(id)
  }

  writer(): IdText | undefined {
    return this.format?.texts(this.#valuesOf(this.format))
  }

  #valuesOf({ needsTime }: Format): FormatValues {
    const { nodeIndex, timeline } = this.#deps
    return { node: nodeIndex?.value, unixUs: needsTime ? timeline.burstUs() : undefined }
  }

  parse(text: string): bigint {
    return readId(this.name, text, this.format)
  }

  moveTo(newest: bigint, options: MoveOptions = {}): Promise<void> {
    return this.#following(async (generator) => {
      if (generator.kind !== this.kind) throw justChanged(this.name)
      const led = await generator.#ifLedHere()
      refuseMove(led, newest, options.force ?? false)
      await led.#issuer.moveTo(newest)
    })
  }

  /** Whether it holds ids for times without requests as well: those of a step, or time of the clock. */
  get keepsIds(): boolean {
    return this.issuesHere && !isBatched(this.mode, this.definition) && this.definition.step !== 0
  }

  /** Whether it holds much more than is used: its step is adaptive, and it was used more before. */
  get holdsSpare(): boolean {
    return this.#opened.reservoir?.holdsSpare === true
  }

  /** Looks at it: whether something was asked of it since the last look, also by callers that issue themselves. */
  noteUse(nowUs: number): boolean {
    const activity = this.#activity()
    if (activity === this.#seen) return false
    this.#seen = activity ?? -1
    this.usedUs = nowUs
    return true
  }

  /** Undefined while a caller waits. */
  #activity(): number | undefined {
    const { reservoir, callers } = this.#opened
    if (reservoir !== undefined && callers === undefined) return reservoir.activity
    const { issued, waits, waiting, leased, drawn, returned } = this.stats()
    return waiting > 0 ? undefined : issued + waits + leased + drawn + returned
  }

  /** Throws where an invariant of its issuer is broken. For tests. */
  assertInvariants(): void {
    this.#issuer.assertInvariants()
  }

  /** Stops issuing, rejects waiting calls with `reason`, and gives nothing back. */
  abandon(reason: Error): Promise<void> {
    this.#opened.callerRanges?.close(reason)
    return this.ledIssuer?.abandon(reason) ?? this.#issuer.close(reason)
  }

  /** Stops issuing, rejects waiting calls with `reason`, and releases what can be released. */
  close(reason: Error): Promise<void> {
    this.#opened.callerRanges?.close(reason)
    return this.#issuer.close(reason)
  }
}
