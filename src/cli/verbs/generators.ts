/** The verbs about one generator, and the list of all. */

import { type Command, Option } from 'commander'
import { nearest } from '../../base/nearest.ts'
import { generatorOptions, optionNames } from '../../catalogue/generator-options.ts'
import { hyphenated } from '../../config/config-schema.ts'
import { kinds } from '../../issuing/issuer.ts'
import type { GeneratorAnswer, GeneratorPage, ListedGenerator } from '../../operations/shapes.ts'
import { addYes, type Confirmed, confirm } from '../confirmation.ts'
import { UsageError } from '../exit-codes.ts'
import { generatorLines, unusualOptions } from '../generator-text.ts'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { fields, printAnswer, table } from '../terminal.ts'

/** `fahao create` */
export function addCreate(command: Command): void {
  command.description('Creates a generator. Repeating it with the same options changes nothing.')
  addGeneratorFlags(addServerOptions(command))
    .addHelpText(
      'after',
      `
Examples:
  fahao create order --kind sequence                   1, 2, 3 … in strict order
  fahao create user --kind segment --start 100000      in order per node, fast on a fleet
  fahao create event --kind snowflake                  time, worker id, sequence
  fahao create sms --kind segment --format 'sms_{id}'  text around the id
  fahao create coupon --kind segment --within shuffled --format 'coupon_{id:8}{check:luhn}'`,
    )
    .action(async (name: string, options: ServerOptions) => {
      const body = givenGeneratorOptions(command)
      if (!kinds.some((kind) => kind === body.kind))
        throw new UsageError(`${ofNoKind(body.kind)}; give --kind ${kinds.join('|')}`)
      const generator = await ask<GeneratorAnswer>(options, 'PUT', generatorPath(name), { body })
      printAnswer(options, generator, created(generator))
    })
}

/** `fahao alter` */
export function addAlter(command: Command): void {
  command.description(
    'Changes options of a generator. What is left out stays. Changing what an id is made of (kind, layout, increment, …) starts a new incarnation above every id of the old one.',
  )
  addGeneratorFlags(addServerOptions(command))
    .addOption(
      new Option('--floor <id>', 'move a sequence or segment forward, to this id at least').helpGroup(
        'Generator:',
      ),
    )
    .addOption(
      new Option('--now', 'with --floor, of a segment: nodes drop the ids that they have buffered').helpGroup(
        'Generator:',
      ),
    )
    .addOption(
      new Option('--force', 'with --floor: also where it gives up very many ids').helpGroup('Generator:'),
    )
    .addHelpText(
      'after',
      `
Examples:
  fahao alter order --step 5000       reserve at least 5,000 at a time
  fahao alter order --floor 1000000   the next id is 1,000,000 or above
  fahao alter user --floor 1000000 --now   so on every node, at once`,
    )
    .action(async (name: string, options: ServerOptions & { floor?: string; now?: true; force?: true }) => {
      const { floor, now, force } = options
      const moved = {
        ...(floor !== undefined && { floor, ...(force && { force }) }),
        ...(now && { now }),
      }
      const body = { ...givenGeneratorOptions(command), ...moved }
      if (Object.keys(body).length === 0)
        throw new UsageError('nothing to change; name an option: --step 5000')
      const generator = await ask<GeneratorAnswer>(options, 'PATCH', generatorPath(name), { body })
      printAnswer(options, generator, generatorLines(generator))
    })
}

function ofNoKind(given: string | number | undefined): string {
  if (given === undefined) return 'a generator has a kind'
  const meant = nearest(String(given), kinds)
  return `'${given}' is no kind${meant === undefined ? '' : `, ${meant} is near`}`
}

/** The options that differ from the defaults; `info` shows all. */
function created(generator: GeneratorAnswer): string[] {
  const lines = fields([
    ['name', generator.name],
    ['kind', generator.kind],
    ['options', unusualOptions(generator)],
    ['an id', `fahao next ${generator.name}`],
    ['everything about it', `fahao info ${generator.name}`],
  ])
  return [...lines, ...generator.notes.map((note) => `note: ${note}`)]
}

/** Gives `command` a flag for each option of a generator. */
function addGeneratorFlags(command: Command): Command {
  for (const name of optionNames) {
    const description = generatorOptions.shape[name].meta()?.description ?? ''
    command.addOption(new Option(`--${hyphenated(name)} <value>`, description).helpGroup('Generator:'))
  }
  return command
}

