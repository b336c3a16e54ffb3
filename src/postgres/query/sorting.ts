/** ORDER BY, of queries, aggregates and windows. */
import type { Node } from 'libpg-query'
import type { Expression, Frame } from './analysed.ts'
import { isOrdered } from './operators.ts'
import { refused } from './tree.ts'
import { formatType, oids } from './types.ts'
import { compareValues } from './values.ts'

/** What frames are sorted by. */
export type SortKey = {
  readonly key: Expression
  readonly isDescending: boolean
  readonly nullsFirst: boolean
}

/** An element of ORDER BY. Throws 0A000 for values without an order. @param analyse gives the expression of its node. */
export function sortKeyOf(node: Node, analyse: (node: Node | undefined) => Expression): SortKey {
  if (!('SortBy' in node) || node.SortBy.sortby_dir === 'SORTBY_USING') throw refused('This form of ORDER BY')
  const { sortby_dir, sortby_nulls, node: value } = node.SortBy
  const key = analyse(value)
  if (key.type !== oids.unknown && !isOrdered(key.type)) throw refused(`ORDER BY ${formatType(key.type)}`)
  const isDescending = sortby_dir === 'SORTBY_DESC'
  const isDefault = sortby_nulls === undefined || sortby_nulls === 'SORTBY_NULLS_DEFAULT'
  return { key, isDescending, nullsFirst: isDefault ? isDescending : sortby_nulls === 'SORTBY_NULLS_FIRST' }
}

/** The order of frames by some keys. */
export function comparing(keys: readonly SortKey[]): (left: Frame, right: Frame) => number {
  return (left, right) => {
    for (const { key, isDescending, nullsFirst } of keys) {
      const [a, b] = [key.run(left), key.run(right)]
      if (a === null || b === null) {
        if (a === b) continue
        return (a === null) === nullsFirst ? -1 : 1
      }
      const order = compareValues(a, b)
      if (order !== 0) return isDescending ? -order : order
    }
    return 0
  }
}
