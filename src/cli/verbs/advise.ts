import type { Command } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { formatDuration, parseDurationMs } from '../../base/units.ts'
import { columnNotes, formatNotes, refuseNewFormat } from '../../catalogue/definition-formats.ts'
import type { Layout } from '../../ids/layout.ts'
import { formatLayout, parseLayout } from '../../ids/layout-text.ts'
import type { GeneratorAnswer } from '../../operations/shapes.ts'
import { type Advice, advise, adviseInUse, type InUse } from '../advice.ts'
import { UsageError } from '../exit-codes.ts'
import { approximateDuration } from '../generator-text.ts'
import { addTlsOptions, type TlsFiles } from '../http-request.ts'
import { ask, generatorPath } from '../server-api.ts'
import { bold, fields, grouped, print, printAnswer, printJson, table } from '../terminal.ts'
import { allPages } from './generators.ts'

type AdviseOptions = TlsFiles & {
  readonly url?: string
  readonly rate?: string
  readonly nodes: string
  readonly horizon: string
  readonly layout: string
  readonly format?: string
  readonly json?: true
}

/** `fahao advise` */
export function addAdvise(command: Command): void {
  command
    .description(
      'Works out what a peak rate needs: how many ids are buffered, what a crash costs, which step covers an outage of the engine, how long counters and layouts last, and which column the texts of a format fit. Asks no server, unless --url names one: then it shows for each generator in use there how long its ids would last without the engine, at the present rate and at the highest so far, and what to set.',
    )
    .option('--rate <N>', 'ids per second at peak, over all nodes')
    .option('--url <URL>', 'a server, to look at what it holds')
  addTlsOptions(command)
    .option('--nodes <N>', 'nodes that share the load', '1')
    .option('--horizon <DURATION>', 'how long ids should last without the engine', '10m')
    .option('--layout <LAYOUT>', 'bits of a clock kind: a preset, or fields and epoch', 'twitter')
    .option('--format <FORMAT>', 'a format, to learn which column its texts fit')
    .option('--json', 'print JSON, for scripts')
    .addHelpText(
      'after',
      `
Examples:
  fahao advise --rate 5000
  fahao advise --rate 200000 --nodes 8 --horizon 20m --layout js53
  fahao advise --format '{id:8:crockford:group=4}{check:mod37-2}'
  fahao advise --url http://127.0.0.1:7380`,
    )
    .action(async (options: AdviseOptions) => {
      if (options.url !== undefined) return adviseServer({ ...options, url: options.url })
      const layout = parseLayout(options.layout)
      const texts = textsOf(options, layout)
      if (options.rate === undefined) {
        if (texts.length === 0)
          throw new UsageError('give --rate N, --format FORMAT, or --url of a running server')
        return printAnswer(options, { texts }, texts)
      }
      const rate = wholeNumber(options.rate, '--rate')
      const nodes = wholeNumber(options.nodes, '--nodes')
      const horizonMs = duration(options.horizon)
      const nowUs = systemClock.wallUs()
      const advice = advise({ rate, nodes, horizonMs, layout, nowUs })
      const layoutName = layout.name ?? formatLayout(layout)
      printAnswer(options, texts.length > 0 ? { ...advice, texts } : advice, [
        ...counterLines(advice, rate, nodes, horizonMs),
        '',
        ...clockLines(advice, layoutName),
        ...(texts.length > 0 ? ['', ...texts] : []),
      ])
      // After the answer is on stdout, for scripts.
      if (advice.clock.ended)
        throw new FahaoError('EXHAUSTED', `layout ${layoutName} has no ids left since ${advice.clock.ends}`)
    })
}

/** What to know about the texts of a format, each in one sentence. */
function textsOf({ format }: AdviseOptions, layout: Layout): string[] {
  if (format === undefined) return []
  refuseNewFormat({ format })
  return [...columnNotes({ format, layout: formatLayout(layout) }), ...formatNotes({ format })]
}

/** The most generators that are asked for, with one request each. */
const askedMax = 1000

