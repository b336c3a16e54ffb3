import type { Command } from 'commander'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { printAnswer } from '../terminal.ts'

/** `fahao drop` */
export function addDrop(program: Command): void {
  const command = program
    .command('drop <name>')
    .summary('drop a generator')
    .description('Drops a generator. Its bound is remembered: one of the same name goes on above it.')
  addServerOptions(command).action(async (name: string, options: ServerOptions) => {
    await ask<void>(options, 'DELETE', generatorPath(name))
    const line = `dropped ${name}; a generator of this name will go on above its ids`
    printAnswer(options, { dropped: name }, line)
  })
}
