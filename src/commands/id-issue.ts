/** The ID family: ID.NEXT, ID.RANGE and ID.RUNS issue ids as text, in ranges and in runs, ID.DECODE decodes one. */
import { FahaoError } from '../base/errors.ts'
import type { Generator } from '../catalogue/catalogue.ts'
import { layoutOf } from '../catalogue/definition.ts'
import { periodsOf } from '../catalogue/periods.ts'
import { geneIn, type IdInput } from '../ids/gene.ts'
import { decode } from '../ids/id-parts.ts'
import { describePeriodId } from '../ids/inspect.ts'
import type { Layout } from '../ids/layout.ts'
import { formatLayout, parseLayout } from '../ids/layout-text.ts'
import { mergedRuns, Run } from '../ids/run.ts'
import { check, checkOperation } from '../operations/check.ts'
import {
  checkedCount,
  checkRuns,
  drawFor,
  drawRanges,
  existing,
  issuedTexts,
  nextOperation,
} from '../operations/drawing.ts'
import { type Arguments, givenTwice, syntaxError } from './arguments.ts'
import { type Command, IssuedRuns, MapReply, type Reply } from './command.ts'
import { type CommandContext, operationContext } from './context.ts'
import { factsOf, replyOf } from './grammar.ts'
import { demandNameRecorded, forced } from './recording.ts'

const name = { name: 'name', type: 'key' } as const
const issuing = { flags: ['write', 'fast'], keys: [1, 1, 1], permission: 'issue', group: 'id' } as const
const defaultLayout = 'twitter'
/** Filled and emptied within one call. */
const run = new Run()

/** The most ids whose reply in runs is short, whatever the layout. */
const shortRunsMax = 1000

/** ID.NEXT, ID.RANGE, ID.RUNS, ID.DECODE. */
export const issuingCommands: readonly Command[] = [
  {
    ...issuing,
    ...factsOf(nextOperation),
    arity: -2,
    summary: 'Issues ids in the format of the generator.',
    reply: 'A string, exact in any language; with COUNT, and for several genes, an array of strings.',
    notes:
      'All of them or none: an error means that no id was used up. COUNT is limited by `count-max`. Generators with bits for a gene need one with each draw, and others take none: GENE is a number below 2^bits, and BY a key whose CRC-32 is taken, its lowest bits. One gene or key is for all ids; several are one for each id, and COUNT may be left out then. AT gives ids of a past moment, in ISO 8601 with a zone or in Unix milliseconds, of a `snowflake` with PAST: [ids of a moment](../start/ids-of-a-moment.md); of a generator with PERIOD it draws in the period of that moment, or of a day such as 2026-11-25: [periods](../concepts/periods.md). ABOVE gives ids that are larger than a number, of a `sequence` or an ordered `segment`, in one step: the ids that this skips count in quotas, and are at most as many as the option JUMP allows; with FORCE, which needs the permission `manage`, any number: [ids above a number](../concepts/series.md). KEY makes it [once for a request](../concepts/once.md): a second request of the same user with the same key gets the same ids, and `KEYUSED` if it asks for others; then COUNT is at most 1,000. RAW gives raw ids, without the format of the generator. GENE and BY come last: all words behind them are genes or keys.',
    arguments: [
      name,
      { name: 'count', type: 'integer', token: 'COUNT', optional: true },
      { name: 'moment', type: 'string', token: 'AT', optional: true },
      { name: 'number', type: 'integer', token: 'ABOVE', optional: true },
      { name: 'force', type: 'pure-token', token: 'FORCE', optional: true },
      { name: 'request', type: 'string', token: 'KEY', optional: true },
      { name: 'raw', type: 'pure-token', token: 'RAW', optional: true },
      {
        name: 'genes',
        type: 'oneof',
        optional: true,
        arguments: [
          { name: 'gene', type: 'integer', token: 'GENE', multiple: true },
          { name: 'key', type: 'string', token: 'BY', multiple: true },
        ],
      },
    ],
    handler: next,
    work,
    // Not with COUNT: long replies must not overlap.
    overlaps: (_, args) => args.length === 1 || (args.length === 3 && args.token(1) !== 'COUNT'),
  },
  {
    ...issuing,
    flags: ['write'],
    name: 'id.range',
    arity: 3,
    summary: 'Issues n ids as ranges, for a client that issues them by itself.',
    reply: 'An array of pairs of strings: start, and end, which is the first id that is not included.',
    notes:
      'The ranges are half-open, `[start, end)`, and hold n ids in all; usually there is one. Only for kinds made of a counter whose ids are ordered and one apart; elsewhere `WRONGTYPE` points to `ID.NEXT`.',
    arguments: [name, { name: 'n', type: 'integer' }],
    handler: range,
    overlaps: () => true,
  },
  {
    ...issuing,
    name: 'id.runs',
    arity: 3,
    summary: 'Issues n ids as runs, for a client that counts through them by itself.',
    reply:
      'An array of runs, each an array: the first id (a string), the distance from one id to the next (a string), and how many ids (an integer).',
    notes:
      'A run `["7", "2", 3]` is the ids 7, 9 and 11; the runs hold n raw ids in all, in the order of issue. For every kind whose ids are ordered: a counter with any increment, usually in one run, and the clock, a run for each unit of time that fills up; where consecutive units continue one another, they are one run. All or nothing. n is limited by `incrby-max`, and for kinds made of the clock by what the layout has in `borrowMax`, at most 10,000 units of time. Where ids are shuffled, scrambled or scattered, `WRONGTYPE` points to `ID.NEXT`.',
    arguments: [name, { name: 'n', type: 'integer' }],
    handler: runs,
    overlaps: (_, args) => args.integer(1) <= shortRunsMax,
  },
  {
    name: 'id.decode',
    arity: -2,
    flags: ['readonly', 'fast'],
    // No keys: the name of a generator is optional, and any node can answer.
    permission: 'read',
    group: 'id',
    summary: 'Decodes an id.',
    reply:
      'A map: id, layout, time (ISO 8601), unixMs, unixUs, node, sequence. For a generator made of a counter: id, generator, kind; with periods also period, label, starts, ends (ISO 8601), number.',
    notes: `With a generator's name the id may be in its format. With neither name nor layout, \`${defaultLayout}\` is taken. LAYOUT takes a preset's name or the text of a layout.`,
    arguments: [
      { name: 'id', type: 'string' },
      {
        name: 'by',
        type: 'oneof',
        optional: true,
        arguments: [
          { name: 'layout', type: 'string', token: 'LAYOUT' },
          { name: 'name', type: 'string' },
        ],
      },
    ],
    handler: decodeId,
  },
  {
    name: checkOperation.name,
    arity: -3,
    flags: ['readonly'],
    keys: [1, 1, 1],
    anyNode: true,
    permission: 'check',
    group: 'id',
    summary: checkOperation.summary,
    reply: 'An array of maps, one for each text: text, verdict, id, why, mayBe.',
    notes: checkOperation.notes!,
    arguments: [name, { name: 'text', type: 'string', multiple: true }],
    async handler(context, args) {
      const texts = Array.from({ length: args.length - 1 }, (_, index) => args.text(index + 1))
      return replyOf((await check(operationContext(context), args.text(0), texts)).checked)
    },
  },
]

