/** The description of a generator for users and dashboards; for one that another node leads, only what is certain. */
import { hasCode } from '../base/errors.ts'
import { formatDuration } from '../base/units.ts'
import type { ShardLeader } from '../cluster/events.ts'
import { slotOf } from '../cluster/slots.ts'
import { decode, encode } from '../ids/id-parts.ts'
import { type Layout, ones, timeEndUs } from '../ids/layout.ts'
import { counterLifetime, firstPastUs, sizeNotes } from '../ids/lifetime.ts'
import { max63 } from '../ids/limits.ts'
import { meanStep } from '../ids/random-steps.ts'
import { isScattered } from '../ids/scatter.ts'
import type { IssuerStats } from '../issuing/issuer.ts'
import type { Generator, GeneratorInfo, IssuingMode } from './catalogue.ts'
import { type Definition, layoutOf } from './definition.ts'
import { columnNotes, formatNotes } from './definition-formats.ts'
import type { CatalogueDeps } from './deps.ts'
import type { RowCounter } from './foreign-rows.ts'
import { horizonMs } from './issuing-plans.ts'
import { isBatched, modeOf } from './issuing-right.ts'
import { detailsOf } from './leadership/redirection.ts'
import { newestBound } from './period-bounds.ts'
import { overflowUs, presentNotes, presentPeriod } from './present-period.ts'
import { shownTo } from './series.ts'
import { counterOf, lastBelow, type StoredGenerator } from './stored-generator.ts'

const yearUs = 365.25 * 86_400_000_000
/** JavaScript's dates end here. */
const dateEndUs = 8.64e18

/** Collects the description. `open`: the generator, if it is open here. */
export async function describeGenerator(
  deps: CatalogueDeps,
  name: string,
  stored: Pick<StoredGenerator, 'incarnation' | 'counter' | 'floor' | 'definition'>,
  open: Generator | undefined,
): Promise<GeneratorInfo> {
  const { definition } = stored
  const snowflake = definition.kind === 'snowflake'
  const isFamily = isFamilyItself(name, definition)
  const counter: RowCounter | undefined =
    snowflake || isFamily
      ? undefined
      : await unlessUnavailable(deps.engine.counter(counterOf(name, stored)), open)
  const bound = snowflake
    ? boundOfWorker(deps, definition)
    : counter && (await boundOf(deps, name, stored, counter))
  const mode = open?.mode ?? (await modeOf(deps, definition.kind))
  // Each of its sections has a leader.
  const lead = mode === 'leader' && !isFamily ? deps.cluster?.lead(slotOf(name)) : undefined
  // The leader's buffer lies below the bound and is not issued: only the leader has the last id.
  const isKnown = lead === undefined || lead.state === 'here'
  const stats = isKnown ? open?.stats() : undefined
  const nowUs = deps.timeline.nowUs()
  const perSecond = (stats?.ratePerSecond ?? 0) + (stats?.callersPerSecond ?? 0)
  // What is buffered here lies below the bound. Another leader's buffer is not known.
  const buffered = isKnown ? (stats?.inHand ?? 0) : undefined
  const endUs = exhaustionUs(definition, bound ?? stored.floor, { perSecond, buffered }, nowUs)
  const present = bound === undefined ? undefined : presentPeriod(definition, bound, nowUs)
  return {
    name,
    definition,
    incarnation: stored.incarnation,
    bound: definition.scramble || isScattered(definition.layout) ? undefined : bound,
    updatedUs: counter?.updatedUs,
    mode,
    leader: leaderAddress(deps, lead),
    elsewhere: lead?.state === 'elsewhere' ? detailsOf(slotOf(name), lead) : undefined,
    lastIssued: isKnown
      ? newest(
          open,
          mode,
          definition.layout === undefined && !definition.family
            ? newestBelow(bound ?? 0n, stored)
            : undefined,
        )
      : undefined,
    stats,
    present,
    exhaustedAt: endUs === undefined || endUs > dateEndUs ? undefined : new Date(endUs / 1000).toISOString(),
    notes: [
      ...(present === undefined ? [] : presentNotes(present, endUs)),
      ...notes(name, definition, present === undefined ? endUs : undefined, nowUs, deps),
      ...stepNotes(deps, definition, mode),
      ...callerNotes(stats),
      ...(bound === undefined ? [] : numberNotes(definition, bound, perSecond, nowUs)),
      ...(definition.layout === undefined || bound === undefined
        ? []
        : [`time is reserved until ${decode(layoutOf(definition), bound).date}`]),
      ...(lead?.state === 'none' ? ['led by no node at this moment'] : []),
      ...(snowflake || isFamily || bound !== undefined
        ? []
        : ['the engine cannot be reached: its bound cannot be read now']),
    ],
  }
}

