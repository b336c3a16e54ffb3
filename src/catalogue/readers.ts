/**
 * What those risk who read rows in the order of their ids, and poll by `id > last`: a row with a smaller id may appear after one
 * with a larger id. docs/concepts/readers.md has the recipes.
 */
import { isStrict } from '../issuing/issuer.ts'
import type { GeneratorInfo } from './catalogue.ts'
import { isInOrder, layoutOf } from './definition.ts'

/** The time that an application has to bound: only it knows when a row is there. */
const longest = 'the longest time from a draw to the commit of its row'
const otherwise = 'read by a column or a log of the database'

/** What a reader of a generator risks, and how far behind the newest id it has to stay, in one sentence. */
export function adviceForReaders({ definition, stats }: Pick<GeneratorInfo, 'definition' | 'stats'>): string {
  const { kind, family } = definition
  if (!isInOrder(definition))
    return `its ids have no order: no distance is enough for id > last; ${otherwise}`
  if (isStrict(kind)) {
    const each = family ? 'each name by itself is' : 'ids are'
    return `${each} in the order of draws, and rows in that of commits: draw an id as a mark, wait for ${longest}, and read up to the mark`
  }
  if (kind === 'segment') {
    const leased = (stats?.leased ?? 0) > 0 ? ', and callers have leased some' : ''
    return `each node, and each caller that leases, issues from ranges of its own${leased}, so a smaller id may come at any time later: no distance is enough for id > last; ${otherwise}. Where one node issues alone and leases none, read as with a sequence`
  }
  const limit = limitOf(layoutOf(definition))
  if (limit === undefined)
    return `its ids are not in the order of time, which other bits stand above: no distance is enough for id > last; ${otherwise}`
  return `ids are in the order of time as far as clocks agree: read those that are older than ${longest} and the largest difference of clocks together, which are those below ${limit}`
}

/** The least id of a moment, as an expression; undefined where ids are not in the order of time. */
function limitOf({
  fields,
  timeShift,
  unitUs,
  epochUs,
  fixed,
}: ReturnType<typeof layoutOf>): string | undefined {
  if (fields.find(({ field }) => field !== 'fixed')?.field !== 'time') return undefined
  const unit = unitUs === 1000 ? '' : ` / ${unitUs / 1000}`
  const above = (fixed >> BigInt(timeShift)) << BigInt(timeShift)
  const more = above === 0n ? '' : ` + ${above}`
  return `floor((now_ms - lag_ms - ${epochUs / 1000})${unit}) * ${2n ** BigInt(timeShift)}${more}`
}
