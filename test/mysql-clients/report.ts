/**
 * What a client reports of the steps, and the comparison of two runs: directly with AUTO_INCREMENT, and through the proxy.
 *
 * An id is replaced by what it identifies, so that equal runs have equal lines.
 */
import { type Step, steps } from './steps.ts'

/** What a client says after a step. */
export type Report = {
  readonly name: string
  /** Affected rows of each execution, where the client gives them. */
  readonly affected: readonly number[]
  /** The ids of `customers` of the step, in decimal. Absent where the client can only ask for LAST_INSERT_ID(). */
  readonly ids?: readonly (string | null)[]
  /** LAST_INSERT_ID() after the step, on the same connection. */
  readonly last?: string
  /** Number of the MySQL error, or a text of the client. */
  readonly error?: number | string | null
  /** The client has nothing like this step. */
  readonly absent?: boolean
}

/** A client that runs the steps on a database. */
export type Subject = {
  readonly name: string
  /** Runs them in the database of a URL, `mysql://user:password@host:port/database`. */
  run(url: string): Promise<readonly Report[]>
  /** The client as it is without what the proxy takes from it: it is compared with this one. Default: itself. */
  readonly without?: Subject
}

/** A row of the table of orders. */
export type Order = { readonly id: string; readonly customer: string; readonly amount: string }

/** Ids of a generator, and of the AUTO_INCREMENT column, start here: beyond 32 bits. */
export const firstId = 5_000_000_000n

/** One line for each step: what the client reported and which rows it left. */
export function linesOf(reports: readonly Report[], orders: readonly Order[]): Map<string, string> {
  const byName = new Map(reports.map((report) => [report.name, report]))
  return new Map(steps.map((step) => [step.name, lineOf(step, byName.get(step.name), orders)]))
}

function lineOf(step: Step, report: Report | undefined, orders: readonly Order[]): string {
  const rows = rowsOf(step, orders).map(
    ({ id, customer, amount }) => `${customer} ${shortened(id)} ${amount}`,
  )
  if (report === undefined) return `no report; rows: ${rows.join(', ')}`
  if (report.absent) return 'absent'
  const named = (id: string | null | undefined) => identified(id, orders)
  const parts = [
    `affected ${report.affected.join(' ')}`,
    ...(report.ids ? [`ids ${report.ids.slice(0, step.customers.length).map(named).join(' ')}`] : []),
    ...(report.last === undefined ? [] : [`last ${named(report.last)}`]),
    ...(report.error === undefined || report.error === null ? [] : [`error ${report.error}`]),
    `rows: ${rows.join(', ')}`,
  ]
  return parts.join('; ')
}

/** The rows that a step left, in the order of their customers. */
export function rowsOf(step: Step, orders: readonly Order[]): readonly Order[] {
  const own = new RegExp(`^${step.name}-\\d+$`)
  return orders.filter(({ customer }) => own.test(customer))
}

/** What an id is: the customer whose row has it, `gap` if no row has it, or `none`. */
function identified(id: string | null | undefined, orders: readonly Order[]): string {
  if (id === null || id === undefined || id === '' || id === '0') return 'none'
  const row = orders.find((order) => order.id === id)
  if (row) return row.customer
  return isGenerated(id) ? 'gap' : id
}

function shortened(id: string): string {
  return isGenerated(id) ? 'generated' : id
}

/** Whether an id comes from a generator rather than from a statement. */
export function isGenerated(id: string): boolean {
  return /^\d+$/.test(id) && BigInt(id) >= firstId
}
