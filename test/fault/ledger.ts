/** `kill -9` of nodes, leaders and the database while callers of a ledger come and go. */
import type { TestContext } from 'node:test'
import type { DatabaseServer } from '../launch/database.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { startPostgres } from '../launch/postgres.ts'
import { startCluster } from './cluster-nodes.ts'
import { LedgerCallers } from './ledger-callers.ts'

const create = ['ID.CREATE', 'invoice', 'KIND', 'sequence', 'LEDGER', 'on'] as const

/** A node on SQLite that is killed again and again. */
export async function killedLedgerNode(t: TestContext, kills: number, documents: number): Promise<void> {
  const server: FahaoServer = await startFahao(t, { args: ['--log-level', 'warn'] })
  await (await server.connect()).command(...create)
  const kill = async () => {
    await server.kill('SIGKILL')
    await server.start()
  }
  await underFaults(t, [server], Array(kills).fill(kill), documents)
}

/** A cluster of three on PostgreSQL: its leaders, its nodes, and the database are killed in turn. */
export async function killedLedgerCluster(t: TestContext, rounds: number, documents: number): Promise<void> {
  const database: DatabaseServer = await startPostgres(t)
  const engine = { newPlace: () => database.newDatabase(), ports: [database.port] }
  const cluster = await startCluster(t, engine, { args: () => ['--forward'] })
  const servers = cluster.nodes.map(({ server }) => server)
  await cluster.create('invoice', 'sequence', 'LEDGER', 'on')
  const again = async (server: FahaoServer) => {
    await server.kill('SIGKILL')
    await server.start()
    await cluster.untilComplete()
  }
  const leader = async () => again((await cluster.untilLed('invoice')).server)
  const follower = async () => {
    const { server } = await cluster.untilLed('invoice')
    await again(servers.find((each) => each !== server)!)
  }
  const store = async () => {
    await database.kill()
    await database.restart()
    await cluster.untilComplete()
  }
  await underFaults(t, servers, Array(rounds).fill([leader, follower, store]).flat(), documents)
}

async function underFaults(
  t: TestContext,
  servers: readonly FahaoServer[],
  faults: readonly (() => Promise<void>)[],
  documents: number,
): Promise<void> {
  const callers = new LedgerCallers((caller) => servers[caller % servers.length]!.resp)
  const each = Math.ceil(documents / (faults.length + 1))
  for (const fault of faults) {
    await callers.wait(each)
    await fault()
  }
  await callers.wait(each)
  await callers.stop()
  const states = await callers.account(servers[0]!.http)
  t.diagnostic(
    `${faults.length} kills, ${callers.documents.size} documents, ${callers.lapsed} lapsed before they were confirmed; \
lines: ${JSON.stringify([...states])}; errors: ${JSON.stringify([...callers.errors])}`,
  )
}
