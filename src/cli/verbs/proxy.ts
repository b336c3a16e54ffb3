import { type Command, Option } from 'commander'
import type { SettingKey } from '../../node/config-schema.ts'
import type { ServiceOptions } from '../client-supply.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { addCredentialOptions } from '../credentials.ts'
import { addTlsOptions } from '../http-request.ts'
import { defaultUrl } from '../server-api.ts'

/** The settings that concern a proxy without a node. */
const keys: readonly SettingKey[] = [
  'logLevel',
  'shutdownTimeoutMs',
  'listenBacklog',
  'mysqlProxy',
  'upstream',
  'table',
  'upstreamCa',
  'proxyConnectionsMax',
  'proxyConnectionsPerAddressMax',
  'proxyUnauthenticatedConnectionsMax',
  'proxyLoginTimeoutMs',
  'proxyUnreadTimeoutMs',
  'proxyUnreadTotalMaxBytes',
  'proxyStatementMaxBytes',
  'proxyStatementsMax',
  'proxyIdTimeoutMs',
  'proxyIdleTimeoutMs',
  'tlsCert',
  'tlsKey',
  'tlsHandshakeTimeoutMs',
]

/** `fahao proxy` */
export function addProxy(program: Command): void {
  const command = program
    .command('proxy')
    .summary('run a MySQL proxy')
    .description(
      'Runs a proxy in front of a MySQL or MariaDB server: every connection to --listen goes on to --upstream, which checks users and passwords itself. Where an INSERT into a --table gives no id, the ids come from the Fahao server at --url. Stops on SIGTERM or SIGINT after the transactions that are under way.\n\nEvery flag is also a key of the config file and an environment variable, as those of `fahao serve` are.',
    )
    .addOption(
      new Option('--listen <HOST:PORT>', 'a shorter name of --mysql-proxy').helpGroup('MySQL proxy:'),
    )
  command.addOption(
    new Option('--metrics <HOST:PORT>', 'where /metrics and /healthz are served').env('FAHAO_METRICS'),
  )
  command.addOption(
    new Option('--url <URL>', 'the server that the ids come from').default(defaultUrl).env('FAHAO_URL'),
  )
  addCredentialOptions(addTlsOptions(command))
  addConfigOptions(command, keys)
    .addHelpText(
      'after',
      `
Examples:
  fahao proxy --listen 127.0.0.1:3307 --upstream mysql://127.0.0.1:3306 --table shop.orders.id=order
  fahao proxy --listen 0.0.0.0:3307 --upstream mysqls://db.example.org --tls-cert cert.pem --tls-key key.pem`,
    )
    .action(
      async ({ listen, metrics, ...service }: ServiceOptions & { listen?: string; metrics?: string }) => {
        const { config } = configOf(command, { 'mysql-proxy': listen })
        // Imported here, so that other verbs start without the server's code.
        await (await import('../proxy-server.ts')).runProxy(config, serviceOf(service), metrics)
      },
    )
}

/** The options among all flags that say how the service is reached. */
function serviceOf({ url, user, tokenFile, ca, cert, key }: ServiceOptions): ServiceOptions {
  return {
    url,
    ...(user !== undefined && { user }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
}
