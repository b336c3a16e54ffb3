/**
 * npm run cluster: an etcd of three members and three nodes on this machine, for trials. Every node gets the flags:
 * `npm run cluster -- --lease-ttl 1s`. CLUSTER_PORT is the first of six adjoining ports. Ctrl-C ends all processes and
 * removes their data.
 *
 * Invariants
 *  1. A signal ends every started process and removes its data, also during the start, and however often the signal comes:
 *     a terminal signals the whole group, and npm forwards the signal again.
 *  2. No started process receives the terminal's signals: each has a session of its own, and gets one signal from here.
 *     A process that has not got its session yet ends by the terminal's signal: after a signal no failed start counts.
 */
import { join, relative } from 'node:path'
import { type EtcdCluster, startEtcd } from '../test/launch/etcd.ts'
import { FahaoServer } from '../test/launch/fahao.ts'
import { Scope } from '../test/launch/lifetime.ts'
import { accepts, requireProgram } from '../test/launch/process.ts'

const forceAfterMs = 3000
const repository = join(import.meta.dirname, '..')
const examples = join(repository, 'examples', 'fahao.yaml')
const clusterFlags = ['--cluster', 'try', '--forward', ...process.argv.slice(2)]
const scope = new Scope()
let ending: Promise<void> | undefined
let stopping = false
const stopped = stopAsked()

try {
  const ports = portsFrom(process.env.CLUSTER_PORT ?? '7379')
  const starting = start(ports)
  await Promise.race([starting, stopped])
  await stopped
  // As in production: a node hands over its shards, for which it needs etcd.
  await Promise.all((await starting).map((node) => node.kill('SIGTERM')))
} catch (error) {
  if (!stopping) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
} finally {
  await end()
}

/** Resolves at the first signal. Signals shortly after it are echoes; a later one forces the end. */
function stopAsked(): Promise<void> {
  // The signal of a closed terminal.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return new Promise((resolve) => {
    let askedMs: number | undefined
    const onSignal = () => {
      if (askedMs === undefined) {
        askedMs = performance.now()
        stopping = true
        console.log('\nstopping')
        resolve()
      } else if (performance.now() - askedMs > forceAfterMs) {
        console.log('ending at once')
        void end().finally(() => process.exit(1))
      }
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  })
}

/** Kills the remaining processes, and removes the data. */
function end(): Promise<void> {
  ending ??= scope.end()
  return ending
}

function portsFrom(first: string): readonly number[] {
  const port = /^\d{1,5}$/.test(first) ? Number(first) : 0
  if (port < 1 || port > 65_530) throw new Error(`CLUSTER_PORT is a number from 1 to 65530, not '${first}'`)
  return [port, port + 2, port + 4]
}

/** After a signal, waits for starts under way and begins no others. */
async function start(ports: readonly number[]): Promise<readonly FahaoServer[]> {
  // Checked here, before a process starts.
  requireProgram('etcd')
  for (const port of ports.flatMap((resp) => [resp, resp + 1])) {
    if (await accepts(port)) {
      throw new Error(
        `port ${port} is taken; stop what listens there, or give the first of six with CLUSTER_PORT`,
      )
    }
  }
  console.log('starting three members of etcd and three nodes …')
  const etcd = await startEtcd(scope, { members: 3 })
  if (stopping) return []
  const engine = etcd.url('cluster')
  const nodes = await Promise.all(ports.map((resp) => startNode(engine, resp)))
  await everyShardLed(nodes)
  if (!stopping) say(etcd, ports)
  for (const [index, node] of nodes.entries()) void sayEnd(node, `node ${index + 1}`)
  return nodes
}

async function startNode(engine: string, resp: number): Promise<FahaoServer> {
  const node = new FahaoServer(scope, { engine, config: examples, args: clusterFlags }, resp, resp + 1)
  await node.start()
  return node
}

async function everyShardLed(nodes: readonly FahaoServer[]): Promise<void> {
  while (!stopping) {
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

function say(etcd: EtcdCluster, ports: readonly number[]): void {
  const [first, second] = ports as [number, number]
  console.log(`
three nodes are up: RESP on ${ports.join(', ')}, HTTP on ${ports.map((port) => port + 1).join(', ')}
ids are kept in ${etcd.url('cluster')}

  redis-cli -p ${second} incr order                    any client, any node: it asks the leader (--forward)
  redis-cli -c -p ${first} incr order                 a cluster-aware client works too
  curl -X POST http://127.0.0.1:${second + 1}/v1/generators/order/next
  redis-cli --cluster check 127.0.0.1:${first}
  npx fahao cluster status${urlUnlessDefault(first + 1)}

  import { Cluster } from 'ioredis'
  const fahao = new Cluster([${ports.map((port) => `{ host: '127.0.0.1', port: ${port} }`).join(', ')}])
  console.log(await fahao.incr('order'))

to see it fail over, end one of the nodes, and go on asking the others:
  npx fahao cluster status --url http://127.0.0.1:${second + 1}

Ctrl-C stops everything`)
}

function urlUnlessDefault(http: number): string {
  return http === 7380 ? '' : ` --url http://127.0.0.1:${http}`
}

async function sayEnd(node: FahaoServer, name: string): Promise<void> {
  if (!stopping) console.log(`${name} has process id ${node.pid}: kill -9 ${node.pid}`)
  const exit = await node.exited
  console.log(`${name} has ended (${exit.code === null ? exit.signal : `exit code ${exit.code}`})`)
  if (!stopping) console.log(`to start it again, from a terminal of its own:\n  ${commandOf(node)}`)
}

/** The command that starts the node by hand, in the repository's folder. */
function commandOf({ engine, resp, http }: FahaoServer): string {
  const listeners = ['--resp', `127.0.0.1:${resp}`, '--http', new URL(http).host]
  const flags = [
    '--engine',
    engine,
    '--config',
    relative(repository, examples),
    ...listeners,
    ...clusterFlags,
  ]
  return ['npx fahao serve', ...flags.map(quoted)].join(' ')
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
