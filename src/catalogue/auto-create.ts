/** Generators that are created when their names are first asked for. */
import { hasCode } from '../base/errors.ts'
import { globMatches } from '../base/glob.ts'
import { optionsAtFirstUse } from './definition.ts'
import type { AutoCreate } from './deps.ts'
import type { GeneratorLimits } from './generator-limits.ts'
import { parseOptions } from './generator-options.ts'
import type { GeneratorRecords } from './generator-records.ts'
import type { ReadGenerator } from './stored-generator.ts'

/** Creates a generator by the first rule for its name; undefined: there is no rule. LIMIT if a namespace is full. */
export async function createByRule(
  rules: readonly AutoCreate[],
  records: GeneratorRecords,
  limits: GeneratorLimits,
  name: string,
): Promise<ReadGenerator | undefined> {
  const kind = rules.find(({ pattern }) => globMatches(pattern, name))?.kind
  if (kind === undefined) return undefined
  try {
    return await limits.admit(name, () => records.create(name, parseOptions(optionsAtFirstUse(kind))))
  } catch (error) {
    // Another request has just created it with another definition, which counts.
    if (hasCode(error, 'EXISTS')) return records.live(name)
    throw error
  }
}
