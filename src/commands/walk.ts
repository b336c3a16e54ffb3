/** Every generator in byte order of names, a page at a time, for commands that read all of them. */
import { FahaoError } from '../base/errors.ts'
import type { Definition } from '../catalogue/definition.ts'
import { everyPage } from '../engine/pages.ts'
import type { CommandContext } from './context.ts'

/** How many names one read of the catalogue returns. */
export const walkPage = 1000

/** What `everyGenerator` returns. */
type WalkOptions = { readonly after?: string | undefined; readonly page?: number }

/**
 * The generators after `after` that the user may name, read in pages of `page`. ABORTED if the client's connection has
 * ended.
 */
export async function* everyGenerator(
  { catalogue, session }: CommandContext,
  { after, page = walkPage }: WalkOptions = {},
): AsyncGenerator<{ name: string; definition: Definition }> {
  const pages = everyPage<{ name: string; definition: Definition }>(page, (last) => {
    if (session.signal.aborted) throw new FahaoError('ABORTED', 'the connection has ended')
    return catalogue.list({ after: last?.name ?? after, limit: page })
  })
  for await (const found of pages) {
    for (const generator of found) if (session.access.reaches(generator.name)) yield generator
  }
}
