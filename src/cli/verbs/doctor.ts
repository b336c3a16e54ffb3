import { type Command, Option } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import type { Config } from '../../config/config-schema.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { UsageError } from '../exit-codes.ts'
import { addServerOptions, type ServerOptions } from '../server-api.ts'
import { bold, dim, printAnswer } from '../terminal.ts'

type DoctorOptions = ServerOptions & { readonly database?: string }

/** `fahao doctor` */
export function addDoctor(command: Command): void {
  command.description(
    'Looks for what may go wrong: the clock and the limits of this machine, the durability and the clock of the store, fixed worker ids, nodes that are away or of different versions, generators near their end. With --table also the tables that hold ids: ids above the bound of their generator after a restore, columns that overflow and when, texts that a column takes for one, the guard of the MySQL proxy. Changes nothing, and exits with 1 if it finds a problem.',
  )
  addServerOptions(command).addOption(
    new Option(
      '--database <URL>',
      'where the tables are: mysql://USER:PASSWORD@HOST, or postgres://…/DATABASE, whose --table is SCHEMA.TABLE.COLUMN=GENERATOR (default: that of --upstream)',
    ).env('FAHAO_DATABASE'),
  )
  addConfigOptions(command, ['engine', 'workerId', 'upstream', 'upstreamCa', 'table'])
    .addHelpText(
      'after',
      `
Examples:
  fahao doctor --config fahao.yaml
  fahao doctor --table shop.orders.id=order --database mysql://root@127.0.0.1
  fahao doctor --json | jq '.findings[] | select(.level == "problem")'`,
    )
    .action(async (options: DoctorOptions) => {
      const { config } = configOf(command)
      const findings = await findingsOf(config, options)
      printAnswer(
        options,
        { findings },
        findings.flatMap(({ level, what, why, todo }) => [
          level === 'problem' ? bold(`problem  ${what}`) : `${level.padEnd(7)}  ${what}`,
          ...[why && `why: ${why}`, todo && `do: ${todo}`].flatMap((text) =>
            text ? [dim(`         ${text}`)] : [],
          ),
        ]),
      )
      const problems = findings.filter(({ level }) => level === 'problem').length
      if (problems > 0)
        throw new FahaoError('ERR', `${problems === 1 ? 'one problem' : `${problems} problems`}; see above`)
    })
}

async function findingsOf(config: Config, options: DoctorOptions) {
  const { database, ...server } = options
  if (database !== undefined && config.table.length === 0)
    throw new UsageError(
      '--database without a table; name a column and its generator: --table shop.orders.id=order',
    )
  // Imported here, so that other verbs start without the drivers of databases.
  const { machineFindings, nodeFindings, storeFindings } = await import('../doctor.ts')
  const { tableFindings, unseen } = await import('../table-findings.ts')
  const { lookAtNodes } = await import('../node-figures.ts')
  const figures = await lookAtNodes(server, 1).catch((error) => unseen(`the server at ${server.url}`, error))
  const found = [
    ...(await machineFindings(config)),
    ...(await storeFindings(config)),
    ...('level' in figures ? [figures] : nodeFindings(figures)),
  ]
  if (config.table.length === 0) return found
  const { parseFilledColumn } = await import('../../proxy/sql/configured-columns.ts')
  const { upstreamOf } = await import('../proxy-server.ts')
  const upstream = database ?? (await upstreamOf(config))
  if (upstream === undefined)
    throw new UsageError('--table without a database; say where it is with --database URL')
  const rates = new Map(
    'level' in figures
      ? []
      : figures.generators.map((each) => [each.name, each.perSecond + each.callersPerSecond]),
  )
  const tables = await tableFindings(upstream, config.table.map(parseFilledColumn), {
    server,
    perSecond: (generator) => rates.get(generator),
    isProxied: config.mysqlProxy !== undefined || config.upstream !== undefined,
    nowMs: systemClock.wallUs() / 1000,
  }).catch((error) => [unseen('the database', error)])
  return [...found, ...tables]
}