/** Whether this is a family and none of its names. */
function isFamilyItself(name: string, { family }: Definition): boolean {
  return family === true && name.endsWith('*')
}

/** A counter that lasts longer than this, in seconds, has no end in sight: a thousand years. */
const inSightSeconds = 1000 * 365 * 86_400

/** How many ids are left from this raw value on; undefined for clock kinds, and where numbers begin again. */
export function leftIds(
  { max, increment, incrementRange, period }: Definition,
  bound: bigint,
): number | undefined {
  if (max === undefined || increment === undefined || period !== undefined) return undefined
  return Math.max(0, Number(max + 1n - bound) / meanStep({ increment, incrementRange }))
}

/** How fast ids are used, and how many there are below the bound; undefined: that is not known. */
type Use = { readonly perSecond: number; readonly buffered: number | undefined }

/** When ids run out at this rate, or those of a period before it ends, or the time field is full, in Unix µs; undefined: no end is in sight. */
export function exhaustionUs(
  definition: Definition,
  bound: bigint,
  { perSecond, buffered }: Use,
  nowUs: number,
): number | undefined {
  if (definition.layout !== undefined) return Number(timeEndUs(layoutOf(definition)))
  const present = presentPeriod(definition, bound, nowUs)
  if (present !== undefined) {
    const full = present.left === 0n && buffered === undefined
    return full ? undefined : overflowUs(present, Number(present.left) + (buffered ?? 0), perSecond, nowUs)
  }
  const left = (leftIds(definition, bound) ?? 0) + (buffered ?? 0)
  if (left === 0 && buffered !== undefined) return nowUs
  if (perSecond <= 0) return undefined
  const leftSeconds = left / perSecond
  return leftSeconds > inSightSeconds ? undefined : nowUs + leftSeconds * 1_000_000
}

/** The newest id: by the counter, which covers all nodes, or by the issuer, which excludes its buffer. */
function newest(
  open: Generator | undefined,
  mode: IssuingMode,
  stored: bigint | undefined,
): bigint | undefined {
  const here = open?.lastIssued()
  if (here === undefined) return stored
  return mode === 'group commit' && stored !== undefined && stored > here ? stored : here
}

function newestBelow(
  bound: bigint,
  stored: Pick<StoredGenerator, 'definition' | 'floor'>,
): bigint | undefined {
  // The raw count of scrambled ids would disclose what scrambling hides.
  return stored.definition.scramble ? undefined : lastBelow(bound, stored)
}

/**
 * The engine's answer; undefined while the engine cannot be reached, if the generator is open here: users ask then how
 * long its ids last.
 */
export async function unlessUnavailable<Answer>(
  answer: Promise<Answer>,
  open: Generator | undefined,
): Promise<Answer | undefined> {
  try {
    return await answer
  } catch (error) {
    if (open === undefined || !hasCode(error, 'UNAVAILABLE')) throw error
    return undefined
  }
}

/** The bound of a counter as an id: the least that can still be issued, in whatever unit the counter counts. */
async function boundOf(
  { engine }: CatalogueDeps,
  name: string,
  stored: Pick<StoredGenerator, 'counter' | 'floor' | 'definition'>,
  counter: RowCounter,
): Promise<bigint> {
  const { floor, definition } = stored
  const { bound } = counter
  if (definition.period !== undefined)
    return (await newestBound(engine, name, stored, counter))?.bound ?? floor
  if (definition.layout === undefined) return bound > floor ? bound : floor
  const layout = layoutOf(definition)
  const time = bound >> BigInt(layout.sequenceBits)
  return leastOf(layout, time > floor ? time : floor, definition.node!)
}