function next(context: CommandContext, args: Arguments): Reply | Promise<Reply> {
  const generatorName = args.text(0)
  if (args.length === 1) return nextBuffered(context, generatorName) ?? nextDrawn(context, generatorName)
  const { count, ...options } = wanted(args)
  if (options.force)
    return forced(context, generatorName, () => drawn(context, generatorName, count, options))
  return drawn(context, generatorName, count, options)
}

function drawn(
  context: CommandContext,
  generatorName: string,
  count: bigint | undefined,
  options: Wanted,
): Promise<Reply> {
  if (count === undefined) return nextDrawn(context, generatorName, options)
  return issuedTexts(operationContext(context), { name: generatorName, count, ...options })
}

function work(args: Arguments): bigint {
  return args.length === 1 ? 1n : (wanted(args).count ?? 1n)
}

/** What the words behind the name ask for. Without `count`: one id, and not in an array. */
type Wanted = IdInput & { readonly count?: bigint; readonly isRaw?: true }

/** The words behind the name: tokens with their values, each once and in any order. `isAlone`: it has no value. `isLast`: all words that are left are its values. */
type WantedToken = {
  isAlone?: true
  isLast?: true
  read(args: Arguments, from: number): Partial<Wanted>
}

const wantedTokens: ReadonlyMap<string, WantedToken> = new Map<string, WantedToken>([
  ['AT', { read: (args, at) => ({ at: args.text(at) }) }],
  ['ABOVE', { read: (args, at) => ({ above: args.integer(at) }) }],
  ['FORCE', { isAlone: true, read: () => ({ force: true }) }],
  ['KEY', { read: (args, at) => ({ key: args.text(at) }) }],
  ['RAW', { isAlone: true, read: () => ({ isRaw: true }) }],
  ['COUNT', { read: (args, at) => ({ count: args.integer(at) }) }],
  [
    'GENE',
    { isLast: true, read: (args, from) => genes(indexesFrom(args, from).map((at) => args.integer(at))) },
  ],
  ['BY', { isLast: true, read: (args, from) => keys(indexesFrom(args, from).map((at) => args.text(at))) }],
])

function wanted(args: Arguments): Wanted {
  // What most callers send is read without an object for each word.
  if (args.length === 3 && args.token(1) === 'COUNT') return { count: args.integer(2) }
  let found: Wanted = {}
  const seen = new Set<string>()
  for (let at = 1; at < args.length; ) {
    const token = args.token(at)
    const known = wantedTokens.get(token)
    if (known === undefined || (at + 1 === args.length && !known.isAlone)) throw syntaxError()
    if (seen.has(token)) throw givenTwice(token)
    seen.add(token)
    if (known.isLast) refuseTokensBehind(token, args, at + 2)
    found = { ...known.read(args, at + 1), ...found }
    at = known.isLast ? args.length : at + (known.isAlone ? 1 : 2)
  }
  return found
}

