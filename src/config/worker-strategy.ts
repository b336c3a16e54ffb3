/**
 * The worker id that a node proposes. The engine decides: the id is claimed there, and a clash between two nodes is
 * found there.
 */
import { hostname, networkInterfaces } from 'node:os'
import { FahaoError } from '../base/errors.ts'

/** The largest worker id of the pool; no preset has a wider worker field. */
export const workerIdMax = 65_535

/** A strategy for the worker id; `value`: the N of `static:N`, the NAME of `env:NAME`. */
export type WorkerStrategy = { readonly by: keyof typeof proposals; readonly value?: string }

/** The properties of a machine that strategies use. */
export type Machine = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly hostname: string
  /** Addresses that other machines can reach, in the system's order. */
  readonly addresses: readonly string[]
}

/** The worker id that each strategy proposes; undefined: any free id of the pool. */
const proposals = {
  static: (_machine: Machine, id: string): number => Number(id),
  env: ({ env }: Machine, variable: string): number => fromEnvironment(variable, env[variable]),
  hostname: ({ hostname }: Machine): number => fromHostname(hostname),
  ordinal: ({ hostname }: Machine): number => fromOrdinal(hostname),
  'ip-low-bits': ({ addresses }: Machine): number => fromLowBits(addresses),
  'ip-sum': ({ addresses }: Machine): number => fromSum(addresses),
  pool: (): undefined => undefined,
}
/** Strategies without a parameter. */
const plain = (Object.keys(proposals) as WorkerStrategy['by'][]).filter(
  (by) => by !== 'static' && by !== 'env',
)
const orPool = 'or use --worker-id pool'

/** Reads `static:N`, `env:NAME`, `hostname`, `ordinal`, `ip-low-bits`, `ip-sum` or `pool`. Throws CONFIG. */
export function parseWorkerStrategy(text: string): WorkerStrategy {
  const by = plain.find((name) => name === text)
  if (by !== undefined) return { by }
  const [, name, value = ''] = /^(static|env):(.+)$/.exec(text) ?? []
  if (name === 'static') return { by: name, value: String(checkedId(value, name, 'CONFIG')) }
  if (name === 'env') return { by: name, value }
  throw new FahaoError(
    'CONFIG',
    `'${text.slice(0, 40)}' is no way to find a worker id; use static:N, env:NAME, ${plain.slice(0, -1).join(', ')} or pool`,
  )
}

/** A strategy in its written form. */
export function workerStrategyText({ by, value }: WorkerStrategy): string {
  return value === undefined ? by : `${by}:${value}`
}

/** The proposed worker id; undefined: any free id of the pool. Throws WORKERID with the remedy. */
export function proposeWorkerId({ by, value = '' }: WorkerStrategy, machine: Machine): number | undefined {
  return proposals[by](machine, value)
}

/** This machine. Loopback and link-local addresses are left out: they do not identify a machine. */
export function thisMachine(): Machine {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const addresses = all
    .filter(({ internal, address }) => !internal && !/^(?:169\.254\.|fe[89ab])/i.test(address))
    .map(({ address }) => address)
  return { env: process.env, hostname: hostname(), addresses }
}

function fromEnvironment(variable: string, value: string | undefined): number {
  if (value !== undefined && value !== '') return checkedId(value, `environment variable ${variable}`)
  throw refused(`the environment variable ${variable} is not set; set it to a number of this node's own`)
}

/** As sharding-jdbc does: `…-01` → 1. */
function fromHostname(name: string): number {
  const digits = /\d+$/.exec(name)?.[0]
  if (digits !== undefined) return checkedId(digits, `the host name ${name}`)
  throw refused(`the host name ${name} ends in no digits; name hosts like ${name}-01`)
}

/** Accepts only names that a StatefulSet gives, so that a Deployment's pod with a random name is refused, not misread. */
function fromOrdinal(name: string): number {
  const digits = /-(0|[1-9]\d*)$/.exec(name)?.[1]
  if (digits !== undefined) return checkedId(digits, `the host name ${name}`)
  throw refused(`the host name ${name} does not end in an ordinal like ${name}-0; run as a StatefulSet`)
}

/** The last 10 bits of the first address, 0 to 1023, as sharding-jdbc does: enough for one /22 network of IPv4. */
function fromLowBits(addresses: readonly string[]): number {
  const [high = 0, low = 0] = firstAddress(addresses).slice(-2)
  return ((high & 0b11) << 8) | low
}

/**
 * The sum of the parts of the first address, as sharding-jdbc does: bytes of IPv4, 0 to 1020; low 6 bits of
 * each byte of IPv6, 0 to 1008. Different addresses can have the same sum.
 */
function fromSum(addresses: readonly string[]): number {
  const bytes = firstAddress(addresses)
  const mask = bytes.length === 4 ? 0b1111_1111 : 0b11_1111
  return bytes.reduce((sum, byte) => sum + (byte & mask), 0)
}

/** The 4 bytes of the first IPv4 address, or, where there is none, the 16 of the first IPv6 address. */
function firstAddress(addresses: readonly string[]): number[] {
  const v4 = addresses.map(bytesOfV4).find((each) => each !== undefined)
  if (v4 !== undefined) return v4
  const v6 = addresses.find((address) => address.includes(':'))
  if (v6 === undefined) throw refused('this machine has no address but loopback; set static:N')
  return bytesOfV6(v6)
}

function bytesOfV4(address: string): number[] | undefined {
  return /^\d+(?:\.\d+){3}$/.test(address) ? address.split('.').map(Number) : undefined
}

/** The 16 bytes of an address. It comes from the system, so it needs no check. */
function bytesOfV6(address: string): number[] {
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const left = groupsOfV6(head)
  const right = groupsOfV6(tail ?? '')
  const middle = tail === undefined ? [] : new Array<number>(8 - left.length - right.length).fill(0)
  return [...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff])
}

function groupsOfV6(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    const v4 = bytesOfV4(group)
    return v4 ? [(v4[0]! << 8) | v4[1]!, (v4[2]! << 8) | v4[3]!] : [Number.parseInt(group, 16)]
  })
}

function checkedId(text: string, what: string, code: 'CONFIG' | 'WORKERID' = 'WORKERID'): number {
  if (/^\d{1,9}$/.test(text) && Number(text) <= workerIdMax) return Number(text)
  throw new FahaoError(
    code,
    `${what} gives the worker id '${text.slice(0, 40)}'; give a number from 0 to ${workerIdMax}, ${orPool}`,
  )
}

function refused(sentence: string): FahaoError {
  return new FahaoError('WORKERID', `${sentence}, ${orPool}`)
}
