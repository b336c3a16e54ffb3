import type { Command } from 'commander'
import type { GeneratorAnswer } from '../../operations/shapes.ts'
import { generatorLines } from '../generator-text.ts'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { printAnswer } from '../terminal.ts'

/** `fahao info` */
export function addInfo(program: Command): void {
  const command = program
    .command('info <name>')
    .summary('show a generator')
    .description('Shows a generator: its options, how far it is, how fast it goes, how long it will last.')
  addServerOptions(command).action(async (name: string, options: ServerOptions) => {
    const generator = await ask<GeneratorAnswer>(options, 'GET', generatorPath(name))
    printAnswer(options, generator, generatorLines(generator))
  })
}
