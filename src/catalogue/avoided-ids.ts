/** The option `avoid`: words that no text of a generator contains. */
import { FahaoError } from '../base/errors.ts'
import { compileFormat } from '../ids/format.ts'
import type { Template } from '../ids/template.ts'
import { isWide } from '../ids/wide-format.ts'
import { AvoidedIds } from '../ids/words.ts'
import type { GeneratorOptions } from './generator-options.ts'

/** How many ids are looked at to learn what share of them is avoided. */
const looks = 500

/** The ids that a definition avoids; undefined: none. */
export function avoidedBy({
  avoid,
  format = '{id}',
}: Pick<GeneratorOptions, 'avoid' | 'format'>): AvoidedIds | undefined {
  if (avoid === undefined) return undefined
  return new AvoidedIds(avoid.split(','), templateOf(format))
}

function templateOf(format: string): Template {
  if (isWide(format)) throw refused(`the texts of ${format} are not read as words; leave avoid out`)
  // How wide a node is counts only where its digits do.
  return compileFormat(format, { nodeWidth: 1, anyZone: true }) as Template
}

/** Throws ERR where words cannot be avoided, or would leave less than half of the ids. */
export function refuseToAvoid(definition: GeneratorOptions): void {
  const { format = '{id}', within, family, gene, start = 0n, max = 0n } = definition
  if (family) throw refused('a family issues whole ranges for its names; leave avoid out')
  if (gene)
    throw refused('callers give the lowest bits of its ids, and with them the text; leave avoid or gene out')
  if (within === 'shuffled')
    throw refused('of a shuffled range all ids can have the same word; use scramble, or ids in order')
  const template = templateOf(format)
  if (template.shows !== undefined)
    throw refused(`the texts of each name have other words; leave avoid, or {${template.shows}}, out`)
  if (template.hasCheck && (template.needsNode || template.needsTime))
    throw refused('the check digits change with the node or the date; leave them, or avoid, out')
  const avoided = avoidedBy(definition)!
  let bad = 0
  for (let look = 0n; look < looks; look++) {
    const id = start + ((max - start) * ((look * 7919n) % BigInt(looks)) + look) / BigInt(looks)
    if (avoided.from(id) !== id) bad++
  }
  if (bad * 2 > looks)
    throw refused(
      `the words of avoid are in ${Math.round((bad * 100) / looks)} % of the texts; avoid fewer, or longer words`,
    )
}

function refused(why: string): FahaoError {
  return new FahaoError('ERR', why)
}