/** The options that were given, as HTTP takes them. */
function givenGeneratorOptions(command: Command): Record<string, string | number> {
  const values = command.opts() as Record<string, string>
  return Object.fromEntries(
    optionNames
      .filter((name) => values[name] !== undefined)
      // A node is a number in JSON; everything else may be text.
      .map((name) => [name, name === 'node' ? numberOf(values[name]!) : values[name]!]),
  )
}

function numberOf(text: string): number | string {
  return /^\d{1,9}$/.test(text) ? Number(text) : text
}

/** `fahao drop` */
export function addDrop(command: Command): void {
  command.description(
    'Drops a generator. The store keeps its bound: a new generator of the same name issues ids above it.',
  )
  addYes(addServerOptions(command)).action(async (name: string, options: ServerOptions & Confirmed) => {
    await confirm(options, `the generator '${name}' is dropped: requests for it fail`)
    await ask<void>(options, 'DELETE', generatorPath(name))
    const line = `dropped ${name}; a new generator of this name issues ids above it`
    printAnswer(options, { dropped: name }, line)
  })
}

/** `fahao info` */
export function addInfo(command: Command): void {
  command.description(
    'Shows a generator: its options, how far it is, how fast it goes, how long it will last.',
  )
  addServerOptions(command).action(async (name: string, options: ServerOptions) => {
    const generator = await ask<GeneratorAnswer>(options, 'GET', generatorPath(name))
    printAnswer(options, generator, generatorLines(generator))
  })
}

/** `fahao list` */
export function addList(command: Command): void {
  command.description(
    'Lists generators by name, each with the options in which it differs from the plain kind.',
  )
  addServerOptions(command)
    .option('--match <PATTERN>', 'only names that match, such as order:*')
    .addHelpText(
      'after',
      `
Examples:
  fahao list --match 'order:*'
  fahao list --json | jq -r '.generators[].name'`,
    )
    .action(async (options: ServerOptions & { match?: string }) => {
      const generators = await allPages(options, options.match)
      const none = 'no generators; create one: fahao create order --kind sequence'
      const lines = generators.length === 0 ? none : table(['NAME', 'KIND', 'OPTIONS'], generators.map(row))
      printAnswer(options, { generators }, lines)
    })
}

/** All generators of a server, page by page. */
export async function allPages(
  options: ServerOptions,
  match: string | undefined,
): Promise<ListedGenerator[]> {
  const all: ListedGenerator[] = []
  let after: string | undefined
  do {
    const query = { match, after, limit: '1000' }
    const page = await ask<GeneratorPage>(options, 'GET', '/v1/generators', { query })
    all.push(...page.generators)
    after = page.next ?? undefined
  } while (after !== undefined)
  return all
}

function row(generator: ListedGenerator): string[] {
  return [generator.name, generator.kind, unusualOptions(generator)]
}

type NextOptions = ServerOptions & {
  readonly count?: string
  readonly at?: string
  readonly above?: string
  readonly force?: true
  readonly gene?: string[]
  readonly by?: string[]
}

/** `fahao next` */
export function addNext(command: Command): void {
  command.description('Gets ids from a generator, one per line.')
  addServerOptions(command)
    .option('--count <N>', 'how many (default 1)')
    .option(
      '--at <MOMENT>',
      'of this past moment: ISO 8601 with a zone, or Unix milliseconds; with periods also of a day, 2026-11-25',
    )
    .option('--above <N>', 'each id larger than this number')
    .option('--force', 'with --above: skip more ids than the option jump allows')
    .option('--gene <N...>', 'the gene of all ids, or of each')
    .option('--by <KEY...>', 'a key for all ids, or for each, whose CRC-32 is the gene')
    .addHelpText(
      'after',
      `
Examples:
  fahao next order
  fahao next order --count 1000 > ids.txt
  fahao next order --by user:8812                               with the gene of a customer
  redis-cli -p 7379 INCR order                                  the same over Redis's protocol
  curl -X POST http://127.0.0.1:7380/v1/generators/order/next   the same over HTTP`,
    )
    .action(async (name: string, options: NextOptions) => {
      const { count, at, above, gene, by } = options
      const query = { count, at, above, force: options.force && 'true', gene, by }
      if (query.count !== undefined && !/^0*[1-9]\d*$/.test(query.count))
        throw new UsageError(`--count '${query.count}' is no whole number of ids, 1 or more`)
      const answer = await ask<{ ids: string[] }>(options, 'POST', generatorPath(name, '/next'), { query })
      printAnswer(options, answer, answer.ids)
    })
}
