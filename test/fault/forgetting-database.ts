/** Two nodes on a database that loses writes which it had acknowledged. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { startTcpProxy, type TcpProxy } from '../launch/tcp-proxy.ts'
import { create, judge, secondsOf, until } from './campaign.ts'
import { databaseOf, type StartDatabase, through } from './databases.ts'
import { type Ask, Load } from './load.ts'

/** More ids than can be issued from the writes that are lost here. */
export const gap = 100_000_000
const kinds = ['segment', 'snowflake', 'sequence']
/** Three clients of each kind. */
export const asks: readonly Ask[] = kinds.flatMap((kind) =>
  Array<Ask>(3).fill({
    generator: kind,
    command: ['ID.NEXT', kind, 'COUNT', kind === 'segment' ? 50 : 1],
  }),
)

/** Starts two nodes, and creates a generator of each kind. */
export async function startNodes(t: TestContext, engine: string, ...args: string[]): Promise<FahaoServer[]> {
  const nodes = await Promise.all(
    [1, 2].map(() => startFahao(t, { engine, args: ['--log-level', 'warn', ...args] })),
  )
  const client = await nodes[0]!.connect()
  // Ranges that last moments: every second has its reserves.
  for (const kind of kinds)
    await create(client, kind, kind, ...(kind === 'segment' ? ['STEP', '500', 'HORIZON', '200ms'] : []))
  return nodes
}

/** Resolves when every generator issues on every node. */
export async function untilAllIssue(nodes: readonly FahaoServer[]): Promise<void> {
  for (const node of nodes) {
    const client = await node.connect()
    for (const kind of kinds) {
      await until(
        () => client.command('ID.NEXT', kind),
        (reply) => typeof reply === 'string',
        30_000,
      )
    }
  }
}

/** Fails unless a node has logged that the database went back. */
export function assertNoticed(nodes: readonly FahaoServer[]): void {
  const noticed = nodes.filter((node) => node.output().includes('the database is not what it was'))
  assert.ok(noticed.length > 0, 'a node has told that the database went back')
}

/** MariaDB restores table by table. A node that reads half-way finds its worker id missing, so no node reads meanwhile. */
export async function restoreUnseen(proxy: TcpProxy, restore: () => Promise<void>): Promise<void> {
  proxy.stall()
  await restore()
  proxy.resume()
}

/** Two nodes that reach a database through a proxy. */
export async function startBehindProxy(t: TestContext, start: StartDatabase, ...args: string[]) {
  const database = await start(t)
  const proxy = await startTcpProxy(t, database.port)
  const engine = await database.newDatabase()
  const nodes = await startNodes(t, through(engine, proxy.port), ...args)
  return { database, proxy, engine, nodes }
}

/** The campaign: each round restores an older dump under the nodes. */
export async function restoredDump(
  t: TestContext,
  name: string,
  start: StartDatabase,
  rounds: number,
): Promise<void> {
  const { database, engine, proxy, nodes } = await startBehindProxy(t, start, '--failover-gap', `${gap}`)
  const load = new Load()
  for (let round = 0; round < rounds; round++) {
    // A third loss within ten minutes is left to the operator.
    if (round > 0 && round % 2 === 0) for (const node of nodes) await node.restart()
    load.start(
      nodes.map(({ resp }) => resp),
      asks,
    )
    await untilAllIssue(nodes)
    await pause(secondsOf(700, 1500))
    const dump = await database.dump(databaseOf(engine))
    await pause(secondsOf(1500, 2500))
    await restoreUnseen(proxy, () => database.restore(databaseOf(engine), dump))
    await untilAllIssue(nodes)
    await pause(secondsOf(700, 1500))
    await load.stop()
  }
  assertNoticed(nodes)
  judge(t, load, ['sequence'], { name: `a dump restored under ${name}`, rounds })
}
