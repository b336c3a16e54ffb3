/** The addresses of a node: where it listens, and what it announces in a cluster. */
import { type Address, addressText } from '../base/address.ts'
import type { Config, SettingKey } from './config-schema.ts'
import { configError } from './config-values.ts'

/** An address and the setting that gives it. */
export type ConfiguredAddress = { readonly key: SettingKey; readonly address: Address }

/** Every address that a node listens on. */
export function listenersOf({ resp, http, compatHttp }: Config): readonly ConfiguredAddress[] {
  return [
    ...given('resp', resp),
    ...given('http', http),
    ...compatHttp.flatMap(({ address }) => given('compatHttp', address)),
  ]
}

/** Every address that a node of a cluster announces: where nothing is set, the one that it listens on. */
export function announcementsOf({
  resp,
  http,
  announce,
  announceHttp,
}: Config): readonly ConfiguredAddress[] {
  return [
    ...(announce ? given('announce', announce) : given('resp', resp)),
    ...(announceHttp ? given('announceHttp', announceHttp) : given('http', http)),
  ]
}

function given(key: SettingKey, address: Address | undefined): readonly ConfiguredAddress[] {
  return address ? [{ key, address }] : []
}

/** What a node announces, `host:port` of RESP and of HTTP; undefined: not served. */
export type Announced = { readonly resp: string | undefined; readonly http: string | undefined }

/** What a node of a cluster announces. Throws CONFIG when other machines cannot use it as a destination. */
export function announced({ resp, http, announce, announceHttp }: Config): Announced {
  if (resp === undefined) {
    throw configError(
      'clients find the nodes of a cluster by their RESP addresses, and resp is off; give it one',
    )
  }
  return {
    resp: reachable('announce', announce ?? resp),
    http: http && reachable('announce-http', announceHttp ?? http),
  }
}

function reachable(setting: string, address: Address): string {
  const text = addressText(address)
  if (address.port !== 0 && !/^(?:0\.0\.0\.0|::|0:0:0:0:0:0:0:0)$/.test(address.host)) return text
  throw configError(
    `${text} is not an address that other machines can connect to; set --${setting} HOST:PORT to one that is`,
  )
}
