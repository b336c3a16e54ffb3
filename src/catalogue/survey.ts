/**
 * A look over all generators that are open here: what they have issued together, and which issue most. It is done in parts, wakes
 * none, and makes no object for one at rest.
 *
 * Invariants
 *  1. Nothing is counted twice: what has left memory is read before the first look, so one that leaves or comes back meanwhile
 *     is counted once, or not in this survey.
 *  2. At most twice as many as are wanted are remembered.
 */
import type { Parts } from '../base/turns.ts'
import type { Survey } from './catalogue.ts'
import type { EndedFigures } from './ended-figures.ts'
import type { NameTable } from './name-table.ts'
import type { OpenGenerator } from './open-generator.ts'
import type { RestingGenerators } from './resting-generators.ts'

/** How many generators, and how many rows without one, are looked at in a part. */
const [lookedAtTogether, rowsTogether] = [1000, 20_000] as const

/** What has the open generators. */
type Surveyed = {
  readonly names: Pick<NameTable<OpenGenerator>, 'awakeAt' | 'nameOf' | 'end'>
  readonly resting: Pick<RestingGenerators, 'issuedAt'>
  readonly ended: { readonly figures: EndedFigures }
}

type Busy = { readonly name: string; readonly ratePerSecond: number }

/** Looks over all generators. `most`: how many of the busiest are wanted. */
export function* surveyOf({ names, resting, ended }: Surveyed, most: number): Parts<Survey> {
  let { issued } = ended.figures
  const busy: Busy[] = []
  let least = 0
  let looked = 0
  const keepBusiest = () => {
    busy.sort((a, b) => b.ratePerSecond - a.ratePerSecond)
    busy.splice(most)
    if (busy.length === most) least = busy.at(-1)?.ratePerSecond ?? 0
  }
  for (let entry = 1; entry < names.end; entry++) {
    const awake = names.awakeAt(entry)
    const found =
      awake === undefined ? resting.issuedAt(entry) : (awake.reservoir?.issuedHere() ?? awake.stats())
    if (found !== undefined) {
      issued += found.issued
      const { ratePerSecond } = found
      if (ratePerSecond > least) busy.push({ name: awake?.name ?? names.nameOf(entry), ratePerSecond })
      if (busy.length >= 2 * most) keepBusiest()
    }
    looked += found === undefined ? lookedAtTogether / rowsTogether : 1
    if (looked < lookedAtTogether) continue
    looked = 0
    yield
  }
  keepBusiest()
  return { issued, busiest: busy.map(({ name }) => name) }
}
