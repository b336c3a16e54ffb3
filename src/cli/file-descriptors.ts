/** Whether this process may open as many files as its settings let clients open connections. */
import { readFileSync } from 'node:fs'
import type { Config } from '../config/config-schema.ts'
import { loadConfig } from '../config/load-config.ts'

/** For the store, connections to databases and to other nodes, and Node itself. */
const others = 256
/** Open files that a machine set up for servers gives. Most servers never have as many connections as the defaults allow. */
const plenty = 4096

/**
 * What to do if the limit on open files is too low: below `plenty`, or below what connections need whose number was
 * configured. Undefined: nothing, or the limit is not known.
 */
export function descriptorAdvice(config: Config, limits = limitsOfProcess()): string | undefined {
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? []
  const counted = [
    ['resp-connections-max', config.respConnectionsMax, Number(config.resp !== undefined)],
    [
      'http-connections-max',
      config.httpConnectionsMax,
      config.compatHttp.length + Number(config.http !== undefined),
    ],
    ['postgres-connections-max', config.postgresConnectionsMax, Number(config.postgres !== undefined)],
    // Each connection of a client has one to the MySQL server.
    ['proxy-connections-max', config.proxyConnectionsMax, 2 * Number(config.mysqlProxy !== undefined)],
  ] as const
  const needed = counted.reduce((sum, [, max, times]) => sum + max * times, others)
  if (soft === undefined || Number(soft) >= needed) return
  if (Number(soft) >= plenty && !isConfigured(config)) return
  const settings = counted.flatMap(([setting, , times]) => (times > 0 ? [setting] : []))
  return `this process may open ${soft} files, and its connections may need ${needed}: raise LimitNOFILE (systemd) or ulimit -n, or lower ${settings.join(', ')}`
}

function isConfigured(config: Config): boolean {
  const usual = loadConfig().config
  const keys = [
    'respConnectionsMax',
    'httpConnectionsMax',
    'postgresConnectionsMax',
    'proxyConnectionsMax',
  ] as const
  return keys.some((key) => config[key] !== usual[key])
}

/** Empty on other systems than Linux. */
function limitsOfProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
