/**
 * The definition of a generator: its options made complete and consistent. Some options are fixed for an incarnation,
 * because their change could repeat an id; the others can be tuned at any time.
 */
import { FahaoError } from '../base/errors.ts'
import { firstBlock } from '../ids/gene.ts'
import type { Layout } from '../ids/layout.ts'
import { formatLayout, parseLayout } from '../ids/layout-text.ts'
import { max53, max63 } from '../ids/limits.ts'
import { checkTemplate } from '../ids/name-template.ts'
import { withPast } from '../ids/past.ts'
import { isScattered } from '../ids/scatter.ts'
import { isWide } from '../ids/wide-format.ts'
import type { Kind } from '../issuing/issuer.ts'
import type { IssuingOptions } from '../issuing/issuer-factory.ts'
import { refuseToAvoid } from './avoided-ids.ts'
import { formatIn } from './definition-formats.ts'
import { type GeneratorInput, type GeneratorOptions, optionText } from './generator-options.ts'
import { maxOf, type PeriodDefinition, periodOptions, periodPart } from './periods.ts'

/** A complete definition. Options that a kind does not take are undefined. */
export type Definition = IssuingOptions &
  PeriodDefinition & {
    readonly start?: bigint
    readonly format?: string
    /** Words that no text contains, in lower case, separated by commas. */
    readonly avoid?: string
    /** How many ids `ABOVE` skips at most; undefined: the default. */
    readonly jump?: bigint
    /** The names that its own is one of, with `{tenant}`, which formats can show. */
    readonly template?: string
    /** True: it defines all names of a family. Undefined otherwise. */
    readonly family?: true
  }

const counterOptions = [
  'family',
  'start',
  'increment',
  'offset',
  'gene',
  'max',
  'step',
  'stepMax',
  'within',
  'scramble',
  'avoid',
  ...periodOptions,
  'gaps',
  'jump',
  'ledger',
  'hold',
] as const
const clockOptions = ['layout', 'epoch', 'node', 'past', 'sequenceStart', 'borrowMax'] as const
/** Options that determine which ids there are, or their order. */
const promises = [
  'period',
  'ledger',
  'avoid',
  'gaps',
  'gene',
  'increment',
  'max',
  'within',
  'scramble',
] as const

/** Options that cannot change within an incarnation. */
export const fixedOptions = Object.freeze([
  'kind',
  'family',
  'start',
  'increment',
  'incrementRange',
  'offset',
  'gene',
  'within',
  'scramble',
  'layout',
  'node',
  ...periodOptions,
  'ledger',
] as const satisfies (keyof Definition)[])

/**
 * The options of a generator that its first request creates: there may be millions of them, most of them little used, and a
 * crash must not skip a step of each.
 */
export function optionsAtFirstUse(kind: Kind, options: Partial<GeneratorInput> = {}): GeneratorInput {
  return { ...(isCounter(kind) && { step: 'adaptive' as const }), ...options, kind }
}

/** Completes and checks options; ERR names those that contradict each other, and why. `nowUs`: Unix µs. */
export function define(options: GeneratorOptions, nowUs: number): Definition {
  const { kind } = options
  for (const [names, why] of notTaken(kind)) {
    const given = names.find((name) => options[name] !== undefined)
    if (given !== undefined) throw refused(`option '${given}' does not apply: ${why}`)
  }
  const layout = isCounter(kind) ? undefined : clockLayout(options, nowUs)
  const period = periodPart(options)
  const common = {
    kind,
    issueTimeout: options.issueTimeout ?? 2000,
    ...checkedFormat(options, layout, period),
  }
  const own =
    layout !== undefined ? clockPart(options, layout) : { ...counterPart(options, period), ...period }
  const definition: Definition = Object.freeze({ ...common, ...own })
  if (definition.avoid !== undefined) refuseToAvoid(definition)
  return definition
}

/**
 * The options of a definition that remain when its kind changes: every one that the next kind takes. ERR if the ids would
 * thereby lose a property that the change does not name.
 */
