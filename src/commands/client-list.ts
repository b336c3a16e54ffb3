/** A connection as a line of CLIENT LIST, and the filters of connections. */
import type { ClientSession } from './context.ts'

/** A filter of connections; an absent member matches all. */
export type ClientFilter = {
  ids?: readonly number[]
  address?: string
  localAddress?: string
  user?: string
  /** `normal`, `master`, `replica`, `slave` or `pubsub`: every connection here is normal. */
  type?: string
}

/** Whether a filter matches this connection. */
export function matches(session: ClientSession, filter: ClientFilter): boolean {
  return (
    (filter.ids === undefined || filter.ids.includes(session.id)) &&
    (filter.address === undefined || filter.address === session.address) &&
    (filter.localAddress === undefined || filter.localAddress === session.localAddress) &&
    (filter.user === undefined || filter.user === session.user) &&
    (filter.type === undefined || filter.type === 'normal')
  )
}

/** Redis's line, in Redis's order. Fields that do not apply (databases, transactions, memory) are zero. */
export function clientLine(session: ClientSession, nowMonoUs: number): string {
  const fields: readonly (readonly [string, string | number])[] = [
    ['id', session.id],
    ['addr', session.address],
    ['laddr', session.localAddress],
    ['fd', -1],
    ['name', session.name],
    ['age', seconds(nowMonoUs - session.startedMonoUs)],
    ['idle', seconds(nowMonoUs - session.lastCommandMonoUs)],
    ['flags', 'N'],
    ['db', 0],
    ['sub', 0],
    ['psub', 0],
    ['ssub', 0],
    ['multi', -1],
    ['qbuf', 0],
    ['qbuf-free', 0],
    ['argv-mem', 0],
    ['multi-mem', 0],
    ['obl', 0],
    ['oll', 0],
    ['omem', session.unreadBytes],
    ['tot-mem', session.unreadBytes],
    ['events', 'r'],
    ['cmd', session.lastCommand || 'NULL'],
    ['user', session.user],
    ['redir', -1],
    ['resp', session.protocol],
    ['lib-name', session.libraryName],
    ['lib-ver', session.libraryVersion],
  ]
  return fields.map(([name, value]) => `${name}=${value}`).join(' ')
}

function seconds(us: number): number {
  return Math.max(0, Math.floor(us / 1_000_000))
}
