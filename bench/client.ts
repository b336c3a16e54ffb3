/** Ids of `fahao-client` in the processes of its users, beside npm's id packages. */
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import type { ClientLap } from './client-probe.ts'
import { peers } from './peers.ts'
import { runProbe } from './probe.ts'
import type { Budget, Figure, Section } from './report.ts'
import { type Effort, interleaved, spreadOf } from './rounds.ts'

const contenders = [
  'segment, tryNextNumber',
  'segment, tryNext, bigint',
  'segment, nextBatch(1000), bigint',
  'snowflake, tryNext, bigint',
] as const
/** In millions of ids per second of CPU time. */
const perCore: Readonly<Record<string, Budget>> = {
  'segment, tryNextNumber': { least: 50 },
  'segment, tryNext, bigint': { least: 20 },
}
const nsPerId: Readonly<Record<string, Budget>> = { 'snowflake, tryNext, bigint': { most: 20 } }

/** The CPU time of one id, the rate of one core, and how seldom the service is asked. */
export async function client(lifetime: Lifetime, { rounds, quick }: Effort): Promise<Section[]> {
  const { resp } = await startFahao(lifetime, { args: ['--log-level', 'warn'] })
  const admin = await RawClient.connect(resp, lifetime)
  await admin.command('ID.CREATE', 'segment', 'KIND', 'segment')
  await admin.command('ID.CREATE', 'snowflake', 'KIND', 'snowflake', 'LAYOUT', 'twitter')
  const url = `redis://127.0.0.1:${resp}`
  // With those that warm up, as many ids as the snowflake's 10 s of borrowed time have room for, and half of them.
  const ids = 20_000_000
  const probe = (name: string) =>
    runProbe<ClientLap>('client-probe.ts', url, name, `${ids}`, quick ? '200' : '500')
  const laps = await interleaved([...contenders, ...Object.keys(peers)], rounds, probe)
  const figures = [...laps].map(([name, measured]): Record<'rate' | 'cpu' | 'wall', Figure> => {
    const what = isOurs(name) ? `fahao-client: ${name}` : name
    const spread = (of: (lap: ClientLap) => number) => spreadOf(measured.map(of))
    return {
      rate: figure(
        what,
        'M/s',
        spread(({ cpuNs }) => 1000 / cpuNs),
        perCore[name],
      ),
      cpu: figure(
        what,
        'ns',
        spread(({ cpuNs }) => cpuNs),
        nsPerId[name],
      ),
      wall: figure(
        what,
        'ns',
        spread(({ wallNs }) => wallNs),
      ),
    }
  })
  const requests = contenders.map((name) =>
    figure(
      `fahao-client: ${name}`,
      'requests',
      spreadOf(laps.get(name)!.map(({ requests, issued }) => (requests! / issued!) * 1_000_000)),
    ),
  )
  const how = `A process for each contender in each round, interleaved, median of ${rounds}; ${ids / 1_000_000} million ids of fahao-client after 2 million to warm up, from a server on SQLite over RESP.`
  return [
    {
      name: 'Client: ids per second of CPU time',
      how: `${how} The CPU time is that of the whole process: connection, compiler, collector. CosId publishes 127 M/s (127,439,148 ops/s) for its SegmentChainId with step 1000 (JMH, on the JVM); that was not measured here.`,
      figures: figures.map(({ rate }) => rate),
    },
    { name: 'Client: CPU time of one id', how: 'The same run.', figures: figures.map(({ cpu }) => cpu) },
    {
      name: 'Client: time of one id, with waits for the service',
      how: 'The same run; other work on the machine is part of it.',
      figures: figures.map(({ wall }) => wall),
    },
    {
      name: 'Client: requests per million ids',
      how: 'The same run, from the request that opens the generator on.',
      figures: requests,
    },
  ]
}

function isOurs(name: string): boolean {
  return contenders.some((each) => each === name)
}

function figure(what: string, unit: string, spread: ReturnType<typeof spreadOf>, budget?: Budget): Figure {
  return { what, unit, ...spread, ...(budget && { budget }) }
}
