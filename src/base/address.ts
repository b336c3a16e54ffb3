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
  const [before = [], after] = host.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const zeros = after === undefined ? 0 : 8 - before.length - after.length
  const groups = [...before, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(after ?? [])]
  return `${groups.slice(0, 4).join(':')}::/64`
}
