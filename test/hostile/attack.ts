/** What an attack is, and what attacks of all transports have in common. */

/** How a crowd of clients behaves. */
export type Attack = {
  readonly title: string
  readonly transport: 'resp' | 'http' | 'postgres' | 'mysql'
  /** Logs in first; otherwise the clients are before AUTH. */
  readonly login: boolean
  /** Connections at once, and how many are opened in a second. */
  readonly clients: number
  readonly perSecond: number
  /** What each client sends. */
  readonly request: Buffer
  /** `once`, `repeatedly` as fast as the server takes it, or a `byte` each second. */
  readonly sends: 'once' | 'repeatedly' | 'byte'
  /** `all`, `nothing`, or a `chunk` each second. */
  readonly reads: 'all' | 'nothing' | 'chunk'
  /** A client whose connection has ended connects again; `hastily`: it ends the connection itself once it has sent. */
  readonly returns: 'never' | 'when closed' | 'hastily'
  readonly bounds: Bounds
}

/** What must hold during an attack. */
export type Bounds = {
  /** Memory of the server. */
  readonly peakMiB: number
  /** The limit of what others wait, at the 99th percentile: `ratio` times what they wait without the attack, or `p99Ms`. */
  readonly ratio: number
  readonly p99Ms: number
}

/** The password of every user of the campaign. */
export const password = 'correct horse'

/** What attacks have in common, unless they say otherwise. */
export const usual: Bounds = { peakMiB: 450, ratio: 3, p99Ms: 100 }
export const still = { sends: 'once', reads: 'all', returns: 'never', bounds: usual } as const
export const some = { clients: 100, perSecond: 1000 }

/** The header with which a user of the campaign logs in. */
export function basic(user: string): string {
  return `authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** A request many times, in `bytes` bytes at most. */
export function repeated(request: Buffer, bytes = 1_048_576): Buffer {
  return Buffer.concat(Array.from({ length: Math.floor(bytes / request.length) }, () => request))
}
