/** A page of those generators whose names match a pattern. */
import { globMatches } from '../../base/glob.ts'
import type { Catalogue } from '../../catalogue/catalogue.ts'

type ListedGenerator = Awaited<ReturnType<Catalogue['list']>>[number]

const chunk = 1000
/** One request reads at most this many, so that a rare pattern over a million names keeps nobody waiting. */
const chunksMax = 10

/** Up to `limit` matches after `after`, and where the next page starts; undefined on the last. */
export async function findPage(
  catalogue: Catalogue,
  pattern: string,
  after: string | undefined,
  limit: number,
): Promise<{ found: ListedGenerator[]; next: string | undefined }> {
  const found: ListedGenerator[] = []
  let last = after
  for (let chunks = 0; chunks < chunksMax; chunks++) {
    const size = pattern === '*' ? limit : chunk
    const read = await catalogue.list({ after: last, limit: size })
    for (const generator of read) {
      last = generator.name
      if (globMatches(pattern, generator.name)) found.push(generator)
      if (found.length === limit) return { found, next: last }
    }
    if (read.length < size) return { found, next: undefined }
  }
  return { found, next: last }
}
