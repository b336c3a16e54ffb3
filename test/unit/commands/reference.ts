/** The reference page of the commands, written from their records. */
import { createCommands } from '../../../src/commands/all.ts'
import type { Command, CommandGroup } from '../../../src/commands/command.ts'
import { usage } from '../../../src/commands/command-help.ts'
import { refusals } from '../../../src/commands/refused-commands.ts'

/** Where the page is. */
export const referencePage = new URL('../../../docs/reference/commands.md', import.meta.url)

const groups: readonly (readonly [group: CommandGroup, title: string, text: string])[] = [
  ['id', 'Ids', "Fahao's own family."],
  ['string', 'Counters, as in Redis', 'Redis’s names where Redis has the meaning; any client calls them.'],
  ['generic', 'Names', 'A generator is a key; its type is `string`.'],
  ['connection', 'Connection', ''],
  [
    'transactions',
    'Transactions',
    'Redis’s words and rules. Several libraries send each pipeline as a transaction.',
  ],
  ['server', 'Server', ''],
  ['cluster', 'Cluster', ''],
]

const head = `# Commands

Over RESP2 and RESP3, for any Redis client and for \`redis-cli\`. Command names, subcommands and option words may be in either
case; names of generators are compared byte by byte.

- **Ids are integers where Redis has integers** (\`INCR\`, \`INCRBY\`) and strings elsewhere (\`ID.NEXT\`, \`GET\`). JavaScript
  clients round integers past 2^53−1: a client that names no library known to be exact gets \`UNSAFE\` instead, before an id
  is used up. \`ID.NEXT\` is exact for every client.
- **An error uses up no id.** Errors begin with a published word: see [errors](errors.md). Malformed requests are answered
  in the words of Redis.
- **needs** says which permission a user has to have: \`issue\` ids, \`read\`, \`manage\` generators, or \`admin\` of the server.
- \`COMMAND DOCS\`, \`ID.HELP\` and \`CLIENT HELP\` say the same as this page, from a running server.

<!-- Written by \`npm run docs\` from the records in src/commands. -->
`

/** The page. */
export function renderCommandReference(): string {
  const commands = createCommands().all()
  const sections = groups.map(([group, title, text]) => {
    const members = commands.filter((command) => command.group === group)
    return [`## ${title}`, text, ...members.flatMap(commandSections)]
      .filter((part) => part !== '')
      .join('\n\n')
  })
  return `${[head.trimEnd(), ...sections, refusedSection()].join('\n\n')}\n`
}

function commandSections(command: Command): string[] {
  const own = command.handler === undefined ? [] : [section(command)]
  return [...own, ...(command.subcommands ?? []).map((subcommand) => section(subcommand, command.name))]
}

function section(command: Command, container?: string): string {
  const needs = command.permission === 'connection' ? 'nothing' : `\`${command.permission}\``
  return [
    `### \`${usage(command, container)}\``,
    command.summary,
    `**Reply** ${command.reply} **Needs** ${needs}.`,
    ...(command.notes === undefined ? [] : [command.notes]),
  ].join('\n\n')
}

function refusedSection(): string {
  const bySentence = Map.groupBy(refusals, ([, text]) => text.slice(text.indexOf(': ') + 2))
  const rows = [...bySentence].map(([sentence, entries]) => {
    const names = entries.map(([name]) => `\`${name.replace('|', ' ').toUpperCase()}\``)
    return `| ${names.join(', ')} | ${sentence} |`
  })
  return [
    '## What cannot be had',
    'These commands of Redis have no meaning for generators. They are answered with an error that says what to do instead.',
    ['| command | why, and what to do |', '|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}
