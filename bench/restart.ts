/** Restarts: a clean stop of a node with many generators in use, and the first id of each after the next start. */
import { startEtcd } from '../test/launch/etcd.ts'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import { type Lifetime, Scope } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { startPostgres } from '../test/launch/postgres.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, ratioOf, spreadOf } from './rounds.ts'

/** Connections; each requests the next generator as soon as the answer has come. */
const connections = 250
const beside = 'SQLite'
const backMostMs = 3000
const firstMostMs = 1000

/** A store, and the way to create an empty one. */
type Store = { readonly name: string; readonly engine: () => Promise<string | undefined> }
type Measured = {
  readonly stopMs: number
  /** The number of generators that continued with the next id; the others did not release theirs. */
  readonly givenBack: number
  readonly allMs: number
  readonly p99Ms: number
}

/** Each store after the other, in each round. */
export async function restart(lifetime: Lifetime, { quick }: Effort): Promise<Section[]> {
  const generators = quick ? 1000 : 5000
  const rounds = quick ? 1 : 3
  const stores = await startStores(lifetime)
  const measured = new Map<string, Measured[]>(stores.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const { name, engine } of stores) {
      const scope = new Scope()
      try {
        measured.get(name)!.push(await measure(scope, await engine(), generators))
      } finally {
        await scope.end()
      }
    }
  }
  const how = `${generators} segment generators in use; SIGTERM until the process has ended; then INCR of each generator once, over ${connections} connections without pipelines, timed from sending. Given back: the next id follows the last one. Median of ${rounds} rounds, each on an empty store.`
  return [{ name: 'Restart of a node', how, figures: figuresOf(measured, generators) }]
}

async function startStores(lifetime: Lifetime): Promise<Store[]> {
  const [postgres, mariaDb] = [await startPostgres(lifetime), await startMariaDb(lifetime)]
  const etcd = await startEtcd(lifetime)
  let prefixes = 0
  return [
    { name: beside, engine: () => Promise.resolve(undefined) },
    { name: 'PostgreSQL', engine: () => postgres.newDatabase() },
    { name: 'MariaDB', engine: () => mariaDb.newDatabase() },
    { name: 'etcd', engine: () => Promise.resolve(etcd.url(`restart${prefixes++}`)) },
  ]
}

async function measure(scope: Scope, engine: string | undefined, generators: number): Promise<Measured> {
  const args = ['--auto-create', '*=segment', '--log-level', 'warn']
  const server = await startFahao(scope, { args, ...(engine !== undefined && { engine }) })
  await askEach(server, generators)
  const { answers: before } = await askEach(server, generators)
  const stoppedMs = performance.now()
  await server.kill('SIGTERM')
  const stopMs = performance.now() - stoppedMs
  await server.start()
  const { answers: after, allMs } = await askEach(server, generators)
  await server.kill()
  const latencies = after.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
  return {
    stopMs,
    givenBack: after.filter(({ id }, at) => id === before[at]!.id + 1n).length,
    allMs,
    p99Ms: latencies[Math.ceil(latencies.length * 0.99) - 1]!,
  }
}

/** Draws from every generator once. A failed request is retried; its time counts from the first attempt. */
async function askEach(server: FahaoServer, generators: number) {
  const clients = await Promise.all(Array.from({ length: connections }, () => RawClient.connect(server.resp)))
  // Accepting these connections takes its time as well.
  for (const client of clients) await client.command('PING')
  const answers: { readonly id: bigint; readonly tookMs: number }[] = []
  const startedMs = performance.now()
  let next = 0
  const askOn = async (client: RawClient) => {
    while (next < generators) {
      const at = next++
      const sentMs = performance.now()
      let reply = await client.command('INCR', `generator:${at}`)
      while (typeof reply !== 'bigint') reply = await client.command('INCR', `generator:${at}`)
      answers[at] = { id: reply, tookMs: performance.now() - sentMs }
    }
    await client.close()
  }
  await Promise.all(clients.map(askOn))
  return { answers, allMs: performance.now() - startedMs }
}

function figuresOf(measured: ReadonlyMap<string, readonly Measured[]>, generators: number): Figure[] {
  const of = (name: string, what: keyof Measured) => measured.get(name)!.map((each) => each[what])
  return [...measured.keys()].flatMap((name) => {
    const ratio = (what: string, key: keyof Measured): Figure[] =>
      name === beside
        ? []
        : [{ what: `${name}: ${what}, to ${beside}`, unit: '×', ...ratioOf(of(name, key), of(beside, key)) }]
    return [
      { what: `${name}: stop`, unit: 'ms', budget: { most: backMostMs }, ...spreadOf(of(name, 'stopMs')) },
      ...ratio('stop', 'stopMs'),
      {
        what: `${name}: generators given back`,
        unit: '',
        budget: { least: generators },
        ...spreadOf(of(name, 'givenBack')),
      },
      {
        what: `${name}: first ids, p99`,
        unit: 'ms',
        budget: { most: firstMostMs },
        ...spreadOf(of(name, 'p99Ms')),
      },
      { what: `${name}: first ids, all`, unit: 'ms', ...spreadOf(of(name, 'allMs')) },
      ...ratio('first ids, all', 'allMs'),
    ]
  })
}
