/** The settings of a node without transports, as the library takes them. */
import type { LogEvent } from '../base/events.ts'
import { type Config, hyphenated } from './config-schema.ts'
import { loadConfig } from './load-config.ts'

/** Options of `openFahao`. Each has the meaning of the server's setting of the same name. */
export type FahaoOptions = {
  /** Where bounds are kept: `sqlite:FILE` (default `sqlite:./data/fahao.db`) or `memory:`. */
  readonly engine?: string
  /** Refuse to make a store that does not exist. By default it is made, with its folder, and `onEvent` receives a warning. */
  readonly requireStore?: boolean
  /** The source of the node part of snowflakes: `pool` (default), `static:N`, `env:NAME`, `hostname`, … */
  readonly workerId?: string
  /** The value of `{node}` in formats: a number, or digits of the width that all nodes have, such as `01`. */
  readonly nodeIndex?: number | string
  /** Generators to create at their first request: `['order:*=sequence']`. */
  readonly autoCreate?: readonly string[]
  /** How far snowflakes reserve time ahead: `10m`. */
  readonly lead?: string
  /** A clock that jumps further ahead is followed only after it has stayed there for 5 s: `1h`. */
  readonly leadMax?: string
  /** How long a call to the engine may take: `5s`. */
  readonly callTimeout?: string
  /** The most callers that may wait for one generator. */
  readonly waitersMax?: number
  /** Receives events for a log: claims of worker ids, failed refills, clock steps. */
  readonly onEvent?: (event: LogEvent) => void
}

/** The settings of a node with these options. Throws CONFIG. */
export function libraryConfig({ onEvent: _, ...settings }: FahaoOptions): Config {
  const flags = Object.entries(settings).map(([name, value]) => [hyphenated(name), flagValue(value)])
  return loadConfig({ flags: { resp: 'off', http: 'off', ...Object.fromEntries(flags) } }).config
}

function flagValue(value: unknown): string | readonly string[] | undefined {
  if (value === undefined || Array.isArray(value)) return value
  return String(value)
}
