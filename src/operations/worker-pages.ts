/** Pages of a list of worker ids: its arguments, and where the next page begins. */
import { z } from 'zod'
import { count, optional, wholeNumber } from './argument.ts'

/** The most worker ids of one page of a list. */
export const listedMax = 1000

/** The arguments of a page. */
export const pageArgs = {
  after: optional(wholeNumber('AFTER worker', [0, 65_535], 'the `next` of the page before')),
  limit: optional(count('COUNT count', listedMax, `how many at most (default ${listedMax})`)),
}

/** What a page has beside the worker ids. */
export const nextWorker = z
  .number()
  .nullable()
  .meta({ description: 'give it as `after` for the next page; null on the last' })

/** The page of at most `limit` worker ids, of one more that was `found` unless the page is the last. */
export function workersPage<Listed extends { readonly worker: number }>(
  found: readonly Listed[],
  limit: number,
): { readonly workers: Listed[]; readonly next: number | null } {
  const workers = found.slice(0, limit)
  return { workers, next: found.length > limit ? workers.at(-1)!.worker : null }
}
