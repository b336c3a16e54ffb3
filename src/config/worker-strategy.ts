/**
 * The worker id that a node proposes. The engine decides: the id is claimed there, and a clash between two nodes is
 * found there.
 */
import { hostname, networkInterfaces } from 'node:os'
import { FahaoError } from '../base/errors.ts'

/** The largest worker id of the pool; no preset has a wider worker field. */
export const workerIdMax = 65_535

/** A strategy for the worker id; `value`: the N of `static:N`, the NAME of `env:NAME`, the BITS of `ipv6-low-bits:BITS`. */
export type WorkerStrategy = { readonly by: keyof typeof proposals; readonly value?: string }

/** The properties of a machine that strategies use. */
export type Machine = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly hostname: string
  /** Addresses that other machines can reach, in the system's order; with the length of their prefix, as `10.0.0.5/24`, if known. */
  readonly addresses: readonly string[]
}

/** The worker id that each strategy proposes; undefined: any free id of the pool. */
const proposals = {
  static: (_machine: Machine, id: string): number => Number(id),
  env: ({ env }: Machine, variable: string): number => fromEnvironment(variable, env[variable]),
  hostname: ({ hostname }: Machine): number => fromHostname(hostname),
  ordinal: ({ hostname }: Machine): number => fromOrdinal(hostname),
  'ip-low-bits': ({ addresses }: Machine, bits: string): number => lowBits(firstAddress(addresses), bits),
  'ip-sum': ({ addresses }: Machine): number => sum(firstAddress(addresses)),
  'ipv6-low-bits': ({ addresses }: Machine, bits: string): number => lowBits(firstV6(addresses), bits),
  'ipv6-sum': ({ addresses }: Machine): number => sum(firstV6(addresses)),
  pool: (): undefined => undefined,
}
const names = Object.keys(proposals) as WorkerStrategy['by'][]
const orPool = 'or use --worker-id pool'
/** As many as sharding-jdbc takes. */
const defaultBits = 10
const bitsMax = 16

/**
 * Reads `static:N`, `env:NAME`, `hostname`, `ordinal`, `ip-low-bits`, `ip-sum`, `ipv6-low-bits`, `ipv6-sum` or `pool`; the
 * strategies with low bits also with their number, `ipv6-low-bits:5`. Throws CONFIG.
 */
export function parseWorkerStrategy(text: string): WorkerStrategy {
  const [, name, value] = /^([^:]+)(?::(.+))?$/.exec(text) ?? []
  const by = names.find((each) => each === name)
  const takesValue = by === 'static' || by === 'env'
  const mayHaveBits = by === 'ip-low-bits' || by === 'ipv6-low-bits'
  if (by === undefined || (value === undefined ? takesValue : !takesValue && !mayHaveBits)) {
    const plain = names.filter((each) => each !== 'static' && each !== 'env' && each !== 'pool')
    throw new FahaoError(
      'CONFIG',
      `'${text.slice(0, 40)}' is no way to find a worker id; use static:N, env:NAME, ${plain.join(', ')} or pool`,
    )
  }
  if (value === undefined) return { by }
  if (by === 'static') return { by, value: String(checkedId(value, by, 'CONFIG')) }
  if (mayHaveBits && !(/^[1-9]\d?$/.test(value) && Number(value) <= bitsMax)) {
    throw new FahaoError(
      'CONFIG',
      `${by} takes '${value.slice(0, 40)}' bits; give a number from 1 to ${bitsMax}`,
    )
  }
  return { by, value }
}

/** A strategy in its written form. */
export function workerStrategyText({ by, value }: WorkerStrategy): string {
  return value === undefined ? by : `${by}:${value}`
}

/** The proposed worker id; undefined: any free id of the pool. Throws WORKERID with the remedy. */
export function proposeWorkerId({ by, value = '' }: WorkerStrategy, machine: Machine): number | undefined {
  return proposals[by](machine, value)
}

