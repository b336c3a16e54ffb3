import type { Command } from 'commander'
import { UsageError } from '../exit-codes.ts'
import { addServerOptions, ask, generatorPath, type ServerOptions } from '../server-api.ts'
import { printAnswer } from '../terminal.ts'

/** `fahao next` */
export function addNext(program: Command): void {
  const command = program
    .command('next <name>')
    .summary('get ids')
    .description('Gets ids from a generator, one per line.')
  addServerOptions(command)
    .option('--count <N>', 'how many (default 1)')
    .addHelpText(
      'after',
      `
Examples:
  fahao next order
  fahao next order --count 1000 > ids.txt
  redis-cli -p 7379 INCR order                                  the same over Redis's protocol
  curl -X POST http://127.0.0.1:7380/v1/generators/order/next   the same over HTTP`,
    )
    .action(async (name: string, options: ServerOptions & { count?: string }) => {
      const query = { count: options.count }
      if (query.count !== undefined && !/^0*[1-9]\d*$/.test(query.count))
        throw new UsageError(`--count '${query.count}' is no whole number of ids, 1 or more`)
      const answer = await ask<{ ids: string[] }>(options, 'POST', generatorPath(name, '/next'), { query })
      printAnswer(options, answer, answer.ids)
    })
}