/** Behind several keys or genes a word such as COUNT is most likely none of them. */
function refuseTokensBehind(token: string, args: Arguments, from: number): void {
  const found = indexesFrom(args, from).find((at) => wantedTokens.has(args.token(at)))
  if (found === undefined) return
  throw new FahaoError('ERR', `${args.token(found)} stands behind ${token}, which comes last; put it before`)
}

function indexesFrom({ length }: Arguments, from: number): number[] {
  return Array.from({ length: length - from }, (_, index) => from + index)
}

/** Several are one for each id. */
function genes(gene: readonly bigint[]): Wanted {
  return gene.length === 1 ? { gene } : { gene, count: BigInt(gene.length) }
}

function keys(by: readonly string[]): Wanted {
  return by.length === 1 ? { by } : { by, count: BigInt(by.length) }
}

/** Without a promise, so that the replies of a pipeline leave together. */
function nextBuffered({ catalogue }: CommandContext, generatorName: string): string | undefined {
  const generator = catalogue.find(generatorName)
  return generator?.take(1, run) === 1 ? generator.text(run.first) : undefined
}

/** Waits only if the generator has to be opened, or its buffer is empty. */
function nextDrawn(
  { catalogue, session }: CommandContext,
  generatorName: string,
  { isRaw, ...options }: Wanted = {},
): Promise<Reply> {
  return catalogue.whenOpen(generatorName, async (generator) => {
    const { runs, text } = await drawFor(
      generator,
      1,
      { ...options, signal: session.signal },
      session.access.user,
    )
    const [run] = runs
    return isRaw ? String(run!.first) : text === undefined ? run!.toString() : text.text(run!.first)
  })
}

async function range(context: CommandContext, args: Arguments): Promise<Reply> {
  const generatorName = args.text(0)
  const count = checkedCount(args.integer(1), context.server.incrByMax, 'n')
  const instead = `use ID.NEXT ${generatorName} COUNT n`
  const ranges = await context.catalogue.whenOpen(generatorName, (generator) =>
    drawRanges(generator, count, instead, context.session.signal),
  )
  return ranges.map(({ start, end }) => [String(start), String(end)])
}

function runs(context: CommandContext, args: Arguments): Reply | Promise<Reply> {
  const generatorName = args.text(0)
  const count = checkedCount(args.integer(1), context.server.incrByMax, 'n')
  const open = context.catalogue.find(generatorName)
  if (open !== undefined) return drawRuns(context, open, count)
  return context.catalogue.whenOpen(generatorName, (generator) => drawRuns(context, generator, count))
}

/** Without a promise for one id, so that the replies of a pipeline leave together. */
function drawRuns({ session }: CommandContext, generator: Generator, count: number): Reply | Promise<Reply> {
  checkRuns(generator, count, `use ID.NEXT ${generator.name} COUNT n`)
  if (count === 1 && generator.take(1, run) === 1) return runsReply([run])
  return generator.draw(count, { signal: session.signal }).then(runsReply)
}

function runsReply(drawn: readonly Run[]): Reply {
  return new IssuedRuns(mergedRuns(drawn))
}

async function decodeId(context: CommandContext, args: Arguments): Promise<Reply> {
  if (args.length === 1) return parts(idAt(args), parseLayout(defaultLayout))
  if (args.length === 3 && args.token(1) === 'LAYOUT') return parts(idAt(args), parseLayout(args.text(2)))
  if (args.length !== 2) throw syntaxError()
  const idText = args.text(0)
  demandNameRecorded(context, 'id.decode', args.text(1))
  const generator = await existing(context.catalogue, args.text(1))
  const id = generator.parse(idText)
  const { layout, gene } = generator.definition
  const periods = periodsOf(generator.definition)
  const inPeriod = periods && describePeriodId(periods, id)
  if (inPeriod !== undefined) {
    const { id: raw, ...period } = inPeriod
    return new MapReply([
      ['id', raw],
      ['generator', generator.name],
      ['kind', generator.kind],
      ...Object.entries(period),
    ])
  }
  if (layout !== undefined) return parts(id, layoutOf(generator.definition))
  return new MapReply([
    ['id', String(id)],
    ['generator', generator.name],
    ['kind', generator.kind],
    ...(gene === undefined ? [] : [['gene', geneIn(id, gene)] as const]),
  ])
}

function idAt(args: Arguments): bigint {
  const id = args.integer(0)
  if (id < 0n) throw new FahaoError('ERR', 'an id is not negative')
  return id
}

function parts(id: bigint, layout: Layout): Reply {
  const { date, unixUs, node, sequence, gene, fields } = decode(layout, id)
  return new MapReply([
    ['id', String(id)],
    ['layout', layout.name ?? formatLayout(layout)],
    ['time', date],
    ['unixMs', String(unixUs / 1000n)],
    ['unixUs', String(unixUs)],
    ['node', node],
    ['sequence', sequence],
    ...(layout.geneBits > 0 ? [['gene', gene] as const] : []),
    ...Object.entries(fields),
  ])
}
