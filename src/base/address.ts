/** Network addresses: a host and a port, and their text. */

/** Where a server listens, or is reached. */
export type Address = {
  /** A host name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

/** `127.0.0.1:7379`, `[::1]:7379`. */
export function addressText({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** The address that `addressText` has written. */
export function addressOf(text: string): Address {
  const colon = text.lastIndexOf(':')
  return {
    host: text.slice(0, colon).replace(/^\[(.*)\]$/, '$1'),
    port: Number(text.slice(colon + 1)),
  }
}

/**
 * The part of a client's address that one party usually controls: a whole IPv4 address, or the first 64 bits of an IPv6
 * address. `host` is written as the operating system writes it.
 */
export function networkOf(host: string): string {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(host)?.[1]
  if (v4 !== undefined || !host.includes(':')) return v4 ?? host
  return `${groupsOf(host).slice(0, 4).join(':')}::/64`
}

/**
 * The networks of an address, the widest first and itself last: what one party may have been given. IPv4: its first 16 and 24
 * bits; IPv6: 48 and 56. `network` is the result of `networkOf`.
 */
export function networksOf(network: string): readonly string[] {
  const v4 = /^(\d+\.\d+)\.(\d+)\.\d+$/.exec(network)
  if (v4 !== null) return [`${v4[1]}`, `${v4[1]}.${v4[2]}`, network]
  const groups = network.endsWith('::/64') ? network.slice(0, -5).split(':') : []
  const fourth = groups[3]
  if (fourth === undefined) return [network, network, network]
  const wide = groups.slice(0, 3).join(':')
  return [wide, `${wide}:${fourth.padStart(4, '0').slice(0, 2)}`, network]
}

/** The eight groups of an IPv6 address. */
function groupsOf(host: string): string[] {
  const [before = [], after] = host.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const zeros = after === undefined ? 0 : 8 - before.length - after.length
  return [...before, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(after ?? [])]
}
