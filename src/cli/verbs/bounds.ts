/** The verbs that move bounds by hand: all of them forward, or one back. */

import type { Command } from 'commander'
import { FahaoError } from '../../base/errors.ts'
import { lower, planLowering } from '../../catalogue/lowering.ts'
import { legacyTableOf } from '../../legacy/open.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { wholeNumber } from '../exit-codes.ts'
import { openStore } from '../open-store.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { recordInStore } from '../store-audit.ts'
import { printAnswer } from '../terminal.ts'

/** Longer than the server's deadline of an advance at the default call-timeout: a store may hold 100,000 generators. */
const advanceTimeoutMs = 270_000

/** `fahao advance` */
export function addAdvance(command: Command): void {
  command.description(
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
      const asked = { body, timeoutMs: advanceTimeoutMs }
      const answer = await ask<{ counters: number }>(options, 'POST', '/v1/engine/advance', asked)
      printAnswer(options, answer, `raised ${answer.counters} counters by ${options.by}`)
    })
}

type LowerOptions = { readonly to: string; readonly force?: true; readonly json?: true }

/** `fahao lower` */
export function addLower(command: Command): void {
  command
    .description(
      'Moves a sequence or segment back to a smaller id, in the store of --engine. Stop all its servers first. Ids from there up to where it stood may have been issued, and are then issued a second time: without --force it says which these are, and changes nothing.',
    )
    .requiredOption('--to <ID>', 'the next id: above every id that is in use')
    .option('--force', 'no server runs, and no id from there on is in use')
    .option('--json', 'print JSON, for scripts')
  addConfigOptions(command, ['engine'])
    .addHelpText(
      'after',
      `
Example:
  fahao lower order --to 1000001 --force   SELECT max(id) FROM orders gave 1000000`,
    )
    .action(async (name: string, options: LowerOptions) => {
      const { config } = configOf(command)
      const to = wholeNumber(options.to, '--to')
      const table = legacyTableOf(config.engine)
      if (table !== undefined)
        throw new FahaoError(
          'ERR',
          `ids are counted in ${table}; lower the row there, with all nodes stopped`,
        )
      const engine = await openStore(config)
      try {
        const plan = await planLowering(engine, name, to)
        const again = `ids from ${to} to ${plan.from - 1n} may have been issued, and can be issued a second time`
        if (!options.force)
          throw new FahaoError(
            'ERR',
            `'${name}' stands at ${plan.from}: ${again}; nothing was changed: stop all servers, make sure that none of these ids is in use, and repeat it with --force`,
          )
        await lower(engine, plan)
        await recordInStore(engine, 'lower', [name], `from ${plan.from} to ${to}`)
        const answer = { name, from: String(plan.from), to: String(to) }
        printAnswer(options, answer, `'${name}' continues at ${to}; ${again}`)
      } finally {
        await engine.close()
      }
    })
}
