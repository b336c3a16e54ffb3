/**
 * MULTI, EXEC, DISCARD, WATCH and UNWATCH. The transport queues the requests between MULTI and EXEC (`transaction-queue.ts`)
 * and runs them after EXEC, in order.
 */
import { FahaoError } from '../base/errors.ts'
import { moved } from '../catalogue/leadership/redirection.ts'
import { type Command, ok, RepliesOf, type Reply, SimpleString } from './command.ts'
import type { CommandContext } from './context.ts'
import { crossSlot } from './cross-slot.ts'

const common = {
  flags: ['noscript', 'loading', 'stale', 'fast'],
  permission: 'connection',
  group: 'transactions',
  arity: 1,
} as const

/** The reply to a request that waits for EXEC. */
export const queued = Object.freeze(new SimpleString('QUEUED'))

/** MULTI, EXEC, DISCARD, WATCH, UNWATCH. */
export const transactionCommands: readonly Command[] = [
  {
    ...common,
    name: 'multi',
    summary: 'Begins a transaction: the requests up to EXEC are queued.',
    reply: '`OK`. Each queued request is answered `QUEUED`, or the error that refuses it.',
    notes:
      'What is queued is limited by `resp-transaction-max` and `resp-transaction-requests-max`. In a cluster a request for a generator that another node leads is refused with `MOVED` when it is queued, unless this node forwards; requests for leases are answered by any node.',
    handler({ session }) {
      session.transaction.begin()
      return ok
    },
  },
  {
    ...common,
    name: 'exec',
    flags: ['noscript', 'loading', 'stale'],
    summary: 'Runs the queued requests, in order.',
    reply:
      'An array of their replies. A request that fails when it runs has its error there; the others run.',
    notes:
      'If a request was refused when it was queued, the reply is `EXECABORT`, no request runs, and no id is used up. In a cluster the generators that have leaders must share a slot (`CROSSSLOT`), unless this node forwards. Ids that were issued stay issued: there is no roll-back. Requests of other connections can run in between, so the ids of a transaction need not be consecutive; `ID.NEXT name COUNT n` and `INCRBY` draw several at once.',
    handler: exec,
  },
  {
    ...common,
    name: 'discard',
    summary: 'Ends a transaction without running what is queued.',
    reply: '`OK`.',
    notes: 'RESET and the end of the connection do the same.',
    handler({ session }) {
      session.transaction.discard()
      return ok
    },
  },
  {
    ...common,
    name: 'watch',
    permission: 'read',
    arity: -2,
    keys: [1, -1, 1],
    summary:
      'Refused: the newest id of a generator only ever grows, so no transaction depends on an earlier one.',
    reply: 'An error.',
    arguments: [{ name: 'key', type: 'key', multiple: true }],
    handler({ session }) {
      if (session.transaction.isOpen) throw new FahaoError('ERR', 'WATCH inside MULTI is not allowed')
      throw new FahaoError(
        'ERR',
        'WATCH is not supported: there is no value to compare, since each id is issued once and never changes back; send MULTI without it, or SET key n NX to create a sequence only once',
      )
    },
  },
  {
    ...common,
    name: 'unwatch',
    summary: 'Accepted; nothing is watched.',
    reply: '`OK`.',
    handler: () => ok,
  },
]

function exec(context: CommandContext): Reply {
  const { transaction } = context.session
  const { count, requests, slots } = transaction.run()
  try {
    checkLeader(context, slots)
  } catch (error) {
    transaction.clear()
    throw error
  }
  return new RepliesOf(count, requests)
}

/** The leader may have changed since the requests were queued. */
function checkLeader({ server }: CommandContext, [slot, ...others]: readonly number[]): void {
  if (slot === undefined) return
  if (others.length > 0) throw crossSlot()
  const lead = server.cluster?.lead(slot)
  if (lead?.state === 'elsewhere') throw moved(slot, lead)
}
