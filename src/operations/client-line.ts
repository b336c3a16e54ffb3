/** The line that describes a connection in CLIENT LIST and ACL LOG. */
import type { Session } from './session.ts'

const noTransaction = { isOpen: false, isRunning: false, count: 0, bytes: 0 }

/** Redis's line, in Redis's order. Fields that do not apply (databases, memory) are zero. */
export function clientLine(session: Session, nowMonoUs: number): string {
  const { transaction = noTransaction, protocol = 3, libraryName = '', libraryVersion = '' } = session
  const inTransaction = transaction.isOpen || transaction.isRunning
  const fields: readonly (readonly [string, string | number])[] = [
    ['id', session.id],
    ['addr', session.address],
    ['laddr', session.localAddress],
    ['fd', -1],
    ['name', session.name],
    ['age', seconds(nowMonoUs - session.startedMonoUs)],
    ['idle', seconds(nowMonoUs - session.lastCommandMonoUs)],
    ['flags', inTransaction ? 'x' : 'N'],
    ['db', 0],
    ['sub', 0],
    ['psub', 0],
    ['ssub', 0],
    ['multi', inTransaction ? transaction.count : -1],
    ['qbuf', 0],
    ['qbuf-free', 0],
    ['argv-mem', 0],
    ['multi-mem', transaction.bytes],
    ['obl', 0],
    ['oll', 0],
    ['omem', session.unreadBytes],
    ['tot-mem', session.unreadBytes + transaction.bytes],
    ['events', 'r'],
    ['cmd', session.lastCommand || 'NULL'],
    ['user', session.access.user],
    ['redir', -1],
    ['resp', protocol],
    ['lib-name', libraryName],
    ['lib-ver', libraryVersion],
  ]
  return fields.map(([name, value]) => `${name}=${value}`).join(' ')
}

function seconds(us: number): number {
  return Math.max(0, Math.floor(us / 1_000_000))
}
