/** ORMs as their users have them, with ids that the database generates: no hook of Fahao, and AUTO_INCREMENT in the model. */
import type { Report, Subject } from '../mysql-clients/report.ts'
import { steps } from '../mysql-clients/steps.ts'

/** A row as a caller gives it. */
export type Row = { readonly id?: number; readonly customer: string; readonly amount: number }

/** The id that the ORM reports for a row; undefined where it reports none. */
export type Reported = string | number | bigint | null | undefined

/** A table of orders through an ORM. */
export type Orders = {
  /** One row, as the ORM inserts one. */
  insert(row: Row): Promise<Reported>
  /** Several rows, as the ORM inserts several. */
  insertAll(rows: readonly Row[]): Promise<readonly Reported[]>
  /** Inserts the rows one after the other in one transaction, which ends with `error` if there is one. */
  inTransaction(rows: readonly Row[], error?: Error): Promise<readonly Reported[]>
  /** Inserts the row, or adds its amount to that of its customer, or sets it; absent where the ORM has no such thing. */
  upsert?(row: Row): Promise<Reported>
  close(): Promise<unknown>
}

/** An ORM that opens its table at a URL. */
export function ormSubject(name: string, open: (url: string) => Promise<Orders>): Subject {
  return {
    name,
    async run(url) {
      const orders = await open(url)
      try {
        return await reportsOf(orders)
      } finally {
        await orders.close()
      }
    },
  }
}

type Act = (rows: readonly Row[]) => Promise<readonly Reported[]>

async function reportsOf(orders: Orders): Promise<Report[]> {
  const one: Act = async ([row]) => [await orders.insert(row!)]
  const upserted = orders.upsert && (async ([row]: readonly Row[]) => [await orders.upsert!(row!)])
  const acts: Readonly<Record<string, Act | undefined>> = {
    single: one,
    multi: (rows) => orders.insertAll(rows),
    rollback: (rows) => rolledBack(orders, rows),
    commit: (rows) => orders.inTransaction(rows),
    explicit: ([row]) => one([{ ...row!, id: 7001 }]),
    duplicate:
      upserted &&
      (async ([row]) => {
        await orders.insert({ ...row!, id: 8011, amount: 1 })
        return upserted([row!])
      }),
    'duplicate-new': upserted,
    clash: async ([row]) => {
      await orders.insert({ ...row!, id: 8007, amount: 1 })
      return one([row!])
    },
    after: one,
  }
  const reports: Report[] = []
  for (const { name, customers } of steps) {
    const act = acts[name]
    const rows = customers.map((customer, at) => ({ customer, amount: name.startsWith('dup') ? 5 : at + 1 }))
    reports.push(act ? await reportOf(name, () => act(rows)) : { name, affected: [], ids: [], absent: true })
  }
  return reports
}

async function reportOf(name: string, act: () => Promise<readonly Reported[]>): Promise<Report> {
  try {
    const ids = await act()
    return { name, affected: [], ids: ids.map((id) => (id === undefined || id === null ? null : `${id}`)) }
  } catch (error) {
    return { name, affected: [], ids: [], error: errorOf(error) }
  }
}

async function rolledBack(orders: Orders, rows: readonly Row[]): Promise<readonly Reported[]> {
  const stop = new Error('stop')
  try {
    return await orders.inTransaction(rows, stop)
  } catch (error) {
    if (error !== stop) throw error
    return []
  }
}

/** The number of the MySQL error that an ORM wraps, or the ORM's own words. */
function errorOf(error: unknown): number | string {
  const seen: unknown[] = []
  for (let each = error; each instanceof Object && !seen.includes(each); each = nextOf(each)) {
    seen.push(each)
    if ('errno' in each && typeof each.errno === 'number') return each.errno
  }
  const { name, code } = error as { name?: string; code?: string }
  return `${name} ${code ?? ''}`.trim()
}

function nextOf(error: object): unknown {
  return Reflect.get(error, 'cause') ?? Reflect.get(error, 'parent') ?? Reflect.get(error, 'driverError')
}
