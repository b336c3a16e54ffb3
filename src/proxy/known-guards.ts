/**
 * What is known of the guards of the filled tables. The proxy looks with a user and a connection of its own, and asks nothing
 * about tables on a client's connection.
 *
 * It looks when it starts, and every minute after that; clients may be there before the first look is over. All other looks
 * are for a statement that needs a guard which is not known, or is missing. A guard is not known until a look has
 * succeeded, and after each definition of its table. The statement waits for the look, and is not sent if that fails.
 *
 * Invariants
 *  1. What is known of a table was seen after the last definition of it that has passed.
 *  2. One look at a time is under way. After a failed look, what was seen before it holds.
 *  3. A statement is refused for a guard that is missing only by a look that has begun after the statement came.
 */
import { type Clock, sleep, systemClock, type Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import { packageOf } from '../installation/packages.ts'
import { type Guard, type GuardsOfServer, type Query, readGuards } from './guard-rules.ts'
import type { Upstream } from './socket-pair.ts'
import { type FilledColumn, FilledColumns } from './sql/configured-columns.ts'

/** How often the tables are looked at, in ms. */
const lookEveryMs = 60_000
/** How long a look may take, in ms. */
const lookTimeoutMs = 10_000
/** The shortest time between looks for statements that need ids for a table without a guard, in ms. */
const pauseMs = 200
/** The most looks that a statement waits for while others define its table. */
const looksMax = 5

/** Looks at the tables. */
export type ReadGuards = (columns: readonly FilledColumn[]) => Promise<GuardsOfServer>

/** What happens to guards. */
export type GuardEvents = {
  /** A table has no guard, which was not known before. */
  readonly onUnguarded?: ((column: FilledColumn, guard: Guard) => void) | undefined
  /** The tables could not be looked at. */
  readonly onUnseen?: ((reason: string) => void) | undefined
}

/** The guards of all filled tables. */
export class Guards {
  readonly #exact: FilledColumns
  readonly #ignoringCase: FilledColumns
  readonly #look: ReadGuards
  readonly #events: GuardEvents
  readonly #clock: Clock
  readonly #guards = new Map<FilledColumn, Guard>()
  #ignoreCase = true
  /** Counts definitions; of each table the newest. */
  #definitions = 0
  readonly #defined = new Map<FilledColumn, number>()
  #looking: Promise<void> | undefined
  /** How many looks have begun, and which of them was the newest to succeed. */
  #begun = 0
  #seen = 0
  /** When that was. */
  #seenUs = 0
  #timer: Timer | undefined
  #isClosed = false

  /** Throws CONFIG if two columns are of one table. */
  constructor(
    columns: readonly FilledColumn[],
    look: ReadGuards,
    events: GuardEvents = {},
    clock = systemClock,
  ) {
    this.#exact = new FilledColumns(columns, false)
    this.#ignoringCase = new FilledColumns(columns, true)
    this.#look = look
    this.#events = events
    this.#clock = clock
  }

  /** The columns, as the server compares names of tables. */
  get columns(): FilledColumns {
    return this.#ignoreCase ? this.#ignoringCase : this.#exact
  }

  /** Looks now and every minute; resolves after the first look. */
  async start(): Promise<void> {
    await this.#lookNow().catch(() => {})
    if (!this.#isClosed) this.#timer = this.#clock.timer(lookEveryMs, () => void this.start())
  }

  /** Stops looking. */
  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  /** The guard of a table, unless it is not known. */
  of(column: FilledColumn): Guard | undefined {
    return this.#guards.get(column)
  }

  /** How many looks have begun: what a statement gives to `look`. */
  get begun(): number {
    return this.#begun
  }

  /**
   * The guard of a table. Looks first if it is not known, or is missing by a look that had begun when the statement came. Rejects
   * with UNAVAILABLE.
   * @param begunBefore the looks that had begun then
   */
  look(column: FilledColumn, begunBefore: number): Guard | Promise<Guard> {
    const known = this.#guards.get(column)
    if (known === undefined) return this.#find(column)
    return known.missing.length === 0 || this.#seen > begunBefore
      ? known
      : this.#lookAgain(column, begunBefore)
  }

  async #lookAgain(column: FilledColumn, begunBefore: number): Promise<Guard> {
    const restMs = pauseMs - (this.#clock.monoUs() - this.#seenUs) / 1000
    if (restMs > 0) await sleep(this.#clock, restMs)
    while (this.#seen <= begunBefore) await this.#lookNow()
    return this.#find(column)
  }

  /** The table may be another one from now on. */
  forget(column: FilledColumn): void {
    this.#defined.set(column, ++this.#definitions)
    this.#guards.delete(column)
  }

  async #find(column: FilledColumn): Promise<Guard> {
    for (let looks = 0; looks < looksMax; looks++) {
      const known = this.#guards.get(column)
      if (known !== undefined) return known
      await this.#lookNow()
    }
    throw unseen(`${column.database}.${column.table} is being defined again and again`)
  }

  #lookNow(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookOnce(): Promise<void> {
    const own = ++this.#begun
    const seenAt = this.#definitions
    const found = await this.#look(this.#exact.all).catch((error) => {
      this.#events.onUnseen?.(describe(error))
      throw unseen(describe(error))
    })
    this.#ignoreCase = found.ignoreCase
    this.#seen = own
    this.#seenUs = this.#clock.monoUs()
    for (const [column, guard] of found.guards) {
      if ((this.#defined.get(column) ?? 0) > seenAt) continue
      const before = this.#guards.get(column)
      this.#guards.set(column, guard)
      const isNew = before?.missing.join() !== guard.missing.join()
      if (guard.missing.length > 0 && isNew) this.#events.onUnguarded?.(column, guard)
    }
  }
}

function unseen(reason: string): FahaoError {
  return new FahaoError(
    'UNAVAILABLE',
    `the tables whose ids are filled in cannot be looked at with the user of upstream: ${reason}; check its password and privileges`,
  )
}

/** Looks at tables of a server with the user of its URL. */
export function guardReader(upstream: Upstream): ReadGuards {
  return (columns) => askServer(upstream, (query) => readGuards(query, columns))
}

/** Gives `work` a connection of the user of the URL, on which values are texts. Rejects as the driver and `work` do. */
export async function askServer<Result>(
  { address, isTls, ca, user, password }: Upstream,
  work: (query: Query) => Promise<Result>,
): Promise<Result> {
  const { createConnection } = await packageOf('mysql2', import('mysql2/promise'))
  const connection = await createConnection({
    host: address.host,
    port: address.port,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(isTls && { ssl: { ...(ca && { ca }), minVersion: 'TLSv1.2' } }),
    connectTimeout: lookTimeoutMs,
    // All values as texts.
    typeCast: (field) => field.string(),
  })
  // What comes after the end of a look is no fault.
  connection.on('error', () => {})
  try {
    return await work(async (sql, values) => {
      const [rows] = await connection.query({ sql, values: [...values], timeout: lookTimeoutMs })
      return rows as Record<string, string | null>[]
    })
  } finally {
    connection.destroy()
  }
}
