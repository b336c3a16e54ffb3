import type { Command } from 'commander'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { printAnswer } from '../terminal.ts'

/** Longer than the server's deadline of an advance at the default call-timeout: a store may hold 100,000 generators. */
const timeoutMs = 270_000

/** `fahao advance` */
export function addAdvance(program: Command): void {
  const command = program
    .command('advance')
    .summary('raise every bound, after an engine has forgotten')
    .description(
      'Raises the bound of every counter, and accepts what the engine holds as the truth. The way out when the engine has forgotten acknowledged writes (REGRESSED): a restored copy, a failover that lost some.',
    )
  addServerOptions(command)
    .requiredOption(
      '--by <N>',
      'more ids than any generator can have reserved since the state that came back: those issued, and one largest refill for each node and each crash',
    )
    .option('--force', 'also by more than 2^40, which every counter gives up')
    .addHelpText(
      'after',
      `
Example:
  fahao advance --by 10000000   at 1,000 ids per second, enough for two hours and two refills`,
    )
    .action(async (options: ServerOptions & { by: string; force?: true }) => {
      const body = { by: options.by, ...(options.force && { force: true }) }
      const asked = { body, timeoutMs }
      const answer = await ask<{ counters: number }>(options, 'POST', '/v1/engine/advance', asked)
      printAnswer(options, answer, `raised ${answer.counters} counters by ${options.by}`)
    })
}
