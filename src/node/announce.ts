/** Where others reach this node: what it announces in a cluster, apart from what it binds to. */
import { type Address, addressText } from '../base/address.ts'
import { FahaoError } from '../base/errors.ts'
import type { Config } from './config-schema.ts'

/** `host:port` of RESP and of HTTP; undefined: not served. */
export type Announced = { readonly resp: string | undefined; readonly http: string | undefined }

/** What a node of a cluster announces. CONFIG when others could not reach it there, or clients not find it. */
export function announced(config: Config): Announced {
  if (config.resp === undefined) {
    throw new FahaoError(
      'CONFIG',
      'clients find the nodes of a cluster by their RESP addresses, and resp is off; give it one',
    )
  }
  return {
    resp: reachable('announce', config.announce ?? config.resp),
    http: config.http && reachable('announce-http', config.announceHttp ?? config.http),
  }
}

function reachable(setting: string, address: Address): string {
  const text = addressText(address)
  if (address.port !== 0 && !/^(?:0\.0\.0\.0|::|0:0:0:0:0:0:0:0)$/.test(address.host)) return text
  throw new FahaoError(
    'CONFIG',
    `nobody can be sent to ${text}; say with --${setting} HOST:PORT where others reach this node`,
  )
}
