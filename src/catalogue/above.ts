/** `ABOVE`: ids that are larger than a number, and how many others a draw of them skips. */
import { advising } from '../base/advice.ts'
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { countBelow, firstFrom } from '../ids/run.ts'
import type { Issuer } from '../issuing/issuer.ts'
import type { IssuingMode } from './catalogue.ts'
import { type Definition, isInOrder } from './definition.ts'

/** How many ids are skipped at most where the generator has no JUMP. */
const jumpDefault = 1_000_000n

/**
 * The number that ids are to be above; with genes, the last one of its block. Throws ERR unless it is whole, WRONGTYPE where ids
 * above it are no later ones, EXHAUSTED where there are fewer than `count`.
 */
export function aboveOf(
  { name, definition }: Pick<Known, 'name' | 'definition'>,
  given: bigint | number,
  count: number,
): bigint {
  const why = whyNot(definition)
  if (why !== undefined)
    throw new FahaoError('WRONGTYPE', `'${name}' is a ${why}; ABOVE is for sequences and ordered segments`)
  const isWhole = typeof given === 'bigint' || Number.isSafeInteger(given)
  if (!isWhole || given < 0) throw new FahaoError('ERR', 'ABOVE must be a whole number, 0 or more')
  const { gene = 0, increment, offset, max } = definition
  const above = BigInt(given) | (2n ** BigInt(gene) - 1n)
  if (countBelow(firstFrom(above + 1n, increment!, offset!), max! + 1n, increment!) >= count) return above
  const what = count === 1 ? 'no id' : `no ${count} ids`
  throw new FahaoError('EXHAUSTED', `'${name}' has ${what} above ${given}: its largest is ${max}`)
}

function whyNot(definition: Definition): string | undefined {
  const { kind, max, incrementRange, ledger } = definition
  if (ledger) return `${kind} with a ledger, whose numbers are reserved by ID.RESERVE`
  if (max === undefined) return `${kind}, which follows the clock`
  if (!isInOrder(definition)) return `${kind} whose ids are in no order`
  if (incrementRange === undefined) return undefined
  return `${kind} whose ids are ${incrementRange} apart, so that it is unknown how many are skipped`
}

/** A generator as a node knows it that issues it. */
type Known = {
  readonly name: string
  readonly definition: Definition
  readonly mode: IssuingMode
  readonly counter: string
  readonly floor: bigint
}

/**
 * How many ids a draw above a number skips at most. Rejects with LIMIT where these are too many. Where other nodes issue as well, it
 * counts their ids among them, unless `isSure`: then the store is asked.
 */
export async function skippedUpTo(
  above: bigint,
  { name, definition, mode, counter, floor }: Known,
  issuer: Pick<Issuer, 'lastIssued' | 'passed' | 'stats'>,
  engine: Pick<Engine, 'counter'>,
  isSure: boolean,
): Promise<number> {
  const last = issuer.passed?.() ?? issuer.lastIssued() ?? floor - 1n
  const after = (id: bigint) => (above > id ? (above - id) / BigInt(definition.increment!) : 0n)
  const { jump = jumpDefault } = definition
  let skipped = after(last)
  // The counter of a generator with periods holds its mark, and no id.
  const isShared = definition.period === undefined && (mode === 'node' || mode === 'group commit')
  if (skipped > (isSure ? 0n : jump) && isShared) {
    const { bound } = await engine.counter(counter)
    // Those that are buffered here, and those that no node has yet.
    const dropped = BigInt(issuer.stats().inHand) + after(bound - 1n)
    if (dropped < skipped) skipped = dropped
  }
  if (skipped <= jump) return Number(skipped)
  throw advising('LIMIT', (say) => {
    const raise = say({ operation: 'id.alter', name, options: { jump: undefined } })
    return `ABOVE ${above} skips ${skipped} ids of '${name}', and at most ${jump} are skipped at once; if it is meant, repeat it with FORCE, which needs the permission manage, or allow more with ${raise}`
  })
}
