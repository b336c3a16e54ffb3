/** The settings of a listener, which are its limits, and those that every listener has. */
import type { z } from 'zod'
import { count, duration, orUnlimited, size } from './config-values.ts'
import { setting } from './setting.ts'

type Shape = Readonly<Record<string, z.ZodType>>
type Values<Of extends Shape> = { readonly [Name in keyof Of]: z.output<Of[Name]> }
type Prefixed<Prefix extends string, Of extends Shape> = {
  [Name in keyof Of & string as `${Prefix}${Capitalize<Name>}`]: Of[Name]
}

/** The limits of a listener. */
export type LimitsOf<Listener extends { readonly defaults: unknown }> = Listener['defaults']

/** Names the settings after their listener: the limit `idleTimeoutMs` of `resp` is the setting `respIdleTimeoutMs`. */
export function listenerSettings<const Prefix extends string, Of extends Shape>(prefix: Prefix, shape: Of) {
  const keys = Object.entries(shape).map(
    ([name, schema]) => [name, schema, prefix + name.charAt(0).toUpperCase() + name.slice(1)] as const,
  )
  return {
    /** By their names in code, in the order of help. */
    settings: Object.fromEntries(keys.map(([, schema, key]) => [key, schema])) as Prefixed<Prefix, Of>,
    defaults: Object.fromEntries(keys.map(([name, schema]) => [name, schema.parse(undefined)])) as Values<Of>,
    /** What a configuration says. */
    limits: (config: Values<Prefixed<Prefix, Of>>) =>
      Object.fromEntries(keys.map(([name, , key]) => [name, Reflect.get(config, key)])) as Values<Of>,
  }
}

/** How many connections there may be. The help of the setting names `sharer`, behind which clients share an address. */
export function connectionSettings(sharer: string) {
  return {
    connectionsMax: setting(count(1, 1_000_000), 'connections at once', '10000'),
    connectionsPerAddressMax: setting(
      orUnlimited(count(1, 1_000_000)),
      `connections at once from one IPv4 address or one /64 of IPv6; off where clients share an address, as behind ${sharer}`,
      'off',
    ),
  }
}

/** How many connections may wait for a login. `done` completes the help: "connections that have not …". */
export function pendingSettings(done: string) {
  return {
    unauthenticatedConnectionsMax: setting(
      count(1, 1_000_000),
      `connections at once that have not ${done}; a new one takes the place of the oldest of them`,
      '1000',
    ),
  }
}

/** How long a login may take. `what` completes the help: "how long a client may take to …". `usual` is the default. */
export function loginTimeout(what: string, usual: string) {
  return setting(duration('100ms', '10m'), `how long a client may take to ${what}`, usual)
}

/** What one client may leave unread. The help names what it does not read, `replies`, and what is then not read of it, `requests`. */
export function unreadSettings(replies: string, requests: string) {
  return {
    unreadMaxBytes: setting(
      size('64KiB', '1GiB'),
      `unread ${replies} of one client; above this the server does not read its ${requests}`,
      '1MiB',
    ),
  }
}

/**
 * What all clients together may leave unread, and how long one of them. The help names `replies`, what is counted (`held`), and
 * what happens above the bound (`end`). The pair is the longest time that may be set, and the default.
 */
export function unreadTotalSettings(
  replies: string,
  held: string,
  end = 'the server drops the client that has read nothing for the longest time',
  [longest, usual]: readonly [string, string] = ['1h', '30s'],
) {
  return {
    unreadTimeoutMs: setting(
      duration('1s', longest),
      `how long a client may leave ${replies} unread before it is dropped`,
      usual,
    ),
    unreadTotalMaxBytes: setting(
      size('1MiB', '64GiB'),
      `${held} of all clients together; above this ${end}`,
      '256MiB',
    ),
  }
}

/** How long a client may be silent. */
export const idleSettings = {
  idleTimeoutMs: setting(
    orUnlimited(duration('1s', '24d')),
    'close connections that have been silent for this long',
    'off',
  ),
}
