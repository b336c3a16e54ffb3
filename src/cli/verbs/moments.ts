/** The verbs that tell which ids are of which moments. */
import type { Command } from 'commander'
import { encode, unitsOf } from '../../ids/id-parts.ts'
import { describeId } from '../../ids/inspect.ts'
import { parseLayout } from '../../ids/layout-text.ts'
import { bounds, condition } from '../../ids/moment-bounds.ts'
import type { BoundsAnswer, EncodedId } from '../../operations/moments.ts'
import { UsageError, wholeNumber } from '../exit-codes.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { fields, printAnswer } from '../terminal.ts'

type Subject = ServerOptions & { readonly layout?: string; readonly generator?: string }
type Parts = { readonly node?: string; readonly sequence?: string; readonly gene?: string }
type Span = Pick<BoundsAnswer, 'ranges' | 'texts' | 'where' | 'notes'>

/** `fahao bounds` */
export function addBounds(command: Command): void {
  addSubject(
    command.description(
      'The ranges of the ids of a span of time, and a condition of SQL for them. Without --generator no server is needed.',
    ),
  )
    .requiredOption('--from <MOMENT>', 'ISO 8601 with a zone, or Unix milliseconds')
    .option('--to <MOMENT>', 'the first moment that is not included (default: all later ones)')
    .addHelpText(
      'after',
      `
Examples:
  fahao bounds --generator event --from 2019-05-04T00:00:00Z --to 2019-05-05T00:00:00Z
  fahao bounds --layout twitter --from 2019-05-04T00:00:00Z`,
    )
    .action(async (options: Subject & { readonly from: string; readonly to?: string }) => {
      const { from, to } = options
      const span = await either<Span>(options, '/v1/bounds', { from, to }, (layout) => {
        const { ranges, notes } = bounds(parseLayout(layout), from, to)
        const texts = ranges.map(({ start, end }) => ({
          start: String(start),
          end: end === undefined ? null : String(end),
        }))
        return { ranges: texts, where: condition(ranges, 'id'), notes }
      })
      printAnswer(options, span, [span.where, ...span.notes.map((note) => `# ${note}`)].join('\n'))
    })
}

/** `fahao encode` */
export function addEncode(command: Command): void {
  addSubject(
    command.description(
      'The smallest id of a moment, or that of a node and a sequence number. It is not drawn. Without --generator no server is needed.',
    ),
  )
    .option('--node <N>', 'the node part (default: 0)')
    .option('--sequence <N>', 'the sequence number (default: 0)')
    .option('--gene <N>', 'the gene (default: 0)')
    .addHelpText(
      'after',
      `
Example:
  fahao encode 2019-05-04T12:00:00Z --layout twitter`,
    )
    .action(async (at: string, options: Subject & Parts) => {
      const { node, sequence, gene } = options
      const encoded = await either<EncodedId>(options, '/v1/encode', { at, node, sequence, gene }, (text) => {
        const layout = parseLayout(text)
        const parts = Object.entries({ node, sequence, gene }).filter(([, value]) => value !== undefined)
        const given = Object.fromEntries(
          parts.map(([name, value]) => [name, Number(wholeNumber(value!, `--${name}`))]),
        )
        return describeId(layout, encode(layout, { time: unitsOf(layout, at), ...given }))
      })
      const { fields: named, ...others } = { fields: {}, ...encoded }
      printAnswer(options, encoded, fields(Object.entries({ ...others, ...named })))
    })
}

function addSubject(command: Command): Command {
  return addServerOptions(command)
    .option('--layout <LAYOUT>', 'a preset, or fields: time:41,node:10,sequence:12;epoch=…')
    .option('--generator <NAME>', 'the generator whose ids they are')
}

/** Asks the server about a generator, and works it out here for a layout. */
async function either<Answer>(
  options: Subject,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  here: (layout: string) => Answer,
): Promise<Answer> {
  const { layout, generator } = options
  if ((layout === undefined) === (generator === undefined))
    throw new UsageError('give --generator or --layout, one of the two')
  if (layout !== undefined) return here(layout)
  return ask(options, 'GET', path, { query: { ...query, generator } })
}
