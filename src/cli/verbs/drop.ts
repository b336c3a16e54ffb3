import type { Command } from 'commander'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { printAnswer } from '../terminal.ts'

/** `fahao drop` */
export function addDrop(program: Command): void {
  const command = program
    .command('drop <name>')
    .summary('drop a generator')
    .description(
      'Drops a generator. The store keeps its bound: a new generator of the same name issues ids above it.',
    )
  addServerOptions(command).action(async (name: string, options: ServerOptions) => {
    await ask<void>(options, 'DELETE', generatorPath(name))
    const line = `dropped ${name}; a new generator of this name issues ids above it`
    printAnswer(options, { dropped: name }, line)
  })
}
