/** The addresses of a node: where it listens, and what it announces in a cluster. */
import { type Address, addressText } from '../base/address.ts'
import type { Config, SettingKey } from './config-schema.ts'
import { configError } from './config-values.ts'

/** Every address that a node listens on, with the setting that gives it. */
export function listenersOf({
  resp,
  http,
  compatHttp,
}: Config): readonly { readonly key: SettingKey; readonly address: Address }[] {
  return [
    ...(resp ? [{ key: 'resp', address: resp } as const] : []),
    ...(http ? [{ key: 'http', address: http } as const] : []),
    ...compatHttp.map(({ address }) => ({ key: 'compatHttp', address }) as const),
  ]
}

/** What a node announces, `host:port` of RESP and of HTTP; undefined: not served. */
export type Announced = { readonly resp: string | undefined; readonly http: string | undefined }

/** What a node of a cluster announces. Throws CONFIG when other machines cannot use it as a destination. */
export function announced(config: Config): Announced {
  const { resp, http } = config
  if (resp === undefined) {
    throw configError(
      'clients find the nodes of a cluster by their RESP addresses, and resp is off; give it one',
    )
  }
  return {
    resp: reachable('announce', config.announce ?? resp),
    http: http && reachable('announce-http', config.announceHttp ?? http),
  }
}

function reachable(setting: string, address: Address): string {
  const text = addressText(address)
  if (address.port !== 0 && !/^(?:0\.0\.0\.0|::|0:0:0:0:0:0:0:0)$/.test(address.host)) return text
  throw configError(
    `${text} is not an address that other machines can connect to; set --${setting} HOST:PORT to one that is`,
  )
}
