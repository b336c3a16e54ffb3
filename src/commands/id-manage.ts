/** The ID family: ID.CREATE, ID.ALTER, ID.DROP, ID.INFO and ID.LIST manage generators. */
import { FahaoError } from '../base/errors.ts'
import { unknownWords } from '../base/nearest.ts'
import type { GeneratorInfo } from '../catalogue/catalogue.ts'
import { definitionText } from '../catalogue/definition.ts'
import { listedParts } from '../catalogue/generator-lists.ts'
import { type GeneratorInput, optionName, optionNames } from '../catalogue/generator-options.ts'
import { adviceForReaders } from '../catalogue/readers.ts'
import { kinds } from '../issuing/issuer.ts'
import { count, pattern as glob, optional, text, type ValuesOf } from '../operations/argument.ts'
import type { OperationContext } from '../operations/context.ts'
import { describedGenerator } from '../operations/generator-info.ts'
import { alterOperation, createOperation, dropOperation } from '../operations/generators.ts'
import { presentFields } from '../operations/shapes.ts'
import { type Arguments, givenTwice } from './arguments.ts'
import { type Command, MapReply, ok, oneOf, type Reply } from './command.ts'
import { changesOne } from './generator-names.ts'
import { commandOf, factsOf } from './grammar.ts'

const name = { name: 'name', type: 'key' } as const
const options = {
  name: 'options',
  type: 'block',
  optional: true,
  multiple: true,
  arguments: [
    { name: 'option', type: 'string' },
    { name: 'value', type: 'string' },
  ],
} as const
const managing = { keys: [1, 1, 1], group: 'id', flags: ['write'] } as const
const listDefault = 100
const listed = {
  pattern: optional(glob('MATCH pattern', '')),
  after: optional(text('AFTER name')),
  count: optional(count('COUNT count', ({ countMax }) => countMax, '')),
}

/** ID.CREATE, ID.ALTER, ID.DROP, ID.INFO, ID.LIST. */
export const managingCommands: readonly Command[] = [
  {
    ...managing,
    ...factsOf(createOperation),
    arity: -3,
    summary: 'Creates a generator.',
    reply: '`OK`, also if there is one with these options.',
    notes:
      'Options may be written in any case and with hyphens: `STEPMAX`, `step-max`. `EXISTS` if there is a generator with other options. FAMILY in place of KIND, for a name that ends with `*`: every name that begins as it does is a sequence.',
    arguments: [
      name,
      { ...oneOf('kind', ...kinds), token: 'KIND', optional: true },
      { name: 'family', type: 'pure-token', token: 'FAMILY', optional: true },
      options,
    ],
    async handler({ catalogue }, args) {
      const given = readOptions(args)
      if (given.kind === undefined) {
        throw new FahaoError('ERR', `KIND is missing; give KIND and one of ${kinds.join(', ')}`)
      }
      await catalogue.createUnopened(args.text(0), given as GeneratorInput)
      return ok
    },
    overlaps: changesOne,
  },
  {
    ...managing,
    ...factsOf(alterOperation),
    arity: -4,
    summary: 'Changes options of a generator.',
    reply: '`OK`.',
    notes:
      'Tunable options apply at once. A change of KIND, INCREMENT, OFFSET, GENE, WITHIN, SCRAMBLE, LAYOUT or NODE starts a new incarnation above every id of the old one. After another INCREMENT the next id is at least the last one plus the larger of both increments; OFFSET stays only if it was given. `FLOOR n`: ranges reserved from now on start at n or above (`sequence` and `segment`); there is no way down. `NOW`: of a `segment`, a new incarnation does, and every node that reaches the store has dropped what it had buffered before the reply; ranges that callers have leased end with their TTL. `FORCE`: also where that gives up more than 2^40 ids, or more than half of what is left below MAX.',
    arguments: [
      name,
      { ...options, optional: false },
      { name: 'floor', type: 'integer', token: 'FLOOR', optional: true },
      { name: 'now', type: 'pure-token', token: 'NOW', optional: true },
      { name: 'force', type: 'pure-token', token: 'FORCE', optional: true },
    ],
    async handler({ catalogue }, args) {
      await catalogue.alter(args.text(0), readOptions(args, true))
      return ok
    },
  },
  commandOf(dropOperation),
  {
    name: 'id.info',
    arity: 2,
    flags: ['readonly'],
    keys: [1, 1, 1],
    permission: 'read',
    group: 'id',
    summary: 'Describes a generator.',
    reply:
      'A map: name, each option, incarnation, mode, leader, bound, lastIssued, with periods presentPeriod (its label), periodEnds and leftInPeriod, exhaustedAt, readers, notes; and while it is in use on this node: leased, drawn, returned, gap, callersPerSecond (of ids that callers issue themselves), issued, ratePerSecond, peakPerSecond, inHand, inHandSeconds, reserved, released, dropped, lost, refills, refillFailures, refillSeconds, waits, waiting, drySeconds.',
    notes:
      '`bound` is an id, as `lastIssued` is: nothing at or above it has been issued (of a `snowflake`: on this node). Integers that may pass 2^53 and fractions are strings. Unknown values are nil. `readers` says how far behind the newest row those have to stay who read rows in the order of ids. A note says how many worker ids of the layout of a `snowflake` callers hold; a node counts them once a second at most, so the numbers can be a second or two old. In a cluster the node that receives the request answers, also with `--forward`: for a strict generator of another leader the reply has `leader`, the address to ask, but neither lastIssued nor figures.',
    arguments: [name],
    handler: async (context, args) =>
      infoReply(await describedGenerator(context, args.text(0), context.session.access)),
  },
  commandOf({
    name: 'id.list',
    permission: 'read',
    effect: 'readonly',
    summary: 'Lists generators in byte order of their names.',
    reply: 'An array of pairs: name, kind.',
    notes: `For the next page, give the last name as AFTER; a page with fewer than COUNT (default ${listDefault}) is the last.`,
    args: listed,
    run: list,
  }),
]

