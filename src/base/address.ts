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
