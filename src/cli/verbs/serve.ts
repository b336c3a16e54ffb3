import type { Command } from 'commander'
import { settings } from '../../config/config-schema.ts'
import { settingsText } from '../../config/load-config.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { print, printJson, table } from '../terminal.ts'

/** `fahao serve` */
export function addServe(command: Command): void {
  command.description(
    'Runs a server: Redis’s protocol on --resp, HTTP on --http, durable in --engine. Stops on SIGTERM or SIGINT after answering what is under way, and gives unused ids back.\n\nEvery flag is also a key of the config file (lead-max) and an environment variable (FAHAO_LEAD_MAX); `fahao config` shows where each value comes from.',
  )
  addConfigOptions(command)
    .addHelpText(
      'after',
      `
Examples:
  fahao serve                                            on this machine, in ./data/fahao.db
  fahao serve --engine sqlite:/var/lib/fahao/fahao.db
  fahao serve --auto-create 'order:*=sequence'           the first request creates a generator
  fahao serve --resp 0.0.0.0:7379 --http off --insecure  in a container, on a private network
  fahao serve --engine etcd://10.0.0.11/ids --cluster ids`,
    )
    .action(async () => {
      const { config } = configOf(command)
      // Imported here, so that other verbs start without the server's code.
      await (await import('../run-server.ts')).runServer(config)
    })
}

/** `fahao config` */
export function addConfig(command: Command): void {
  command
    .description(
      'Shows what `serve` with the same flags would run with: every setting, its value and its source. Flags go before environment variables (FAHAO_LEAD for --lead), these before the file, the file before defaults.',
    )
    .option('--json', 'print JSON, for scripts')
  addConfigOptions(command).action((options: { json?: true }) => {
    const { config, sources } = configOf(command)
    const values = new Map(settingsText(config))
    const rows = settings.map(({ key, name }) => ({ name, value: values.get(name)!, source: sources[key] }))
    const generators = config.generators.map(([name]) => name)
    if (options.json) return printJson({ settings: rows, generators })
    print(
      ...table(
        ['SETTING', 'VALUE', 'SOURCE'],
        rows.map(({ name, value, source }) => [name, value, source]),
      ),
    )
    if (generators.length > 0) print('', `generators of the file: ${generators.join(', ')}`)
  })
}