function boundOfWorker({ worker }: CatalogueDeps, definition: Definition): bigint | undefined {
  if (worker.id < 0) return undefined
  const layout = layoutOf(definition)
  const time = Math.max(0, Math.floor((worker.boundUs - layout.epochUs) / layout.unitUs))
  return worker.id < 2 ** layout.nodeBits ? leastOf(layout, BigInt(time), worker.id) : undefined
}

/** The least id of a unit of time, or of the last unit if the time field ends before. */
function leastOf(layout: Layout, time: bigint, node: number): bigint {
  const last = ones(layout.timeBits)
  return encode(layout, { time: time < last ? time : last, node })
}

function leaderAddress({ cluster }: CatalogueDeps, lead: ShardLeader | undefined): string | undefined {
  if (lead === undefined || lead.state === 'none') return undefined
  const node = lead.state === 'elsewhere' ? lead.node : cluster!.status().nodes.find(({ isSelf }) => isSelf)
  return node?.resp ?? node?.http ?? node?.id
}

/** Which readers its ids outgrow, where they are numbers and not texts. */
function numberNotes(definition: Definition, bound: bigint, ratePerSecond: number, nowUs: number): string[] {
  const { format, layout, max = max63, scramble } = definition
  if (format !== undefined) return []
  if (layout !== undefined) return sizeNotes((limit) => firstPastUs(layoutOf(definition), limit), nowUs)
  const present = presentPeriod(definition, bound, nowUs)
  // Labels do not come past a limit within the time that notes look ahead.
  if (present !== undefined)
    return sizeNotes((most) => (most < present.lastId ? BigInt(nowUs) : undefined), nowUs)
  const valuesPerSecond = ratePerSecond * meanStep(definition)
  const use = { bound: scramble ? max + 1n : bound, ratePerSecond: valuesPerSecond, nowUs }
  return sizeNotes((most) => (most >= max ? undefined : counterLifetime({ ...use, max: most }).endsUs), nowUs)
}

/** What an adaptive step keeps: it has no number of its own to show that. */
function stepNotes(deps: CatalogueDeps, definition: Definition, mode: IssuingMode): string[] {
  if (definition.step !== 0 || isBatched(mode, definition)) return []
  const ms = horizonMs(deps, definition)!
  if (ms === 0) return ['horizon 0ms: none of its ids are buffered, so each waits for the store']
  const [whole, half] = [formatDuration(ms), formatDuration(Math.round(ms / 2))]
  return [
    `a crash skips at most what ${whole} need at the recent rate, or 8 ids; without the store its ids last for ${half} to ${whole}`,
  ]
}

function callerNotes(stats: IssuerStats | undefined): string[] {
  if (stats === undefined || (stats.leased === 0 && stats.drawn === 0)) return []
  const leased =
    stats.leased > 0
      ? `have leased ${stats.leased} ids on this node, returned ${stats.returned}, of which ${stats.gap} are a gap, and`
      : 'have'
  return [`callers ${leased} issued ${stats.drawn} themselves, as far as they have reported here`]
}

function notes(
  name: string,
  definition: Definition,
  endUs: number | undefined,
  nowUs: number,
  deps: CatalogueDeps,
): string[] {
  const list: string[] = []
  if (definition.kind === 'snowflake' && deps.worker.id >= 0)
    list.push(`worker id ${deps.worker.id} on this node`)
  if (endUs === nowUs) list.push('its ids have run out: this node has none left to issue')
  else if (endUs !== undefined && endUs - nowUs < yearUs)
    list.push('its ids run out within a year: plan for a successor')
  if (definition.gaps !== undefined)
    list.push(
      'gaps none: nothing is buffered, and each batch of requests is one write of the ids that it gets',
    )
  if (definition.within === 'shuffled') list.push('ids are shuffled within blocks: no order')
  if (isScattered(definition.layout)) list.push('ids are scattered by their highest bits: no order')
  if (definition.scramble) list.push('ids are scrambled over [0, max]: no order')
  return [...list, ...formatNotes(definition), ...columnNotes(shownTo(definition, name))]
}
