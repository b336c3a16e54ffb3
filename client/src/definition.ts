/** The definition of a generator as far as a client needs it. */
import { compileFormat, type Format } from '../../src/ids/format.ts'
import type { Kind } from './generator.ts'
import type { Description } from './requests.ts'

/** One incarnation and definition of a generator. */
export type Definition = {
  readonly kind: Kind
  /** Whether ids are in order, so that runs of them can be asked for. */
  readonly ordered: boolean
  /** Whether ids are one apart and in order per node, so that ranges of them can be issued here. */
  readonly prefetched: boolean
  readonly format: Format | undefined
  /** Differs between two definitions of one name, and between two incarnations. */
  readonly identity: string
}

/** Reads what a node has described. */
export function definitionOf({ kind, incarnation, definition }: Description): Definition {
  const { increment = '1', within = 'ordered', scramble = 'off', format } = definition
  const ordered = within === 'ordered' && (scramble === 'off' || scramble === 'false')
  return {
    kind,
    ordered,
    prefetched: ordered && kind === 'segment' && increment === '1',
    // Digits of the index of this node count only where a node formats.
    format: format === undefined ? undefined : compileFormat(format, { nodeWidth: 1 }),
    identity: identityOf(incarnation, definition),
  }
}

const options = [
  'kind',
  'start',
  'increment',
  'offset',
  'max',
  'within',
  'scramble',
  'format',
  'layout',
  'node',
  'sequenceStart',
  'borrowMax',
]

function identityOf(incarnation: string, definition: Readonly<Record<string, string>>): string {
  return JSON.stringify([incarnation, ...options.map((name) => definition[name] ?? '')])
}
