/** Users: INCR of a user with patterns and categories, beside the same server without users. */
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { processCpuUs } from './process-cpu.ts'
import { type RedisLoad, redisBenchmark } from './redis-benchmark.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

type Contender = {
  readonly port: number
  readonly pid: number
  readonly login?: RedisLoad['login']
  stop(): Promise<unknown>
}

const loads = [
  { what: 'pipeline 1', pipeline: 1, warm: 20_000 },
  { what: 'pipeline 16', pipeline: 16, warm: 200_000 },
  { what: 'pipeline 128', pipeline: 128, warm: 500_000 },
  // Too many names for what the server caches of requests.
  { what: '20,000 keys, pipeline 16', pipeline: 16, warm: 400_000, keys: 20_000 },
] as const
const cpuMost = 1.03
/** Servers of each contender: two processes of the same program differ by up to a tenth, which no number of rounds averages out. */
const serversMax = 4
const password = 'of the bench'

/** The same load from a client that has logged in, and from one that need not. */
export async function users(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const servers = Math.min(effort.rounds, serversMax)
  const each = { ...effort, rounds: Math.ceil(effort.rounds / servers) }
  const withUser = loads.map((): number[] => [])
  const without = loads.map((): number[] => [])
  for (let pair = 0; pair < servers; pair++) {
    const [user, anyone] = [await startWithUser(lifetime), await start(lifetime)]
    for (const [index, load] of loads.entries()) {
      const rounds = await measureAll([user, anyone], each, load)
      withUser[index]!.push(...rounds.get(user)!)
      without[index]!.push(...rounds.get(anyone)!)
    }
    for (const { stop } of [user, anyone]) await stop()
  }
  const ratios: Figure[] = loads.map(({ what }, index) => ({
    what: `${what}: server CPU per request to Fahao, no users`,
    unit: '×',
    budget: { most: cpuMost },
    ...ratioOf(withUser[index]!, without[index]!),
  }))
  const absolute: Figure[] = loads.flatMap(({ what }, index) => [
    { what: `${what}: Fahao, a user, CPU per request`, unit: 'µs', ...spreadOf(withUser[index]!) },
    { what: `${what}: Fahao, no users, CPU per request`, unit: 'µs', ...spreadOf(without[index]!) },
  ])
  const how = `\`redis-benchmark -c 50\`, about ${effort.seconds} s each, interleaved, ${servers} servers of each one after the other; ratios round by round, median of ${servers * each.rounds}.`
  return [{ name: 'RESP: INCR of a user', how, figures: [...ratios, ...absolute] }]
}

async function start(lifetime: Lifetime, env: Record<string, string> = {}): Promise<Contender> {
  const args = ['--auto-create', '*=sequence', '--rounding-guard', 'off', '--log-level', 'warn']
  const server = await startFahao(lifetime, { args, env })
  return { port: server.resp, pid: server.pid, stop: () => server.kill() }
}

async function startWithUser(lifetime: Lifetime): Promise<Contender> {
  const contender = await start(lifetime, { FAHAO_ADMIN_PASSWORD: password })
  const client = await RawClient.connect(contender.port, lifetime)
  await client.command('AUTH', 'admin', password)
  await client.command('ACL', 'SETUSER', 'bench', 'on', `>${password}`, '~counter:*', '~key:*', '+@issue')
  return { ...contender, login: { user: 'bench', password } }
}

async function measureAll(
  contenders: readonly Contender[],
  { rounds, seconds }: Effort,
  { warm, pipeline, keys }: { readonly warm: number; readonly pipeline: number; readonly keys?: number },
): Promise<ReadonlyMap<Contender, readonly number[]>> {
  const command = keys === undefined ? undefined : ['INCR', 'key:__rand_int__']
  const requests = new Map<Contender, number>()
  const loadOf = ({ login }: Contender, count: number): RedisLoad => ({
    pipeline,
    requests: count,
    ...(keys && { keys }),
    ...(command && { command }),
    ...(login && { login }),
  })
  for (const each of contenders) {
    await redisBenchmark(each.port, loadOf(each, warm))
    const perSecond = await redisBenchmark(each.port, loadOf(each, warm))
    requests.set(each, Math.ceil((perSecond * seconds) / pipeline) * pipeline)
  }
  return interleaved(contenders, rounds, async (each) => {
    const count = requests.get(each)!
    const before = processCpuUs(each.pid)
    await redisBenchmark(each.port, loadOf(each, count))
    return (processCpuUs(each.pid) - before) / count
  })
}
