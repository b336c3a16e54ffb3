/**
 * One configuration for several processes of one machine, each of which is a node of its own. They differ in their
 * ports alone: the first process has those that are configured, and each one after it has the next ones.
 */
import type { Address } from '../base/address.ts'
import type { FahaoError } from '../base/errors.ts'
import { announced, announcementsOf, type ConfiguredAddress, listenersOf } from './addresses.ts'
import { type Config, type SettingKey, type Sources, settings } from './config-schema.ts'
import { configError } from './config-values.ts'

/** How far the ports of a process are from those of the one before: RESP and HTTP have adjoining ones by default. */
const portStep = 2

const portMax = 65_535

/** The configuration of each process. */
export function configsOf(config: Config): readonly Config[] {
  return Array.from({ length: config.processes }, (_, at) => {
    const moved = (address: Address | undefined) =>
      address && Object.freeze({ host: address.host, port: address.port + portStep * at })
    return Object.freeze({
      ...config,
      resp: moved(config.resp),
      http: moved(config.http),
      announce: moved(config.announce),
      announceHttp: moved(config.announceHttp),
      compatHttp: Object.freeze(
        config.compatHttp.map(({ api, address }) => Object.freeze({ api, address: moved(address)! })),
      ),
    })
  })
}

/** Throws CONFIG where several processes could not be nodes of one cluster. */
export function refuseProcesses(config: Config, sources: Sources): void {
  if (config.processes === 1) return
  const refused = (key: SettingKey, reason: string) => {
    const { name } = settings.find((setting) => setting.key === key)!
    const where = sources[key] === 'default' ? `${name}, which nothing sets` : sources[key]
    return configError(`${where}: ${reason}`)
  }
  if (config.cluster === undefined) {
    throw refused(
      'processes',
      'each process is a node of a cluster; name it with --cluster, on an engine that nodes share (MySQL, MariaDB, PostgreSQL or etcd)',
    )
  }
  if (config.workerId.by !== 'pool') {
    throw refused(
      'workerId',
      'this gives each process the same worker id; let each claim one of its own with --worker-id pool',
    )
  }
  if (config.nodeIndex !== undefined) {
    throw refused('nodeIndex', 'this gives each process the same number; start nodes with numbers one by one')
  }
  const [listeners, announcements] = [listenersOf(config), announcementsOf(config)]
  for (const { key, address } of [...listeners, ...announcements]) {
    const { port } = address
    const last = port + portStep * (config.processes - 1)
    if (port !== 0 && last <= portMax) continue
    throw refused(
      key,
      `each process has ports ${portStep} above those of the one before, which from ${port} does not work for ${config.processes}; give a port from 1 to ${portMax - (last - port)}`,
    )
  }
  refuseSharedPorts(listeners, config.processes, refused)
  refuseSharedPorts(announcements, config.processes, refused)
  // Before a process is started in vain.
  announced(config)
}

/** A port of one process may not be one of another's, whatever the hosts: simple, and no port is scarce. */
function refuseSharedPorts(
  addresses: readonly ConfiguredAddress[],
  processes: number,
  refused: (key: SettingKey, reason: string) => FahaoError,
): void {
  for (const { address: low } of addresses) {
    for (const { key, address: high } of addresses) {
      const apart = (high.port - low.port) / portStep
      if (apart <= 0 || apart >= processes || !Number.isInteger(apart)) continue
      throw refused(
        key,
        `port ${high.port} is also that of process ${apart + 1}, whose ports are ${portStep} above those of the one before; give one that is no even number of ports away from ${low.port}, or at least ${portStep * processes}`,
      )
    }
  }
}