function infoReply(info: GeneratorInfo): Reply {
  const { stats } = info
  return new MapReply([
    ['name', info.name],
    ...definitionText(info.definition),
    ['incarnation', String(info.incarnation)],
    ['mode', info.mode],
    ['leader', info.leader ?? null],
    ['bound', shown(info.bound)],
    ['lastIssued', shown(info.lastIssued)],
    ...Object.entries(presentFields(info)),
    ['exhaustedAt', shown(info.exhaustedAt)],
    ['readers', adviceForReaders(info)],
    ['notes', info.notes],
    ...Object.entries(stats ?? {}).map(([field, value]) => [field, figure(value)] as const),
  ])
}

function shown(value: bigint | string | undefined): string | null {
  return value === undefined ? null : String(value)
}

function figure(value: number): number | string | null {
  if (!Number.isFinite(value)) return null
  return Number.isSafeInteger(value) ? value : String(value)
}

async function list(
  { catalogue, caller, server }: OperationContext,
  { pattern, after, count = Math.min(listDefault, server.countMax) }: ValuesOf<typeof listed>,
): Promise<[string, string][]> {
  const { access, signal } = caller
  const found: [string, string][] = []
  for await (const part of listedParts(catalogue, server.turns, { access, signal, after, pattern })) {
    for (const { name, definition } of part) found.push([name, definition.kind])
    if (found.length >= count) break
  }
  return found.slice(0, count)
}

/** Options that were given, each once. */
type GivenOptions = Partial<GeneratorInput> & {
  readonly floor?: string
  readonly now?: boolean
  readonly force?: boolean
}

/**
 * Reads the pairs of option and value after the name, and FORCE and NOW, which have no value. ERR names an option that is
 * unknown, given twice or without a value.
 */
function readOptions(args: Arguments, alsoFloor = false): GivenOptions {
  const given = new Map<string, unknown>()
  for (let index = 1; index < args.length; index += 2) {
    const word = args.text(index)
    const token = word.toLowerCase()
    // One word where it is created, where it says the kind too.
    if (!alsoFloor && token === 'family' && !isFlag(args, index + 1)) {
      if (given.has('family')) throw givenTwice('FAMILY')
      given.set('family', true)
      if (!given.has('kind')) given.set('kind', 'sequence')
      index--
      continue
    }
    if (alsoFloor && (token === 'force' || token === 'now')) {
      given.set(token, true)
      index--
      continue
    }
    const name = alsoFloor && token === 'floor' ? 'floor' : optionName(word)
    if (name === undefined) throw unknownOption(word, alsoFloor)
    if (index + 1 >= args.length) throw new FahaoError('ERR', `option ${word.toUpperCase()} has no value`)
    if (given.has(name)) throw givenTwice(word.toUpperCase())
    const value = args.text(index + 1)
    given.set(name, name === 'kind' ? value.toLowerCase() : value)
  }
  return Object.fromEntries(given) as GivenOptions
}

function isFlag(args: Arguments, index: number): boolean {
  return index < args.length && /^(on|off|true|false|yes|no)$/i.test(args.text(index))
}

function unknownOption(word: string, alsoFloor: boolean): FahaoError {
  const known = [...optionNames, ...(alsoFloor ? ['floor'] : [])].map((name) => name.toUpperCase())
  return new FahaoError('ERR', unknownWords('option', [word], known))
}
