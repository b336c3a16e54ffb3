/**
 * A look over all generators that are open here, in parts. It wakes none.
 *
 * Nothing is counted twice: what has left memory is read before the first look, so a generator that leaves or comes back meanwhile
 * is counted once, or not in this survey.
 */
import type { Parts } from '../base/turns.ts'
import type { IssuerStats } from '../issuing/issuer.ts'
import type { GeneratorInUse, Sample } from './catalogue.ts'
import type { Definition } from './definition.ts'
import type { EndedFigures } from './ended-figures.ts'
import { exhaustionUs, leftIds } from './info.ts'
import type { NameTable } from './name-table.ts'
import type { OpenGenerator } from './open-generator.ts'

/** How many generators, and how many rows without one, are looked at in a part. */
const [lookedAtTogether, rowsTogether] = [250, 10_000] as const

/** What has the open generators. */
type Surveyed = {
  readonly names: Pick<NameTable<OpenGenerator>, 'awakeAt' | 'nameOf' | 'end'>
  /** Those without objects. */
  readonly resting: { seenAt(entry: number): Seen | undefined }
  readonly ended: { readonly figures: EndedFigures }
}

/** What is seen of a generator in one moment. */
export type Seen = Pick<GeneratorInUse, 'definition' | 'mode' | 'leasedUpTo'> & {
  readonly stats: IssuerStats
  readonly lastIssued: bigint | undefined
}

/** Shows each generator to `see`. Its result is what was counted of those that have left memory. `nowUs`: Unix µs. */
export function* surveyOf(
  { names, resting, ended }: Surveyed,
  see: (sample: Sample) => void,
  nowUs: () => number,
): Parts<EndedFigures> {
  const left = { ...ended.figures }
  let us = nowUs()
  let looked = 0
  for (let entry = 1; entry < names.end; entry++) {
    const awake = names.awakeAt(entry)
    const seen = awake === undefined ? resting.seenAt(entry) : seenOf(awake)
    if (seen !== undefined) see(sampled(awake?.name ?? names.nameOf(entry), seen, us))
    looked += seen === undefined ? lookedAtTogether / rowsTogether : 1
    if (looked < lookedAtTogether) continue
    looked = 0
    yield
    us = nowUs()
  }
  return left
}

/** A sample of one generator now. `nowUs`: Unix µs. */
export function sampleOf(generator: GeneratorInUse, nowUs: number): Sample {
  return sampled(generator.name, seenOf(generator), nowUs)
}

function seenOf(generator: Omit<GeneratorInUse, 'name' | 'kind'>): Seen {
  const { definition, mode, leasedUpTo } = generator
  return { definition, mode, stats: generator.stats(), lastIssued: generator.lastIssued(), leasedUpTo }
}

function sampled(name: string, seen: Seen, nowUs: number): Sample {
  const { definition, mode, stats, lastIssued, leasedUpTo } = seen
  const next = nextAfter(lastIssued, definition)
  const bound = leasedUpTo !== undefined && leasedUpTo > next ? leasedUpTo : next
  const perSecond = stats.ratePerSecond + stats.callersPerSecond
  const endUs = exhaustionUs(definition, bound, { perSecond, buffered: 0 }, nowUs)
  const endsSeconds = endUs === undefined ? undefined : (endUs - nowUs) / 1_000_000
  return { name, definition, mode, stats, leftIds: leftIds(definition, bound), endsSeconds }
}

function nextAfter(last: bigint | undefined, { start = 0n, increment = 1 }: Definition): bigint {
  return last === undefined ? start : last + BigInt(increment)
}
