/** Generators that come into being when they are first asked for. */
import { hasCode } from '../base/errors.ts'
import { globMatches } from '../base/glob.ts'
import type { Kind } from '../issuing/issuer.ts'
import type { GeneratorRecords } from './generator-records.ts'
import { parseOptions } from './options.ts'
import type { ReadGenerator } from './stored.ts'

/** Names of this pattern become generators of this kind. */
export type AutoCreate = { readonly pattern: string; readonly kind: Kind }

/** Creates the generator that the first rule for its name asks for; undefined: there is none. */
export async function autoCreate(
  records: GeneratorRecords,
  rules: readonly AutoCreate[],
  name: string,
): Promise<ReadGenerator | undefined> {
  const kind = rules.find(({ pattern }) => globMatches(pattern, name))?.kind
  if (kind === undefined) return undefined
  try {
    return await records.create(name, parseOptions({ kind }))
  } catch (error) {
    // Another request has just created it as something else: then that is what it is.
    if (hasCode(error, 'EXISTS')) return records.live(name)
    throw error
  }
}
