/** What all transports of a node have carried. */
import type { Traffic } from '../commands/context.ts'
import type { Transport } from './node.ts'

/** The sums of the transports that have sessions. */
export function trafficOf(transports: readonly Transport[]): Traffic {
  const sum = { connectionsTotal: 0, connectionsRejected: 0, commands: 0, bytesIn: 0, bytesOut: 0 }
  for (const each of transports.flatMap(({ traffic }) => traffic?.() ?? [])) {
    for (const figure of Object.keys(sum) as (keyof Traffic)[]) sum[figure] += each[figure]
  }
  return sum
}
