/**
 * npm run cluster: an etcd of three members and three nodes on this machine, to look at and to try. Flags go to
 * every node: `npm run cluster -- --lease-ttl 1s`. Ctrl-C ends all of it and removes its data.
 */
import { join } from 'node:path'
import { type EtcdCluster, startEtcd } from '../test/launch/etcd.ts'
import { FahaoServer } from '../test/launch/fahao.ts'
import { Scope } from '../test/launch/lifetime.ts'
import { accepts, requireProgram } from '../test/launch/process.ts'

const ports = [7379, 7381, 7383]
const examples = join(import.meta.dirname, '..', 'examples', 'fahao.yaml')
const scope = new Scope()
const stopped = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
})

try {
  const nodes = await start()
  await stopped
  console.log('\nstopping')
  // As a node is stopped in earnest: it gives away what it leads, and needs etcd for that.
  await Promise.all(nodes.map((node) => node.kill('SIGTERM')))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
} finally {
  await scope.end()
}

async function start(): Promise<FahaoServer[]> {
  // Here, so that it is said before anything is started.
  requireProgram('etcd')
  for (const port of ports.flatMap((resp) => [resp, resp + 1])) {
    if (await accepts(port)) throw new Error(`port ${port} is taken; stop what listens there`)
  }
  console.log('starting three members of etcd and three nodes …')
  const etcd = await startEtcd(scope, { members: 3 })
  const nodes = await Promise.all(ports.map((resp) => startNode(etcd, resp)))
  await everyShardLed(nodes)
  say(etcd)
  nodes.forEach(sayEnd)
  return nodes
}

async function startNode(etcd: EtcdCluster, resp: number): Promise<FahaoServer> {
  const flags = process.argv.slice(2)
  const options = {
    engine: etcd.url('cluster'),
    config: examples,
    args: ['--cluster', 'try', '--forward', ...flags],
  }
  const node = new FahaoServer(scope, options, resp, resp + 1)
  await node.start()
  return node
}

async function everyShardLed(nodes: readonly FahaoServer[]): Promise<void> {
  for (;;) {
    const views = await Promise.all(nodes.map(viewOf))
    if (views.every((view) => view?.nodes.length === nodes.length && view.shards.every(isInPlace))) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

type Shard = { readonly leader: string | null; readonly wanted: string | null }
type View = { readonly nodes: readonly unknown[]; readonly shards: readonly Shard[] }

async function viewOf({ http }: FahaoServer): Promise<View | undefined> {
  const answer = await fetch(`${http}/v1/cluster`).catch(() => undefined)
  return answer?.ok ? ((await answer.json()) as View) : undefined
}

function isInPlace({ leader, wanted }: Shard): boolean {
  return leader !== null && leader === wanted
}

function say(etcd: EtcdCluster): void {
  const [first, second] = ports as [number, number, number]
  console.log(`
three nodes are up: RESP on ${ports.join(', ')}, HTTP on ${ports.map((port) => port + 1).join(', ')}
ids are kept in ${etcd.url('cluster')}

  redis-cli -c -p ${first} incr order                 follows MOVED to the leader
  redis-cli -p ${second} incr order                    --forward: any node asks the leader
  curl -X POST http://127.0.0.1:${second + 1}/v1/generators/order/next
  redis-cli --cluster check 127.0.0.1:${first}
  npx fahao cluster status

  import { Cluster } from 'ioredis'
  const fahao = new Cluster([${ports.map((port) => `{ host: '127.0.0.1', port: ${port} }`).join(', ')}])
  console.log(await fahao.incr('order'))

to see it fail over, end one of the nodes, and go on asking the others:
  npx fahao cluster status --url http://127.0.0.1:${second + 1}

Ctrl-C stops everything`)
}

async function sayEnd(node: FahaoServer, index: number): Promise<void> {
  console.log(`node ${index + 1} has process id ${node.pid}: kill -9 ${node.pid}`)
  const exit = await node.exited
  console.log(`node ${index + 1} has ended (${exit.code === null ? exit.signal : `exit code ${exit.code}`})`)
}
