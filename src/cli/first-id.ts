/** Commands that draw a first id, to paste after a server has started. */
import type { Access } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import { type Address, addressText } from '../base/address.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Config } from '../config/config-schema.ts'
import { curlLogin, redisCliLogin, shellWord } from '../http/console/snippets.ts'
import { isStrict, type Kind } from '../issuing/issuer.ts'
import { speaksTls } from '../listening/listener-tls.ts'

/** A line to paste, and its purpose. */
export type Step = { readonly what: string; readonly line: string }

/** The addresses that a server listens on; undefined: not served. */
export type Listeners = { readonly resp: Address | undefined; readonly http: Address | undefined }

const listed = 1000

/**
 * The steps to a first id. They prefer a sequence, whose ids 1, 2, 3 are the expected ones. `strict`: this process serves
 * strict kinds; `clustered`: it may answer MOVED. Where a login is needed, they name a user that may run them.
 */
export async function firstIdSteps(
  { catalogue, access }: { readonly catalogue: Catalogue; readonly access: Logins },
  { resp, http }: Listeners,
  config: Config,
  { strict, clustered }: { readonly strict: boolean; readonly clustered: boolean },
): Promise<Step[]> {
  const { found: generators } = await catalogue.page({ looks: listed })
  const found = strict
    ? (generators.find(({ definition }) => definition.kind === 'sequence') ?? generators[0])
    : generators.find(({ definition }) => !isStrict(definition.kind))
  const name = found?.name ?? (strict ? 'order' : 'user')
  const created: Kind | undefined = found ? undefined : strict ? 'sequence' : 'segment'
  const kind = found?.definition.kind ?? created!
  const commands = ['incr', 'id.next', ...(created ? ['id.create'] : [])]
  const about = { kind, created, clustered, user: userFor(access, commands, name) }
  return [
    ...(resp ? respSteps(resp, config, name, about) : []),
    ...(http ? httpSteps(http, config, name, { ...about, created: resp ? undefined : created }) : []),
  ]
}

type Logins = Pick<AccessControl, 'initial' | 'users'>
type About = {
  readonly kind: Kind
  readonly created: Kind | undefined
  readonly clustered: boolean
  readonly user: string | undefined
}

/** A user that may run these commands with this generator, `NAME` if there is none; undefined: no login is needed. */
function userFor({ initial, users }: Logins, commands: readonly string[], name: string): string | undefined {
  const may = (access: Access | undefined) =>
    access?.reaches(name) === true && commands.every((command) => access.allows(command))
  if (may(initial)) return undefined
  const found = users.all().find((user) => user.passwords.length > 0 && may(users.access(user.name)))
  return found?.name ?? 'NAME'
}

function respSteps(
  address: Address,
  config: Config,
  name: string,
  { kind, created, clustered, user }: About,
): Step[] {
  const { host, port } = near(address)
  const tls = speaksTls(config, 'resp') ? ` --tls${tlsFlags(config)}` : ''
  const where = `${host === '127.0.0.1' ? '' : ` -h ${host}`} -p ${port}`
  const client = `redis-cli${redisCliLogin(user)}${tls}${clustered ? ' -c' : ''}${where}`
  // Clock kinds issue ids past 2^53. INCR returns those only to clients that have named an exact library.
  const command = kind === 'sequence' || kind === 'segment' ? 'INCR' : 'ID.NEXT'
  const steps = [{ what: 'an id, with any Redis client', line: `${client} ${command} ${shellWord(name)}` }]
  if (created === undefined) return steps
  return [{ what: 'a generator', line: `${client} ID.CREATE ${shellWord(name)} KIND ${created}` }, ...steps]
}

function httpSteps(address: Address, config: Config, name: string, { created, user }: About): Step[] {
  const url = httpUrl(address, config)
  const curl = `curl${curlLogin(user)}${speaksTls(config, 'http') ? tlsFlags(config) : ''}`
  const path = `${url}/v1/generators/${encodeURIComponent(name)}`
  const steps = [
    { what: 'an id, over HTTP', line: `${curl} -X POST ${path}/next` },
    { what: 'everything else', line: `${url}/` },
  ]
  if (created === undefined) return steps
  const put = `${curl} -X PUT ${path} -H 'content-type: application/json' -d '{"kind":"${created}"}'`
  return [{ what: 'a generator', line: put }, ...steps]
}

/** The URL at which this machine reaches a server that listens on `address`. */
export function httpUrl(address: Address, config: Config): string {
  return `http${speaksTls(config, 'http') ? 's' : ''}://${addressText(near(address))}`
}

/** The flags with which redis-cli and curl accept the server's certificate, and present the one that it requires. */
function tlsFlags({ tlsCa, tlsCert, tlsKey, tlsClientAuth }: Config): string {
  const files = {
    cacert: tlsCa,
    ...(tlsClientAuth === 'required' && { cert: tlsCert, key: tlsKey }),
  }
  const given = Object.entries(files).filter(([, file]) => file !== undefined)
  return given.map(([flag, file]) => ` --${flag} ${shellWord(file!)}`).join('')
}

/** The address at which this machine reaches a listener: a wildcard address becomes loopback. */
function near({ host, port }: Address): Address {
  const here: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  return { host: here[host] ?? host, port }
}
