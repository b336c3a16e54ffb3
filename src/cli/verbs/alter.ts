import { type Command, Option } from 'commander'
import type { GeneratorAnswer } from '../../http/native/shapes.ts'
import { UsageError } from '../exit-codes.ts'
import { addGeneratorFlags, givenGeneratorOptions } from '../generator-flags.ts'
import { generatorLines } from '../generator-text.ts'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { print, printJson } from '../terminal.ts'

/** `fahao alter` */
export function addAlter(program: Command): void {
  const command = program
    .command('alter <name>')
    .summary('change options of a generator')
    .description(
      'Changes options of a generator. What is left out stays. Changing what an id is made of (kind, layout, increment, …) starts a new incarnation above every id of the old one.',
    )
  addGeneratorFlags(addServerOptions(command))
    .addOption(
      new Option('--floor <id>', 'move a sequence or segment forward, to this id at least').helpGroup(
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
  fahao alter order --floor 1000000   go on at 1,000,000 or above`,
    )
    .action(async (name: string, options: ServerOptions & { floor?: string; force?: true }) => {
      const { floor, force } = options
      const moved = floor === undefined ? {} : { floor, ...(force && { force }) }
      const body = { ...givenGeneratorOptions(command), ...moved }
      if (Object.keys(body).length === 0)
        throw new UsageError('nothing to change; name an option: --step 5000')
      const generator = await ask<GeneratorAnswer>(options, 'PATCH', generatorPath(name), { body })
      if (options.json) printJson(generator)
      else print(...generatorLines(generator))
    })
}
