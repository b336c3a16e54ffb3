/** Whether this process may open as many files as its settings let clients open connections. */
import { readFileSync } from 'node:fs'
import type { Config } from '../node/config-schema.ts'

/** For the store, connections to databases and to other nodes, and Node itself. */
const others = 256

/** What to do if the limit on open files is too low; undefined: nothing, or the limit is not known. */
export function descriptorAdvice(config: Config, limits = limitsOfProcess()): string | undefined {
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? []
  const http = config.compatHttp.length + (config.http === undefined ? 0 : 1)
  const resp = config.resp === undefined ? 0 : 1
  const postgres = config.postgres === undefined ? 0 : config.postgresConnectionsMax
  // Each connection of a client has one to the MySQL server.
  const mysql = config.mysqlProxy === undefined ? 0 : 2 * config.proxyConnectionsMax
  const needed =
    resp * config.respConnectionsMax + http * config.httpConnectionsMax + postgres + mysql + others
  if (soft === undefined || Number(soft) >= needed) return
  return `this process may open ${soft} files, and its connections may need ${needed}: raise LimitNOFILE (systemd) or ulimit -n, or lower resp-connections-max and http-connections-max`
}

/** Empty on other systems than Linux. */
function limitsOfProcess(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
