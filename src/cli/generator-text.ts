/** Generators as text. */
import { systemClock } from '../base/clock.ts'
import { formatDuration } from '../base/units.ts'
import { define, definitionText } from '../catalogue/definition.ts'
import { parseOptions } from '../catalogue/generator-options.ts'
import type { GeneratorAnswer, ListedGenerator } from '../operations/shapes.ts'
import { fields, grouped } from './terminal.ts'

/** The options that differ from the defaults of the kind: `step=5000 format=sms_{id}`. */
export function unusualOptions({ kind, definition }: ListedGenerator): string {
  const usual = new Map(definitionText(define(parseOptions({ kind }), systemClock.wallUs())))
  return Object.entries(definition)
    .filter(([name, value]) => name !== 'kind' && usual.get(name) !== textOf(value))
    .map(([name, value]) => `${name}=${textOf(value)}`)
    .join(' ')
}

/** Everything about a generator, line by line. */
export function generatorLines(generator: GeneratorAnswer): string[] {
  const { name, definition, stats, notes } = generator
  const lines = fields([
    ['name', name],
    ...Object.entries(definition).map(([option, value]) => [option, textOf(value)] as const),
    ['incarnation', generator.incarnation],
    ['mode', modes[generator.mode] ?? generator.mode],
    ['leader', generator.leader ?? ''],
    ['bound', generator.bound ?? ''],
    ['last issued', generator.lastIssued ?? ''],
    ['present period', generator.presentPeriod ?? ''],
    ['period ends', generator.periodEnds ?? ''],
    ['left in period', generator.leftInPeriod === undefined ? '' : grouped(Number(generator.leftInPeriod))],
    ['exhausted at', generator.exhaustedAt ?? ''],
    ['issued', stats ? grouped(stats.issued) : ''],
    ['per second', stats ? grouped(Math.round(stats.ratePerSecond)) : ''],
    ['by callers', stats ? callersText(stats) : ''],
    ['buffered', stats ? bufferedText(stats.inHand, stats.inHandSeconds) : ''],
    ['waits', stats ? grouped(stats.waits) : ''],
  ])
  // Nodes of the version before, which forward to this one or answer for it, do not say it.
  const readers = generator.readers === undefined ? [] : [`readers: ${generator.readers}`]
  return [...lines, ...readers, ...notes.map((note) => `note: ${note}`)]
}

const modes: Readonly<Record<string, string>> = {
  local: 'local: strict order, issued by this node alone',
  'group commit': 'group commit: strict order over all nodes; nothing buffered, one reserve for each batch',
  leader: 'leader: strict order over all nodes, issued by its leader',
  node: 'node: in order per node',
}

function callersText({
  leased,
  drawn,
  returned,
  gap,
  callersPerSecond,
}: NonNullable<GeneratorAnswer['stats']>): string {
  if (leased === 0 && drawn === 0) return ''
  const lost = gap > 0 ? ` (${grouped(gap)} a gap)` : ''
  const ranges = leased > 0 ? `, ${grouped(leased)} leased, ${grouped(returned)} given back${lost}` : ''
  return `${grouped(drawn)} issued${ranges}; ${grouped(Math.round(callersPerSecond))} per second`
}

function bufferedText(ids: number, seconds: number | null): string {
  if (seconds === null) return grouped(ids)
  return `${grouped(ids)}, for about ${approximateDuration(seconds)} at this rate`
}

/** A duration in seconds, rounded for people. */
export function approximateDuration(seconds: number): string {
  if (seconds >= 10 * yearSeconds) return `${grouped(Math.round(seconds / yearSeconds))} years`
  return formatDuration(roughly(seconds) * 1000)
}

const daySeconds = 86_400
const yearSeconds = 365.25 * daySeconds

/** Rounds to about two digits: whole minutes from ten minutes on, whole hours from ten hours, whole days from ten days. */
function roughly(seconds: number): number {
  const unit = seconds >= 10 * daySeconds ? daySeconds : seconds >= 36_000 ? 3600 : seconds >= 600 ? 60 : 1
  return Math.round(seconds / unit) * unit
}

function textOf(value: string | number | boolean): string {
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value)
}
