import { type Command, Option } from 'commander'
import { type SettingKey, variableOf } from '../../config/config-schema.ts'
import { proxyListener } from '../../config/mysql-proxy-settings.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { addCredentialOptions } from '../credentials.ts'
import { addTlsOptions } from '../http-request.ts'
import { repeated } from '../repeatable-options.ts'

/** The settings that concern a proxy without a node. */
const keys: readonly SettingKey[] = [
  'logLevel',
  'shutdownTimeoutMs',
  'listenBacklog',
  'mysqlProxy',
  'upstream',
  'table',
  'upstreamCa',
  'mysqlProxyUser',
  'proxyUrl',
  'proxyTokenFile',
  'proxyCa',
  'proxyCert',
  'proxyKey',
  'proxyMetrics',
  ...(Object.keys(proxyListener.settings) as SettingKey[]),
  'tlsCert',
  'tlsKey',
  'tlsProtocols',
  'tlsCiphers',
  'tlsHandshakeTimeoutMs',
]

/** `fahao proxy` */
export function addProxy(command: Command): void {
  command
    .description(
      'Runs a proxy in front of a MySQL or MariaDB server: every connection to --listen goes on to --upstream, which checks users and passwords itself. Where an INSERT into a --table gives no id, the ids come from the Fahao server at --url; of several nodes, each is tried in turn. Stops on SIGTERM or SIGINT after the transactions that are under way.\n\nEvery setting is also a key of the config file and an environment variable, as those of `fahao serve` are. --listen is a shorter name of --mysql-proxy, --user of --mysql-proxy-user, and --url, --token-file, --ca, --cert, --key and --metrics of --proxy-url and so on.',
    )
    .addOption(
      new Option('--listen <HOST:PORT>', 'where clients of MySQL connect')
        .env('FAHAO_LISTEN')
        .helpGroup('MySQL proxy:'),
    )
  // `proxy check` has options of the same names.
  command.enablePositionalOptions()
  addProxyCheck(command)
  command.addOption(
    new Option('--metrics <HOST:PORT>', 'where /metrics and /healthz are served').env('FAHAO_METRICS'),
  )
  command.addOption(
    repeated(
      new Option('--url <URL>', 'the server that the ids come from; repeatable: nodes to try in turn'),
    ).env('FAHAO_URL'),
  )
  addCredentialOptions(addTlsOptions(command))
  addConfigOptions(command, keys)
    .addHelpText(
      'after',
      `
Examples:
  fahao proxy check --upstream mysql://fahao:secret@127.0.0.1:3306 --table shop.orders.id=order
  fahao proxy --listen 127.0.0.1:3307 --upstream mysql://fahao:secret@127.0.0.1:3306 --table shop.orders.id=order
  fahao proxy --listen 0.0.0.0:3307 --upstream mysqls://db.example.org --tls-cert cert.pem --tls-key key.pem`,
    )
    .action(async () => {
      const { config } = configOf(command, givenByShortNames(command))
      // Imported here, so that other verbs start without the server's code.
      await (await import('../proxy-server.ts')).runProxy(config)
    })
}

/** Shorter names of settings, which other verbs have too. */
const shortNames = {
  listen: 'mysql-proxy',
  metrics: 'proxy-metrics',
  url: 'proxy-url',
  user: 'mysql-proxy-user',
  'token-file': 'proxy-token-file',
  ca: 'proxy-ca',
  cert: 'proxy-cert',
  key: 'proxy-key',
}

/** The values of settings that are given by shorter names. A variable of the whole name goes before one of the shorter. */
type Given = Record<string, string | readonly string[] | undefined>
function givenByShortNames(command: Command): Given {
  const given: Given = {}
  for (const [short, name] of Object.entries(shortNames)) {
    const [option, whole] = [short, name].map((each) =>
      command.options.find(({ long }) => long === `--${each}`)!.attributeName(),
    ) as [string, string]
    const source = command.getOptionValueSource(option)
    if (source === 'env' && process.env[variableOf(name)]) continue
    if (source === 'cli' && command.getOptionValueSource(whole) === 'cli')
      command.error(`error: --${short} and --${name} are one option, which is given twice; give one of them`)
    given[name] = command.opts()[option] as Given[string]
  }
  return given
}

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
