/**
 * A cluster under load whose nodes are exchanged one by one: from the version before to that of this checkout, then one of
 * them back. `npm run test:upgrade` has every engine, and ends each with a row of figures.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { connect } from '../../client/src/index.ts'
import { judge, restOf, runsOn } from '../fault/campaign.ts'
import { ClientLoad } from '../fault/client-load.ts'
import { type ClusterEngine, clusterEngines } from '../fault/cluster-engines.ts'
import { type FollowingAsk, FollowingLoad } from '../fault/cluster-load.ts'
import { type ClusterNode, eventually, startCluster, type TestCluster } from '../fault/cluster-nodes.ts'
import { Scope } from '../launch/lifetime.ts'
import { LibraryLoad } from './library-load.ts'
import { clientOf, type Package, packageIn, versionBefore } from './version-before.ts'

const timeout = 600_000
const kinds = { order: 'sequence', stamp: 'timestamp', user: 'segment', event: 'snowflake' } as const
const strict = ['order', 'stamp']
const restMs = restOf(2)
const asks: readonly FollowingAsk[] = [
  ...Array<FollowingAsk>(2).fill({ generator: 'order', command: ['INCR', 'order'], restMs }),
  { generator: 'order', command: ['ID.NEXT', 'order', 'COUNT', 20], restMs },
  { generator: 'stamp', command: ['ID.NEXT', 'stamp'], restMs },
  ...Array<FollowingAsk>(3).fill({ generator: 'user', command: ['INCR', 'user'], restMs, stays: true }),
  ...Array<FollowingAsk>(3).fill({ generator: 'event', command: ['ID.NEXT', 'event'], restMs, stays: true }),
]
const current = packageIn(join(import.meta.dirname, '..', '..'))

for (const [name, start] of Object.entries(clusterEngines)) {
  if (!runsOn(name, ['etcd'])) continue
  describe(`three nodes on ${name}`, { timeout }, () => {
    const scope = new Scope()
    let earlier: Package
    let engine: ClusterEngine
    before(async () => {
      earlier = await versionBefore()
      engine = await start(scope)
    })
    after(() => scope.end())

    test(
      'are upgraded one by one, and one of them goes back, without an error of a client',
      { timeout },
      (t) => exchangeAll(t, name, engine, earlier),
    )
  })
}

async function exchangeAll(t: TestContext, name: string, engine: ClusterEngine, earlier: Package) {
  const args = () => ['--rounding-guard', 'known']
  const cluster = await startCluster(t, engine, { args, checkout: earlier.folder })
  await cluster.untilSettled()
  for (const [generator, kind] of Object.entries(kinds)) {
    await cluster.create(generator, kind)
    await cluster.create(`client:${generator}`, kind)
  }
  const load = new FollowingLoad(t, cluster.ports)
  load.start(asks)
  const libraries = new LibraryLoad()
  await libraries.start(t, cluster.ports, 'order', load.journal('order'))
  const clients = await startClients(t, cluster, earlier)
  const progress = async () => {
    const counts = new Map(Object.keys(kinds).map((generator) => [generator, load.journal(generator).count]))
    const drawn = libraries.least
    await clients.each(10)
    await eventually('a client gets no ids', async () => {
      const isStuck = [...counts].some(([generator, count]) => load.journal(generator).count < count + 50)
      return (!isStuck && libraries.least > drawn + 50) || undefined
    })
  }
  await progress()
  for (const node of cluster.nodes) {
    await exchange(cluster, node, current, progress)
    const { versions } = await cluster.status(node)
    const isLast = node === cluster.nodes.at(-1)
    assert.deepEqual(versions, isLast ? [current.version] : [current.version, earlier.version])
    t.diagnostic(`${name}, upgraded: ${clients.waits}; ${libraries.figures}`)
  }
  const back = await goBack(cluster, cluster.nodes[1]!, earlier, progress)
  t.diagnostic(`${name}, back: ${back}; ${clients.waits}; ${libraries.figures}`)
  await Promise.all([load.stop(), libraries.stop(), clients.stop()])

  const longestMs = Math.max(
    libraries.longestMs,
    // Clients of the other kinds stay with their node, and wait while it is exchanged.
    ...strict.map((generator) => load.longestWaitMs(0, Number.POSITIVE_INFINITY, generator)),
  )
  const errors = [...load.errorTexts.values(), ...libraries.errors]
  judge(t, load, strict, { name: `rolling upgrade on ${name}`, rounds: 4 })
  assert.deepEqual(errors, [], 'errors that clients saw')
  clients.assertNoFailure()
  const drawn = load.count + clients.count
  t.diagnostic(
    `| ${name} | ${drawn} ids | 0 errors | 0 twice | 0 out of order | longest wait ${longestMs.toFixed(0)} ms | back: ${back} |`,
  )
}

/** fahao-client of this version over RESP and HTTP, and that of the version before. */
async function startClients(t: TestContext, cluster: TestCluster, earlier: Package): Promise<ClientLoad> {
  const names = Object.keys(kinds).map((generator) => `client:${generator}`)
  const overResp = cluster.ports.map((port) => `redis://127.0.0.1:${port}`)
  const overHttp = cluster.nodes.map(({ server }) => server.http)
  const { connect: connectEarlier } = (await import(clientOf(earlier))) as { connect: typeof connect }
  const load = new ClientLoad(t)
  for (const urls of [overResp, overHttp]) {
    await load.start(urls, names)
    await load.start(urls, names, {}, connectEarlier)
  }
  return load
}

/**
 * Exchanges a node as docs/operating/upgrading.md says: has it drain, stops it once clients draw elsewhere, and starts it in
 * another version.
 */
async function exchange(
  cluster: TestCluster,
  node: ClusterNode,
  { folder }: Package,
  progress: () => Promise<void>,
): Promise<void> {
  const { server } = node
  const answer = await fetch(`${server.http}/v1/cluster/drain`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ draining: true }),
  })
  assert.equal(answer.status, 200, await answer.text())
  await eventually('a drained node leads on', async () => {
    const { self, nodes } = await cluster.status(node)
    return nodes.find(({ id }) => id === self)?.leads === 0 || undefined
  })
  await progress()
  await server.restart({ checkout: folder })
  await cluster.untilComplete()
  await progress()
}

/** The same with the version before, unless that one refuses the store; resolves to what became of it. */
async function goBack(
  cluster: TestCluster,
  node: ClusterNode,
  earlier: Package,
  progress: () => Promise<void>,
): Promise<string> {
  try {
    await exchange(cluster, node, earlier, progress)
    return 'it takes part'
  } catch (error) {
    const refusal = /.*(?:newer Fahao|newer version).*/.exec(String(error))?.[0]
    assert.ok(refusal !== undefined, `the version before neither takes part nor says why: ${error}`)
    await node.server.restart({ checkout: current.folder })
    await cluster.untilComplete()
    await progress()
    return refusal
  }
}
