/** Transactions on a node of a cluster: which requests are refused because of the leaders of their generators. */

import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { slotOf } from '../../../src/cluster/slots.ts'
import { createCommands } from '../../../src/commands/all.ts'
import type { CommandContext } from '../../../src/commands/context.ts'
import { Forwarder } from '../../../src/forwarding/forwarder.ts'
import { Run } from '../../../src/ids/run.ts'
import { dialPlain } from '../../../src/listening/dial.ts'
import type { ClusterView } from '../../../src/operations/context.ts'
import { clusterCommands, RespTransport } from '../../../src/resp/forward.ts'
import { Peer, proving, serve } from './peer.ts'

const abort = '-EXECABORT Transaction discarded because of previous errors.\r\n'
const other = { id: 'b', resp: '10.0.0.2:7379', http: undefined }
const moved = (name: string) => `-MOVED ${slotOf(name)} 10.0.0.2:7379\r\n`

/** A node that leads every slot except `away`; `flake` has no leader, and `closed` is not open here. */
async function start(t: TestContext, forwards = false) {
  const away = new Set<number>()
  const cluster = {
    lead: (slot: number) => (away.has(slot) ? { state: 'elsewhere', node: other } : { state: 'here' }),
    listen: () => () => {},
  } as unknown as ClusterView
  let next = 1n
  const catalogue = {
    find: (name: string) =>
      name === 'closed' || name === 'absent' || name === 'sick'
        ? undefined
        : {
            mode: name === 'flake' ? 'node' : 'leader',
            nextIsSafe: () => true,
            lastIssued: () => next - 1n,
            async draw(count: number) {
              const run = new Run()
              run.set(next, count, 1)
              next += BigInt(count)
              return [run]
            },
          },
    async info(name: string) {
      if (name === 'absent') throw new FahaoError('NOGENERATOR', 'no such generator')
      if (name === 'sick') throw new FahaoError('UNAVAILABLE', 'the engine is away')
      return { mode: 'leader' }
    },
    whenOpen(name: string, use: (generator: unknown) => unknown) {
      const open = catalogue.find(name)
      if (open !== undefined) return use(open)
      return Promise.reject(new FahaoError('NOGENERATOR', 'no such generator'))
    },
  }
  const forwarder = new Forwarder(cluster, new RespTransport(systemClock, 5000, dialPlain, proving), forwards)
  t.after(() => forwarder.close())
  const { server } = await serve(t, {
    table: clusterCommands(createCommands(), forwarder),
    context: (session) => ({ session, catalogue, server: { cluster } }) as unknown as CommandContext,
  })
  return { away, peer: await Peer.to(server), issued: () => next - 1n }
}

test('a request for a generator of another leader is MOVED when it is queued, and EXEC uses up no id', async (t) => {
  const { away, peer, issued } = await start(t)
  away.add(slotOf('far')).add(slotOf('closed')).add(slotOf('flake'))
  for (const request of ['INCR far', 'GET far', 'ID.NEXT far COUNT 5', 'INCRBY far 3', 'INCR closed']) {
    const name = request.split(' ')[1]!
    await peer.ask(`MULTI\r\nINCR near\r\n${request}\r\nEXEC\r\n`, `+OK\r\n+QUEUED\r\n${moved(name)}${abort}`)
  }
  await peer.ask('MULTI\r\nINCR sick\r\nEXEC\r\n', `+OK\r\n-UNAVAILABLE the engine is away\r\n${abort}`)
  await peer.ask(
    'MULTI\r\nMGET near far\r\nEXEC\r\n',
    `+OK\r\n-CROSSSLOT Keys in request don't hash to the same slot\r\n${abort}`,
  )
  await peer.ask(
    'MULTI\r\nINCR flake\r\nINCR near\r\nINCR absent\r\nEXEC\r\n',
    '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n:2\r\n-NOGENERATOR no such generator\r\n',
  )
  if (issued() !== 2n) throw new Error(`${issued()} ids were issued`)
})

test('requests for leases are queued by any node, whichever node leads the generator', async (t) => {
  const { away, peer } = await start(t)
  away.add(slotOf('far'))
  const leases = ['ID.LEASE far', 'ID.RENEW far x UNTIL 1', 'ID.RETURN far x FROM 1']
  const pools = ['ID.WORKER CLAIM far OWNER a', 'ID.WORKER RENEW far x', 'ID.WORKER RETURN far x']
  for (const request of [...leases, ...pools])
    await peer.ask(`MULTI\r\nINCR near\r\n${request}\r\nDISCARD\r\n`, '+OK\r\n+QUEUED\r\n+QUEUED\r\n+OK\r\n')
  await peer.ask('MULTI\r\nID.RUNS far 5\r\nDISCARD\r\n', `+OK\r\n${moved('far')}+OK\r\n`)
})

test('EXEC as a whole is refused if the leader has changed since, or if the generators have several slots', async (t) => {
  const { away, peer } = await start(t)
  await peer.ask('MULTI\r\nINCR flake\r\nINCR near\r\n', '+OK\r\n+QUEUED\r\n+QUEUED\r\n')
  away.add(slotOf('near'))
  await peer.ask('EXEC\r\nEXEC\r\n', `${moved('near')}-ERR EXEC without MULTI\r\n`)
  away.clear()
  const crossed = "-CROSSSLOT Keys in request don't hash to the same slot\r\n"
  await peer.ask(
    'MULTI\r\nINCR near\r\nINCR far\r\nEXEC\r\nEXEC\r\n',
    `+OK\r\n+QUEUED\r\n+QUEUED\r\n${crossed}-ERR EXEC without MULTI\r\n`,
  )
  await peer.ask(
    'MULTI\r\nINCR {a}1\r\nINCR {a}2\r\nINCR flake\r\nEXEC\r\n',
    '+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:1\r\n:2\r\n:3\r\n',
  )
})

test('a node that forwards queues requests for any leaders', async (t) => {
  const { away, peer } = await start(t, true)
  await peer.ask('MULTI\r\nINCR near\r\nINCR far\r\n', '+OK\r\n+QUEUED\r\n+QUEUED\r\n')
  away.add(slotOf('elsewhere'))
  await peer.ask('INCR elsewhere\r\nDISCARD\r\n', '+QUEUED\r\n+OK\r\n')
  await peer.ask(
    'MULTI\r\nINCR near\r\nINCR far\r\nEXEC\r\n',
    '+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:2\r\n',
  )
})
