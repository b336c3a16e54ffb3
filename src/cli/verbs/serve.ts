import type { Command } from 'commander'
import { addConfigOptions, configOf } from '../config-options.ts'

/** `fahao serve` */
export function addServe(program: Command): void {
  const command = program
    .command('serve')
    .summary('run a server')
    .description(
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
      await (await import('../server.ts')).runServer(config)
    })
}
