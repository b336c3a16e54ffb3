/** `Catalogue.page` over names in memory, and the whole list of a catalogue. */
import { everyName } from '../../../src/auth/name-ranges.ts'
import { compareBytes } from '../../../src/base/byte-order.ts'
import type { Catalogue, ListedGenerator, ListPart, PartOfList } from '../../../src/catalogue/catalogue.ts'

/** A part of a list of these generators. */
export function partOf(
  all: Iterable<ListedGenerator>,
  { ranges = everyName, after, looks, wanted = () => true }: PartOfList,
): ListPart {
  const looked = [...all]
    .filter(({ name }) =>
      ranges.some(({ prefix, isExact }) => (isExact ? name === prefix : name.startsWith(prefix))),
    )
    .filter(({ name }) => after === undefined || compareBytes(name, after) > 0)
    .sort((a, b) => compareBytes(a.name, b.name))
    .slice(0, looks)
  const found = looked
    .filter(({ name }) => wanted(name))
    .map(({ name, definition }) => ({ name, definition }))
  return { found, next: looked.length < looks ? undefined : looked.at(-1)!.name }
}

/** Every generator of a catalogue, read in parts of `looks` names. */
export async function allOf(catalogue: Pick<Catalogue, 'page'>, looks = 1000): Promise<ListedGenerator[]> {
  const all: ListedGenerator[] = []
  for (let after: string | undefined; ; ) {
    const { found, next } = await catalogue.page({ looks, after })
    all.push(...found)
    if (next === undefined) return all
    after = next
  }
}