export function keptOptions(definition: Definition, kind: Kind): Omit<OptionsOfDefinition, 'kind'> {
  const before = optionsOf(definition)
  const lost = new Set(notTaken(kind).flatMap(([names]) => names as readonly string[]))
  const { kind: _, format, ...options } = before
  const usual = isCounter(before.kind)
    ? counterPart({ kind: before.kind, ...(format !== undefined && { format }) })
    : {}
  const missed = promises.find((name) => lost.has(name) && before[name] !== usual[name])
  if (missed !== undefined) {
    const [is, shall] = [before, usual].map((each) => optionText(missed, each[missed]))
    throw refused(`a ${kind} cannot keep ${missed} ${is}; alter ${missed} to ${shall} first`)
  }
  const kept = Object.entries({ ...options, format }).filter(([name]) => !lost.has(name))
  return Object.fromEntries(kept) as Omit<OptionsOfDefinition, 'kind'>
}

/** A definition as options: a random increment as its range. */
export function optionsOf({ incrementRange, ...options }: Definition): OptionsOfDefinition {
  return incrementRange === undefined ? options : { ...options, increment: incrementRange }
}

type OptionsOfDefinition = Omit<Definition, 'increment' | 'incrementRange'> & {
  readonly increment?: number | string
}

/** How many of the lowest bits of an id its caller gives. Asked with each request: most layouts need not be read for it. */
export function geneBitsOf({ gene = 0, layout }: Definition): number {
  if (layout === undefined) return gene
  return layout.includes('gene:') ? parseLayout(layout).geneBits : 0
}

/** The layout of a clock kind. */
export function layoutOf(definition: Definition): Layout {
  return parseLayout(definition.layout)
}

/** Whether the ids that a node issues increase. */
export function isInOrder({ within, scramble, layout }: Definition): boolean {
  return within !== 'shuffled' && scramble !== true && !isScattered(layout)
}

/** Whether ids increase by 1, and are issued in counting order. */
export function isContiguous(definition: Definition): boolean {
  const { increment, incrementRange, within, scramble, avoid } = definition
  const isPlain = within === 'ordered' && scramble === false && avoid === undefined
  return increment === 1 && !incrementRange && isPlain
}

/** The options in which two definitions differ. */
export function differences(a: Definition, b: Definition): (keyof OptionsOfDefinition)[] {
  const [one, other] = [optionsOf(a), optionsOf(b)]
  const names = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof OptionsOfDefinition>
  return [...names].filter((name) => one[name] !== other[name])
}

/** Options and values as people write them, in a stable order. */
export function definitionText(definition: Definition): [name: string, value: string][] {
  const options = optionsOf(definition)
  return Object.entries(definition.gene === undefined ? options : withoutDistances(options))
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, optionText(name, value)])
}

/** The options beside a gene, which the distances follow from. */
export function withoutDistances<Options extends Partial<OptionsOfDefinition>>({
  increment: _,
  offset: __,
  ...options
}: Options): Omit<Options, 'increment' | 'offset'> {
  return options
}

/** A definition in JSON: big integers and durations as text, small numbers as numbers. */
export type DefinitionJson = Readonly<Record<string, string | number | boolean>>

/** A definition as HTTP shows it and takes it. */
export function definitionJson(definition: Definition): DefinitionJson {
  const plain = (name: string, text: string) => {
    const value = optionsOf(definition)[name as keyof OptionsOfDefinition]
    if (typeof value === 'boolean') return value
    return typeof value === 'number' && text === String(value) ? value : text
  }
  return Object.fromEntries(definitionText(definition).map(([name, text]) => [name, plain(name, text)]))
}

