/** What the catalogue's callers make of what it says: as servers draw ids, and as they tell errors to clients. */
import { describe, FahaoError } from '../../src/base/errors.ts'
import { Moved } from '../../src/base/moved.ts'
import type { Catalogue, Generator } from '../../src/catalogue/catalogue.ts'
import { Run } from '../../src/ids/run.ts'
import type { Request } from './program.ts'

/** Ids, and the generator that has issued them, where that is certain. */
export type Drawn = { readonly generator: Generator | undefined; readonly runs: readonly Run[] }

/** Ids as a server draws them: buffered ids, or else it waits for more. The buffer may have fewer than are asked for. */
export function drawn(catalogue: Catalogue, request: Request): Drawn | Promise<Drawn> {
  const { generator: name, count, contiguous = false, at } = request
  const generator = catalogue.find(name)
  const run = new Run()
  if (generator !== undefined && !contiguous && at === undefined && generator.take(count, run) > 0)
    return { generator, runs: [run] }
  return waited(catalogue, request)
}

function waited(
  catalogue: Catalogue,
  { generator: name, count, contiguous = false, signal, at }: Request,
): Promise<Drawn> {
  return catalogue.whenOpen(name, async (generator) => {
    const { gene: bits } = generator.definition
    const gene = bits && geneFor(count, bits)
    const runs = await generator.draw(count, { contiguous, gene, at, ...(signal && { signal }) })
    // While this waited it may have been altered, and have gone on as that.
    return { generator: catalogue.find(name) === generator ? generator : undefined, runs }
  })
}

/** The smallest gene, the largest, or one between them. */
export function geneFor(count: number, bits: number): number {
  const most = 2 ** bits - 1
  return [0, most, count & most][count % 3]!
}

/** What a client hears of what `work` says. */
export async function answered<Value>(
  work: () => Promise<Value>,
): Promise<Value | { readonly moved: string } | { readonly down: string; readonly code: string }> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Moved) return { moved: error.details.resp! }
    if (error instanceof FahaoError) return { down: describe(error), code: error.code }
    throw error
  }
}
