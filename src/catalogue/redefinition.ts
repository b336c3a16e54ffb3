/** What a change of options makes of a definition, and which changes are refused. */
import { FahaoError } from '../base/errors.ts'
import { larger } from '../engine/advance-rules.ts'
import { isWide } from '../ids/wide-format.ts'
import {
  type Definition,
  define,
  differences,
  keptOptions,
  optionsOf,
  withoutDistances,
} from './definition.ts'
import { type GeneratorInput, type GeneratorOptions, optionText, parseOptions } from './generator-options.ts'
import { withoutPeriod } from './periods.ts'
import type { StoredGenerator } from './stored-generator.ts'

/** A definition after changes. Options that `changes` does not name stay, also under another kind. */
export function redefine(
  { definition: before, offsetGiven }: StoredGenerator,
  changes: Partial<GeneratorInput>,
  nowUs: number,
): Definition {
  const { kind = before.kind, ledger } = parseOptions({ kind: before.kind, ...changes })
  const all = kind === before.kind ? optionsOf(before) : keptOptions(before, kind)
  const apart = before.gene !== undefined || Number(changes.gene ?? 0) > 0 ? withoutDistances(all) : all
  const kept =
    changes.period === undefined && changes.width === undefined ? apart : withoutPeriod(apart, changes)
  // Of the values of a definition, this one alone has another form as an option.
  const step = kept.step === undefined ? undefined : optionText('step', kept.step)
  const options = parseOptions({
    ...kept,
    step,
    ...(ledger === false && { hold: undefined }),
    ...changes,
    kind,
  })
  const isSame = options.increment === optionsOf(before).increment
  const keepsOffset = isSame || (offsetGiven && typeof options.increment === 'number')
  if (keepsOffset || changes.offset !== undefined) return refuseOtherLayout(before, define(options, nowUs))
  // The offset belongs to the old increment; the first id of the next incarnation decides.
  const { offset: _, ...others } = options
  return define(others, nowUs)
}

/** Whether the offset of an altered generator was given by a user. With an increment of 1 there is none to give. */
export function isOffsetGiven(
  before: StoredGenerator,
  changes: Partial<GeneratorInput>,
  { increment = 1, gene }: Definition,
): boolean {
  return increment > 1 && gene === undefined && (changes.offset !== undefined || before.offsetGiven)
}

/** A floor is of all sections of a family, also those that are not in use: an incarnation begins above it. */
export function nextFloor(
  before: StoredGenerator,
  floor: bigint,
): Pick<StoredGenerator, 'incarnation' | 'floor'> {
  return { incarnation: before.incarnation + 1n, floor: larger(before.floor, floor) }
}

/** The error where an alteration makes a family of a generator, or the other way round. */
export function familyStays(name: string): FahaoError {
  return new FahaoError(
    'ERR',
    `a generator cannot become a family, nor a family a generator; drop '${name}', and create what you want under names of the same kind`,
  )
}

/** Throws ERR if `after` permutes ids over another domain than `before`. */
export function refuseOtherDomain(name: string, before: Definition, after: Definition): void {
  if ((!after.scramble && !before.scramble) || after.max === before.max) return
  throw new FahaoError(
    'ERR',
    `max is the domain that '${name}' scrambles; another would repeat ids: use another name`,
  )
}

/**
 * `after`; throws ERR if the texts of two layouts would begin with the same time, where another raw id can have the same bits in front of
 * the keyed ones.
 */
function refuseOtherLayout(before: Definition, after: Definition): Definition {
  const both = [before, after].every(({ format, layout }) => isWide(format) && layout !== undefined)
  if (!both || after.layout === before.layout || after.format === 'uuidv8') return after
  throw new FahaoError(
    'ERR',
    `texts of the format ${after.format} are unique for ids of one layout; use another name, or alter the format too: to uuidv8, or to a template`,
  )
}

/** The error where a row of another system's table would begin an incarnation. */
export function rowHasNoIncarnations(name: string, table: string): FahaoError {
  return new FahaoError(
    'ERR',
    `generator '${name}' is a row of ${table}, and its old nodes know no NOW; leave NOW out, and restart those nodes`,
  )
}

/** Throws EXISTS if the stored definition differs in an option that was given. */
export function refuseDifferent(
  name: string,
  options: GeneratorOptions,
  wanted: Definition,
  stored: Definition,
): void {
  const asked = new Set<string>(
    Object.keys(options).map((option) => (option === 'epoch' ? 'layout' : option)),
  )
  const different = differences(wanted, stored).filter((option) => asked.has(option))
  if (different.length === 0) return
  const list = different.map(
    (option) => `${option} is ${textOf(stored, option)}, not ${textOf(wanted, option)}`,
  )
  throw new FahaoError(
    'EXISTS',
    `generator '${name}' exists and differs: ${list.join('; ')}; alter it, or use another name`,
  )
}

function textOf(definition: Definition, option: ReturnType<typeof differences>[number]): string {
  const value = optionsOf(definition)[option]
  return value === undefined ? 'not set' : optionText(option, value)
}

/** The error for the creation of a name that a family has. */
export function inFamily(name: string): FahaoError {
  return new FahaoError('EXISTS', `'${name}' is a name of a family, and so a sequence; it needs no creation`)
}

/** The error for a change that other changes kept coming before. */
export function contended(name: string): FahaoError {
  return new FahaoError(
    'CONFLICT',
    `generator '${name}' is being changed by other clients; look at it again and retry`,
  )
}