function counterPart(options: GeneratorOptions, period?: PeriodDefinition): Partial<Definition> {
  const start = options.start ?? 1n
  const { gene, increment, incrementRange, offset } = distances(options, start)
  const most = period !== undefined ? maxOf(period) : options.family ? max53 : max63
  const written = options.format === undefined || period ? most : formatIn({ format: options.format })!.maxId
  const max = options.max ?? (written < most ? written : most)
  if (options.family) refuseInFamily(options, max)
  const gapless = options.gaps === 'none' || options.ledger === true
  if (gapless) refuseGaps(options)
  // Gaps in numbers that people write down are small.
  const step = options.step ?? (options.family || period ? 0 : 1000)
  const stepMax = options.stepMax ?? Math.max(step, 10_000_000_000)
  const shuffled = options.within === 'shuffled'
  if (offset >= BigInt(increment)) throw refused(`offset ${offset} is not below increment ${increment}`)
  if (start > max) throw refused(`start ${start} is above max ${max}`)
  if (gene !== undefined && firstBlock(start, gene) + offset > max)
    throw refused(
      `no block of ${increment} ids fits between start ${start} and max ${max}; give a larger max, or fewer bits of a gene`,
    )
  if (stepMax < step) throw refused(`stepMax ${stepMax} is below step ${step}`)
  if (options.kind === 'sequence' && (shuffled || options.scramble)) {
    throw refused('a sequence keeps strict order, which shuffling and scrambling give up; use kind segment')
  }
  if (options.scramble && increment !== 1)
    throw refused('scramble permutes [0, max] one by one; leave increment out')
  if (shuffled && options.scramble)
    throw refused('scramble moves every id already; leave within: shuffled out')
  return {
    ...(options.family && { family: true }),
    start,
    increment,
    ...(incrementRange !== undefined && { incrementRange }),
    offset,
    ...(gene !== undefined && { gene }),
    max,
    step,
    stepMax,
    horizon: options.horizon ?? 600_000,
    within: options.within ?? 'ordered',
    scramble: options.scramble ?? false,
    ...(options.avoid && { avoid: options.avoid }),
    ...(gapless && { gaps: 'none' as const }),
    ...(options.jump !== undefined && { jump: options.jump }),
    ...ledgerPart(options),
  }
}

const holdMs = 30_000
const holdMaxMs = 86_400_000

function ledgerPart(options: GeneratorOptions): Pick<Definition, 'ledger' | 'hold'> {
  const { ledger, hold = holdMs, increment = 1, offset = 0n, period } = options
  if (!ledger) {
    if (options.hold === undefined) return {}
    throw refused("option 'hold' is for a ledger; give LEDGER on, or leave it out")
  }
  const other = increment !== 1 ? 'increment' : offset !== 0n ? 'offset' : period ? 'period' : undefined
  if (other !== undefined) throw refused(`a ledger accounts for each number, one by one; leave ${other} out`)
  if (hold < 1 || hold > holdMaxMs) throw refused('hold must be 1ms to 24h')
  return { ledger: true, hold }
}

/** Refuses what leaves numbers out, where none may be. */
function refuseGaps({ kind, family, gene, avoid, increment }: GeneratorOptions): void {
  if (kind === 'segment')
    throw refused('a segment buffers ids on each node, which a crash skips; gaps none is of kind sequence')
  if (family) throw refused('the names of a family share one bound, and skip numbers; leave gaps none out')
  const other = gene ? 'gene' : avoid ? 'avoid' : undefined
  if (other !== undefined) throw refused(`${other} skips numbers; leave it out, or gaps none`)
  if (typeof increment === 'string')
    throw refused(`increment ${increment} skips numbers at random; leave it out, or gaps none`)
}

/** With a gene, ids are counted by the last one of each block that shares its upper bits (see gene-issuer.ts). */
function distances(
  { gene, increment, offset, scramble, within, family }: GeneratorOptions,
  start: bigint,
): Pick<Definition, 'gene' | 'incrementRange'> & Required<Pick<Definition, 'increment' | 'offset'>> {
  if (gene) {
    if (increment !== undefined || offset !== undefined)
      throw refused(`a gene of ${gene} bits sets ids ${2 ** gene} apart; leave increment and offset out`)
    if (scramble) throw refused('scramble moves every id, and its gene with it; leave one of them out')
    if (family) throw refused('the names of a family count by one; leave gene out')
    return { gene, increment: 2 ** gene, offset: 2n ** BigInt(gene) - 1n }
  }
  if (typeof increment !== 'string')
    return { increment: increment ?? 1, offset: offset ?? start % BigInt(increment ?? 1) }
  // Every value can be an id, and each is larger than the one before.
  if (offset) throw refused(`ids that are ${increment} apart have no residue in common; leave offset out`)
  const other = scramble ? 'scramble' : within === 'shuffled' ? 'within: shuffled' : undefined
  if (other !== undefined) throw refused(`increment ${increment} keeps ids in order; leave ${other} out`)
  return { increment: 1, incrementRange: increment, offset: 0n }
}

function refuseInFamily({ kind, increment = 1, format }: GeneratorOptions, max: bigint): void {
  if (kind !== 'sequence') throw refused('a family is of sequences; use kind sequence')
  if (increment !== 1) throw refused('the names of a family count by one; leave increment out')
  if (max > max53) throw refused(`max ${max} is above 2^53−1, where a family ends`)
  if (isWide(format))
    throw refused(`the names of a family share one key, so that ${format} would repeat; leave format out`)
}

