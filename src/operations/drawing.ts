/** Draws of ids, and what all of them check: which generator, and how many. */
import { FahaoError } from '../base/errors.ts'
import { batchMax } from '../buffers/clock-buffer.ts'
import type { Catalogue, Generator } from '../catalogue/catalogue.ts'
import { type Definition, geneBitsOf, isCounter, isInOrder, layoutOf } from '../catalogue/definition.ts'
import type { DrawnOnce } from '../catalogue/once.ts'
import { type IdInput, needsGene } from '../ids/gene.ts'
import { type Range, rangesOf } from '../ids/run.ts'
import type { DrawOptions } from '../issuing/issuer.ts'
import type { OperationContext } from './context.ts'
import { type IssuedIds, IssuedTexts } from './issued-texts.ts'
import { generatorOperation } from './operation.ts'

/** Ids of a generator. */
type Draw = { readonly name: string; readonly count: bigint }

/** Ids, and what their callers give for them. */
type FullDraw = Draw & IdInput & { /** Without the format of the generator. */ readonly isRaw?: boolean }

/** Issues ids, all or none, as ID.NEXT does. */
export const nextOperation = generatorOperation({
  name: 'id.next',
  permission: 'issue',
  run: (context: OperationContext, draw: FullDraw): Promise<IssuedIds> => issuedTexts(context, draw),
})

/** Issues ids that follow one another, all or none, as INCRBY does; returns the first. */
export const blockOperation = generatorOperation({
  name: 'incrby',
  permission: 'issue',
  async run({ catalogue, caller, server }: OperationContext, { name, count }: Draw): Promise<bigint> {
    const checked = checkedCount(count, server.incrByMax, 'increment')
    const [run] = await catalogue.whenOpen(name, (generator) => {
      checkContiguous(generator, checked)
      return generator.draw(checked, { contiguous: checked > 1, signal: caller.signal })
    })
    return run!.first
  },
})

/** See `nextOperation`. */
export async function issuedTexts(
  { catalogue, caller, server }: OperationContext,
  { name, count, isRaw, ...given }: FullDraw,
): Promise<IssuedTexts> {
  const checked = checkedCount(count, server.countMax, 'COUNT')
  return catalogue.whenOpen(name, async (generator) => {
    const { runs, text } = await drawFor(
      generator,
      checked,
      { ...given, signal: caller.signal },
      caller.access.user,
    )
    return new IssuedTexts(runs, isRaw ? undefined : text)
  })
}

/** Ids, and what writes their texts; undefined: decimal digits. */
export type Drawn = Pick<DrawnOnce, 'runs' | 'text'>

/** Draws ids, once for the key of the request if it has one. `user`: whose key it is. */
export async function drawFor(
  generator: Generator,
  count: number,
  options: DrawOptions,
  user: string,
): Promise<Drawn> {
  const { key } = options
  if (key !== undefined) return generator.drawOnce(count, { ...options, key, user })
  const runs = await generator.draw(count, options)
  return { runs, text: generator.writer() }
}

/** Refuses a block of ids of a generator whose ids do not follow one another: WRONGTYPE. */
export function checkContiguous({ name, contiguous, definition }: Generator, count: number): void {
  if (contiguous) return
  refuseWithGene(name, definition)
  throw new FahaoError(
    'WRONGTYPE',
    `'${name}' issues no contiguous blocks; use ID.NEXT ${name} COUNT ${count}`,
  )
}

/** Refuses what gives no gene, where one is needed: ERR. */
function refuseWithGene(name: string, definition: Definition): void {
  const bits = geneBitsOf(definition)
  if (bits > 0) throw needsGene(name, bits)
}

/** Opens an existing generator: NOGENERATOR instead of an auto-create. */
export async function existing(catalogue: Catalogue, name: string): Promise<Generator> {
  const inUse = catalogue.find(name)
  if (inUse !== undefined) return inUse
  await catalogue.info(name)
  return catalogue.open(name)
}

/** A number of ids, 1 to `max`. */
export function checkedCount(value: bigint, max: number | bigint, what: string): number {
  if (value < 1n) throw new FahaoError('ERR', `${what} must be at least 1`)
  if (value > max) {
    throw new FahaoError('LIMIT', `${what} ${value} is above the limit of ${max}; ask for fewer at a time`)
  }
  return Number(value)
}

/** Issues ids as ranges. WRONGTYPE unless they follow one another, with `instead` to point elsewhere. */
export async function drawRanges(
  generator: Generator,
  count: number,
  instead: string,
  signal: AbortSignal,
): Promise<Range[]> {
  if (!generator.contiguous) {
    refuseWithGene(generator.name, generator.definition)
    throw new FahaoError(
      'WRONGTYPE',
      `'${generator.name}' does not issue its ids one apart and in order; ${instead}`,
    )
  }
  return rangesOf(await generator.draw(count, { signal }))
}

/** What `runsMax` has computed. */
const runsMaxOf = new WeakMap<Definition, number>()

/**
 * Refuses a number of ids as runs: WRONGTYPE where the ids are in no order, with `instead` to point elsewhere; LIMIT where
 * the number is above what the clock gives at one moment.
 */
export function checkRuns({ name, definition }: Generator, count: number, instead: string): void {
  refuseWithGene(name, definition)
  if (!isInOrder(definition)) {
    throw new FahaoError('WRONGTYPE', `'${name}' does not issue its ids in order; ${instead}`)
  }
  if (isCounter(definition.kind) || count === 1) return
  const max = runsMax(definition)
  if (count <= max) return
  throw new FahaoError(
    'LIMIT',
    `${count} ids are above the limit of ${max} at once that the clock of '${name}' allows; ask for fewer at a time, or raise borrowMax`,
  )
}

function runsMax(definition: Definition): number {
  const known = runsMaxOf.get(definition)
  if (known !== undefined) return known
  const max = batchMax(layoutOf(definition), definition.borrowMax! * 1000)
  runsMaxOf.set(definition, max)
  return max
}
