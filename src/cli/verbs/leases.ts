import type { Command } from 'commander'
import type { LeasesAnswer } from '../../operations/leases.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { printAnswer, table } from '../terminal.ts'

const heading = ['WORKER', 'BY', 'HOLDER', 'GENERATOR', 'USER', 'UNTIL', 'STATE']

/** `fahao leases` */
export function addLeases(command: Command): void {
  command.description(
    `Lists the worker ids of snowflakes that nodes and callers hold, and those that rest: in ascending order.
Plain worker ids are not among them: ID.WORKER LIST and GET /v1/pools/{pool}/workers list those of a pool.`,
  )
  addServerOptions(command)
    .option('--match <PATTERN>', 'only leases for generators whose names match, such as event:*')
    .addHelpText(
      'after',
      `
Examples:
  fahao leases --match 'event:*'
  fahao leases --json | jq '.workers[] | select(.by == "caller").holder'`,
    )
    .action(async (options: ServerOptions & { match?: string }) => {
      const workers: LeasesAnswer['workers'] = []
      let after: string | undefined
      do {
        const query = { match: options.match, after }
        const page = await ask<LeasesAnswer>(options, 'GET', '/v1/leases', { query })
        workers.push(...page.workers)
        after = page.next === null ? undefined : String(page.next)
      } while (after !== undefined)
      printAnswer(options, { workers }, linesOf(workers, options.match))
    })
}

function linesOf(workers: LeasesAnswer['workers'], match: string | undefined): string[] {
  // A user sees only leases that it may name, so an empty answer does not say that no worker id is in use.
  if (workers.length === 0)
    return [`no worker ids to show${match === undefined ? '' : ` for generators that match ${match}`}`]
  return table(heading, workers.map(row))
}

function row({ worker, by, holder, generator, user, untilUs, state }: LeasesAnswer['workers'][number]) {
  const until = new Date(untilUs / 1000).toISOString()
  return [String(worker), by, holder, generator ?? '-', user ?? '-', until, state]
}
