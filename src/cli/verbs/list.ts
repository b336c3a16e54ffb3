import type { Command } from 'commander'
import type { GeneratorPage, ListedGenerator } from '../../operations/shapes.ts'
import { specialties } from '../generator-text.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { printAnswer, table } from '../terminal.ts'

/** `fahao list` */
export function addList(program: Command): void {
  const command = program
    .command('list')
    .summary('list generators')
    .description('Lists generators by name, each with the options in which it differs from the plain kind.')
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
  return [generator.name, generator.kind, specialties(generator)]
}
