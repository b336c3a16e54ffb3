import type { Command } from 'commander'
import { addConfigOptions, configOf } from '../config-options.ts'

/** `fahao proxy check` */
export function addProxyCheck(proxy: Command): void {
  const command = proxy
    .command('check')
    .summary('say whether the database refuses rows without an id')
    .description(
      'Looks at each --table on the server of --upstream: whether its column is NOT NULL, without a default and without AUTO_INCREMENT, and whether a CHECK or a trigger refuses a row without an id. Prints the statements that are missing. The proxy fills a table only where nothing is missing.',
    )
    .option('--json', 'print JSON, for scripts')
  addConfigOptions(command, ['upstream', 'upstreamCa', 'table'])
    .addHelpText(
      'after',
      `
Example:
  fahao proxy check --upstream mysql://fahao:secret@127.0.0.1:3306 --table shop.orders.id=order`,
    )
    .action(async (options: { readonly json?: true }) => {
      const { config } = configOf(command)
      // Imported here, so that other verbs start without the proxy's code.
      await (await import('../proxy-check.ts')).checkTables(config, options)
    })
}