async function adviseServer(options: AdviseOptions & { readonly url: string }): Promise<void> {
  const goalSeconds = duration(options.horizon) / 1000
  const listed = await allPages(options, undefined)
  const inUse: InUse[] = []
  for (const { name } of listed.slice(0, askedMax)) {
    const advice = adviseInUse(await ask<GeneratorAnswer>(options, 'GET', generatorPath(name)), goalSeconds)
    if (advice !== undefined) inUse.push(advice)
  }
  inUse.sort((a, b) => (a.seconds ?? Number.POSITIVE_INFINITY) - (b.seconds ?? Number.POSITIVE_INFINITY))
  if (options.json) return printJson({ generators: inUse })
  if (listed.length > askedMax) print(`only the first ${askedMax} of ${listed.length} generators, by name`)
  if (inUse.length === 0) return print('no generator is in use on this node')
  const heading = [
    'NAME',
    'KIND',
    'PER SECOND',
    'LASTS',
    'PEAK',
    'LASTS AT PEAK',
    'BY CALLERS',
    'ENDS',
    'SET',
  ]
  print(...table(heading, inUse.map(inUseRow)))
}

function inUseRow(advice: InUse): string[] {
  const { name, kind, ratePerSecond, callersPerSecond, peakPerSecond, seconds, secondsAtPeak, set } = advice
  const lasts = (value: number | null) => (value === null ? '' : approximateDuration(value))
  const rates = [ratePerSecond, peakPerSecond, callersPerSecond].map((rate) => grouped(Math.round(rate)))
  const ends = advice.exhaustedAt === null ? '' : advice.exhaustedAt.slice(0, 16)
  return [name, kind, rates[0]!, lasts(seconds), rates[1]!, lasts(secondsAtPeak), rates[2]!, ends, set]
}

function counterLines({ counter }: Advice, rate: number, nodes: number, horizonMs: number): string[] {
  const horizon = formatDuration(horizonMs)
  const [least, most] = counter.inHand.map(grouped)
  return [
    bold(
      `Counters (sequence, segment) at ${grouped(rate)} ids per second on ${nodes === 1 ? 'one node' : `${nodes} nodes`}`,
    ),
    ...fields([
      ['horizon', `${horizon}: ids last this long without the engine, at the rate before the outage`],
      ['buffered', `${least} to ${most} ids on each node at peak`],
      [
        'a crash',
        `leaves at most ${grouped(counter.lostByCrash)} ids of a node unused; a clean stop next to none`,
      ],
      [
        'step',
        `the default follows the rate; step ${counter.step} keeps ${horizon} of peak buffered even after quiet hours`,
      ],
      ...counter.outgrows.map(({ name, at }) => [name, `passed in ${momentOf(at)}; ${needs[name]}`] as const),
      ['2^63', `reached in ${momentOf(counter.ends)}`],
    ]),
  ]
}

function clockLines({ clock }: Advice, layout: string): string[] {
  return [
    bold(`Clock kinds (timestamp, snowflake) with layout ${layout}`),
    ...fields([
      [
        'room',
        `${grouped(clock.idsPerSecondPerNode)} ids per second and node, ${grouped(clock.nodes)} nodes`,
      ],
      ['enough', enoughText(clock)],
      [clock.ended ? 'ended' : 'ends', clock.ends],
      ...clock.outgrows.map((each) => [each.name, outgrownText(each)] as const),
    ]),
  ]
}

function enoughText({ ended, enough, ends }: Advice['clock']): string {
  if (ended)
    return `no: no id is left since ${momentOf(ends)}; choose another layout, or a later epoch for a new generator`
  return enough ? 'yes' : 'no: choose a layout with more sequence or node bits, or a finer unit'
}

/** What larger ids need. */
const needs = {
  INT: 'a column needs BIGINT',
  '15 digits': 'a spreadsheet needs a column of text',
  '2^53': 'JavaScript needs strings',
} as const

function outgrownText({ name, at, isPast }: Advice['clock']['outgrows'][number]): string {
  if (at === undefined) return 'never passed'
  return `${isPast ? 'passed already' : `passed in ${momentOf(at)}`}; ${needs[name]}`
}

/** Shortens a moment to its day, or to its year if that has five digits. */
function momentOf(text: string): string {
  const day = text.replace(/T.*$/, '').replace(/^about /, '')
  return day.replace(/^\+0*(\d+)-.*$/, 'the year $1')
}

function wholeNumber(text: string, flag: string): number {
  if (/^[1-9]\d{0,11}$/.test(text)) return Number(text)
  throw new UsageError(`${flag} '${text}' is no whole number above 0`)
}

function duration(text: string): number {
  try {
    return parseDurationMs(text)
  } catch (error) {
    throw error instanceof FahaoError ? new UsageError(`--horizon: ${error.message}`) : error
  }
}
