/** The definition of a generator as far as a client needs it. */
import { parseDurationMs } from '../../src/base/units.ts'
import type { Format } from '../../src/ids/format.ts'
import { max63 } from '../../src/ids/limits.ts'
import type { Kind } from './generator.ts'
import type { Description } from './requests.ts'

/** One incarnation and definition of a generator. */
export type Definition = {
  readonly kind: Kind
  /** Differs between two definitions of one name, and between two incarnations. */
  readonly identity: string
  readonly format: Format | undefined
  readonly increment: number
  readonly offset: bigint
  readonly max: bigint
  readonly isShuffled: boolean
  readonly scramble: boolean
  /** Whether each id of a range is one larger than the id before it. */
  readonly isContiguous: boolean
  /** Text of the layout of a clock kind. */
  readonly layout: string | undefined
  readonly sequenceStart: 'zero' | 'random'
  readonly borrowMaxMs: number
}

/** Reads what a node has described. */
export function definitionOf({ kind, incarnation, definition, format }: Description): Definition {
  const { increment = 1, offset = 0, max = max63, within, scramble, layout, gene, avoid } = definition
  return {
    kind,
    identity: JSON.stringify([incarnation, ...identifying.map((name) => String(definition[name]))]),
    format,
    increment: Number(increment),
    offset: BigInt(offset as string),
    max: BigInt(max as string),
    isShuffled: within === 'shuffled',
    scramble: scramble === true,
    isContiguous:
      (kind === 'sequence' || kind === 'segment') &&
      Number(increment) === 1 &&
      within !== 'shuffled' &&
      scramble !== true &&
      gene === undefined &&
      avoid === undefined,
    layout: layout === undefined ? undefined : String(layout),
    sequenceStart: definition.sequenceStart === 'random' ? 'random' : 'zero',
    borrowMaxMs: parseDurationMs(String(definition.borrowMax ?? '10s')),
  }
}

/** Sizes of the service's own refills make no other ids. */
const identifying = [
  'kind',
  'start',
  'increment',
  'offset',
  'max',
  'within',
  'scramble',
  'avoid',
  'format',
  'period',
  'zone',
  'yearStart',
  'width',
  'layout',
  'node',
  'sequenceStart',
  'borrowMax',
]
