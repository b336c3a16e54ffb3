/** Lists that are read a page at a time. */
import type { Engine, StoredRecord } from './engine.ts'
import { nextTurn } from './next-turn.ts'

const pageSize = 1000

/**
 * Yields page after page, up to the first that is not full.
 * @param read reads the page after an item; undefined: the first page.
 */
export async function* everyPage<Item>(
  size: number,
  read: (last: Item | undefined) => Promise<readonly Item[]>,
): AsyncGenerator<readonly Item[]> {
  for (let last: Item | undefined; ; ) {
    const page = await read(last)
    yield page
    if (page.length < size) return
    last = page.at(-1)
  }
}

/**
 * All records whose key starts with `prefix`, in byte order of their keys. See `Engine.list` on concurrent writes. Others
 * run between two pages, also where an engine answers at once.
 */
export async function listAll(engine: Pick<Engine, 'list'>, prefix: string): Promise<StoredRecord[]> {
  const pages = everyPage<StoredRecord>(pageSize, (last) =>
    engine.list(prefix, { after: last?.key, limit: pageSize }),
  )
  const records: StoredRecord[] = []
  for await (const page of pages) {
    records.push(...page)
    if (page.length === pageSize) await nextTurn()
  }
  return records
}
