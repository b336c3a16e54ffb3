/** Users: INCR of a user with patterns and categories, beside the same server without users. */
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { processCpuUs } from './process-cpu.ts'
import { type RedisLoad, redisBenchmark } from './redis-benchmark.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

type Contender = {
  readonly name: string
  readonly port: number
  readonly pid: number
  readonly login?: RedisLoad['login']
}

const loads = [
  { what: 'pipeline 1', pipeline: 1, warm: 20_000 },
  { what: 'pipeline 16', pipeline: 16, warm: 200_000 },
  { what: 'pipeline 128', pipeline: 128, warm: 500_000 },
  // Too many names for what the server caches of requests.
  { what: '20,000 keys, pipeline 16', pipeline: 16, warm: 400_000, keys: 20_000 },
] as const
const cpuMost = 1.03
const password = 'of the bench'

/** The same load from a client that has logged in, and from one that need not. */
export async function users(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const [user, anyone] = [await startWithUser(lifetime), await start(lifetime, 'Fahao, no users')]
  const figures: Figure[] = []
  const absolute: Figure[] = []
  for (const { what, ...load } of loads) {
    const rounds = await measureAll([user, anyone], effort, load)
    const of = (each: Contender) => rounds.get(each)!
    figures.push({
      what: `${what}: server CPU per request to ${anyone.name}`,
      unit: '×',
      budget: { most: cpuMost },
      ...ratioOf(of(user), of(anyone)),
    })
    for (const each of [user, anyone]) {
      absolute.push({ what: `${what}: ${each.name}, CPU per request`, unit: 'µs', ...spreadOf(of(each)) })
    }
  }
  const how = `\`redis-benchmark -c 50\`, about ${effort.seconds} s each, interleaved; ratios round by round, median of ${effort.rounds}.`
  return [{ name: 'RESP: INCR of a user', how, figures: [...figures, ...absolute] }]
}

async function start(lifetime: Lifetime, name: string, env: Record<string, string> = {}): Promise<Contender> {
  const args = ['--auto-create', '*=sequence', '--rounding-guard', 'off', '--log-level', 'warn']
  const { resp, pid } = await startFahao(lifetime, { args, env })
  return { name, port: resp, pid }
}

async function startWithUser(lifetime: Lifetime): Promise<Contender> {
  const contender = await start(lifetime, 'Fahao, a user', { FAHAO_ADMIN_PASSWORD: password })
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
