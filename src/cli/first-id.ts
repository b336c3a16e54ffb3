/** How to get the first id: lines to paste, for whoever has just started a server. */
import { type Address, addressText } from '../base/address.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { shellWord } from '../http/console/snippets.ts'
import { isStrict, type Kind } from '../issuing/issuer.ts'

/** A line to paste, and what it is for. */
export type Step = { readonly what: string; readonly line: string }

/** Where a server listens; undefined: it does not. */
export type Doors = { readonly resp: Address | undefined; readonly http: Address | undefined }

const listed = 1000

/**
 * From nothing to an id. A strict sequence is preferred: 1, 2, 3 is what a first look expects. `strict`: whether
 * this process serves strict kinds; `clustered`: whether it may answer MOVED.
 */
export async function firstIdSteps(
  catalogue: Catalogue,
  { resp, http }: Doors,
  { strict, clustered }: { readonly strict: boolean; readonly clustered: boolean },
): Promise<Step[]> {
  const generators = await catalogue.list({ limit: listed })
  const found = strict
    ? (generators.find(({ definition }) => definition.kind === 'sequence') ?? generators[0])
    : generators.find(({ definition }) => !isStrict(definition.kind))
  const name = found?.name ?? (strict ? 'order' : 'user')
  const created = found ? undefined : strict ? 'sequence' : 'segment'
  const kind = found?.definition.kind ?? created!
  return [
    ...(resp ? respSteps(resp, name, { kind, created, clustered }) : []),
    ...(http ? httpSteps(http, name, resp === undefined ? created : undefined) : []),
  ]
}

type About = { readonly kind: Kind; readonly created: Kind | undefined; readonly clustered: boolean }

function respSteps(address: Address, name: string, { kind, created, clustered }: About): Step[] {
  const { host, port } = near(address)
  const client = `redis-cli${clustered ? ' -c' : ''}${host === '127.0.0.1' ? '' : ` -h ${host}`} -p ${port}`
  // Ids of the clock are past 2^53, where INCR asks for a client that has named its library.
  const command = kind === 'sequence' || kind === 'segment' ? 'INCR' : 'ID.NEXT'
  const steps = [{ what: 'an id, with any Redis client', line: `${client} ${command} ${shellWord(name)}` }]
  if (created === undefined) return steps
  return [{ what: 'a generator', line: `${client} ID.CREATE ${shellWord(name)} KIND ${created}` }, ...steps]
}

function httpSteps(address: Address, name: string, created: Kind | undefined): Step[] {
  const url = httpUrl(address)
  const path = `${url}/v1/generators/${encodeURIComponent(name)}`
  const steps = [
    { what: 'an id, over HTTP', line: `curl -X POST ${path}/next` },
    { what: 'everything else', line: `${url}/` },
  ]
  if (created === undefined) return steps
  const put = `curl -X PUT ${path} -H 'content-type: application/json' -d '{"kind":"${created}"}'`
  return [{ what: 'a generator', line: put }, ...steps]
}

/** The URL at which this machine reaches a server that listens on `address`. */
export function httpUrl(address: Address): string {
  return `http://${addressText(near(address))}`
}

/** Who listens everywhere is reached here. */
function near({ host, port }: Address): Address {
  const here: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }
  return { host: here[host] ?? host, port }
}