function clockLayout(options: GeneratorOptions, nowUs: number): Layout {
  const named = options.layout ?? 'twitter'
  const asked =
    options.epoch === undefined
      ? named
      : typeof named === 'string'
        ? { layout: named, epoch: options.epoch }
        : { ...named, epoch: options.epoch }
  const parsed = parseLayout(asked, { nowUs })
  const layout = options.past ? withPast(parsed) : parsed
  if (!layout.issues) throw refused(`no ids can be issued from this layout: ${layout.decodeOnlyReason}`)
  return layout
}

function clockPart(options: GeneratorOptions, layout: Layout): Partial<Definition> {
  const timestamp = options.kind === 'timestamp'
  if (timestamp && layout.scatterBits > 0) {
    throw refused('a timestamp keeps strict order, which scatter gives up; use kind snowflake')
  }
  if (!timestamp && layout.nodeBits === 0) {
    throw refused('the layout has no node bits to tell nodes apart by; add some, or use kind timestamp')
  }
  const { format } = options
  if (
    format !== undefined &&
    formatIn({ format, layout: formatLayout(layout) })!.maxId < 2n ** BigInt(layout.totalBits) - 1n
  ) {
    throw refused(`format '${format}' is too narrow for ids of ${layout.totalBits} bits; leave the width out`)
  }
  const past = options.past || undefined
  if (past !== undefined && past > 2 ** layout.nodeBits)
    throw refused(`past ${past} is above the ${2 ** layout.nodeBits} lanes that the layout has; give fewer`)
  const node = options.node ?? 0
  if (timestamp && node >= 2 ** layout.nodeBits) {
    throw refused(`node ${node} does not fit the layout's ${layout.nodeBits} node bits`)
  }
  const borrowMax = options.borrowMax ?? 10_000
  // Without room to borrow, a batch would have to wait for a unit of time that happens to start low.
  const spreads = !timestamp && borrowMax > 0
  return {
    layout: formatLayout(layout),
    sequenceStart: options.sequenceStart ?? (spreads ? 'random' : 'zero'),
    borrowMax,
    ...(past !== undefined && { past }),
    ...(timestamp ? { node, horizon: options.horizon ?? 600_000 } : {}),
  }
}

function checkedFormat(
  { format, max, template, ledger }: GeneratorOptions,
  layout: Layout | undefined,
  period: PeriodDefinition | undefined,
): { format?: string; template?: string } {
  if (template) checkTemplate(template)
  const named = template ? { template } : {}
  if (format === undefined || format === '{id}') return named
  const compiled = formatIn({ format, ...(layout && { layout: formatLayout(layout) }), ...period })!
  const { maxId, shows, needsTime, needsNode } = compiled
  if (ledger && (needsTime || needsNode))
    throw refused('a number of a ledger has one text for ever; leave dates and {node} out of the format')
  if (shows === 'tenant' && !template)
    throw refused(`format '${format}' shows {tenant}; give a template of names too, such as invoice:{tenant}`)
  if (max !== undefined && max > maxId) {
    throw refused(`max ${max} does not fit format '${format}', which ends at ${maxId}`)
  }
  return { format, ...named }
}

/** Whether a kind is made of a counter and not of the clock. */
export function isCounter(kind: Kind): boolean {
  return kind === 'sequence' || kind === 'segment'
}

/** The options that a kind does not take, and why. */
function notTaken(kind: Kind): [names: readonly (keyof GeneratorOptions)[], why: string][] {
  if (isCounter(kind)) return [[clockOptions, `a ${kind} is made of a counter`]]
  const ofCounters: ReturnType<typeof notTaken> = [[counterOptions, `a ${kind} is made of the clock`]]
  if (kind === 'timestamp')
    return [
      ...ofCounters,
      [['past'], 'ids of a timestamp are in strict order, and those of past moments are not'],
    ]
  return [
    ...ofCounters,
    [['horizon'], 'the lead of snowflakes is a setting of the node, --lead'],
    [['node'], 'the node of a snowflake is the worker id of each node, --worker-id'],
  ]
}

function refused(why: string): FahaoError {
  return new FahaoError('ERR', why)
}