/** Why another machine may propose the same id, for a warning; undefined where its ids are assigned, or its address numbers it. */
export function sharedProposal({ by, value }: WorkerStrategy, { addresses }: Machine): string | undefined {
  const made = partOfAddress(by, Number(value ?? defaultBits), addresses)
  if (made === undefined) return undefined
  return `--worker-id ${by} gives this machine ${made}, which another machine can have too. Nodes of one store are refused then (WORKERID), but nodes of different stores issue the same ids; --worker-id pool or static:N avoids it`
}

/** What is taken of an address that does not tell it from others of its network. */
function partOfAddress(by: WorkerStrategy['by'], bits: number, all: readonly string[]): string | undefined {
  if (by === 'ip-sum' || by === 'ipv6-sum') return "a sum of its address's parts"
  if (by !== 'ip-low-bits' && by !== 'ipv6-low-bits') return undefined
  const v4 = by === 'ip-low-bits' ? all.find((each) => bytesOfV4(each) !== undefined) : undefined
  if (v4 !== undefined) {
    const ofHosts = 32 - prefixOf(v4, 32)
    return bits < ofHosts
      ? `the low ${bits} bits of an IPv4 address whose network has ${ofHosts} for its hosts`
      : undefined
  }
  const address = BigInt(`0x${Buffer.from(firstV6(all)).toString('hex')}`)
  // A prefix above 64 is that of an address which a DHCPv6 server gave, not of its network.
  const prefix = Math.min(64, prefixOf(all.find((each) => each.includes(':')) ?? '', 64))
  const host = BigInt.asUintN(128 - prefix, address)
  return host === BigInt.asUintN(bits, address)
    ? undefined
    : `the low ${bits} bits of an IPv6 address that has more`
}

/** How many bits of an address are those of its network. */
function prefixOf(address: string, unknown: number): number {
  return Number(address.split('/')[1] ?? unknown)
}

/** This machine. Loopback and link-local addresses are left out: they do not identify a machine. */
export function thisMachine(): Machine {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const addresses = all
    .filter(({ internal, address }) => !internal && !/^(?:169\.254\.|fe[89ab])/i.test(address))
    .map(({ address, cidr }) => cidr ?? address)
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

/** The last bits of an address, as sharding-jdbc takes 10: enough for one /22 network of IPv4. */
function lowBits(bytes: readonly number[], bits: string): number {
  const [high = 0, low = 0] = bytes.slice(-2)
  return ((high << 8) | low) & (2 ** Number(bits || defaultBits) - 1)
}

/**
 * The sum of the parts of an address, as sharding-jdbc does: bytes of IPv4, 0 to 1020; low 6 bits of
 * each byte of IPv6, 0 to 1008. Different addresses can have the same sum.
 */
function sum(bytes: readonly number[]): number {
  const mask = bytes.length === 4 ? 0b1111_1111 : 0b11_1111
  return bytes.reduce((total, byte) => total + (byte & mask), 0)
}

/** The 4 bytes of the first IPv4 address, or, where there is none, the 16 of the first IPv6 address. */
function firstAddress(addresses: readonly string[]): number[] {
  return firstV4(addresses) ?? firstV6(addresses)
}

function firstV4(addresses: readonly string[]): number[] | undefined {
  return addresses.map(bytesOfV4).find((each) => each !== undefined)
}

function firstV6(addresses: readonly string[]): number[] {
  const v6 = addresses.find((address) => address.includes(':'))
  if (v6 !== undefined) return bytesOfV6(v6)
  const others =
    addresses.length === 0 ? 'no address but loopback' : 'no IPv6 address but loopback and link-local ones'
  throw refused(`this machine has ${others}; set static:N`)
}

function bytesOfV4(address: string): number[] | undefined {
  const [, dotted] = /^(\d+(?:\.\d+){3})(?:\/\d+)?$/.exec(address) ?? []
  return dotted?.split('.').map(Number)
}

/** The 16 bytes of an address. It comes from the system, so it needs no check. */
function bytesOfV6(address: string): number[] {
  const [head = '', tail] = address.split(/[%/]/)[0]!.split('::')
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
