/** Many keys as a real service has them: a user with patterns, a quota, three kinds, names of many lengths. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { startRedis } from '../test/launch/redis.ts'
import { startBareKeys } from './bare-keys-server.ts'
import { type MixedFigures, type MixedLoad, mixedName } from './mixed-load.ts'
import { askEach } from './name-links.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

const runFile = promisify(execFile)
type Contender = 'fahao' | 'redis' | 'bare' | 'before'
type Server = Pick<MixedLoad, 'port' | 'pid' | 'login'>

const contenderNames: Record<Contender, string> = {
  fahao: 'Fahao, SQLite',
  redis: 'Redis, no persistence',
  bare: 'the prototype',
  before: 'the earlier build',
}
const pipelines = [1, 16, 128] as const
const spreads = ['uniform', 'Zipf'] as const
const names = 20_000
const password = 'of the bench'

/** The same bytes for every server. */
export async function mixedKeys(lifetime: Lifetime, effort: Effort): Promise<Section> {
  const servers = new Map<Contender, Server>([
    ['fahao', await startOurs(lifetime)],
    ['redis', await startRedis(lifetime)],
    ['bare', await startBareKeys(lifetime)],
    ...(effort.before === undefined ? [] : [['before', await startOurs(lifetime, effort.before)] as const]),
  ])
  for (const server of servers.values()) {
    for (let time = 0; time < 2; time++)
      await askEach(server.port, { ...server, count: names, nameOf: mixedName })
  }
  const figures: Figure[] = []
  for (const spread of spreads) {
    for (const pipeline of pipelines) {
      const load = { names, spread, pipeline, seconds: effort.seconds }
      for (const server of servers.values()) await send({ ...server, ...load })
      const rounds = await interleaved([...servers.keys()], effort.rounds, (name) =>
        send({ ...servers.get(name)!, ...load }),
      )
      figures.push(...figuresOf(rounds, `${spread}, pipeline ${pipeline}`))
    }
  }
  return {
    name: 'Keys: mixed (for information)',
    how: `INCR of ${names.toLocaleString('en-US')} names of 8 to 64 bytes: sequences, segments and snowflakes; of Fahao by a user with patterns, in a namespace whose RATE is never reached. 50 connections send prebuilt requests, the same to each server, for about ${effort.seconds} s each, interleaved; ratios round by round, median of ${effort.rounds}. The load takes more of the machine than redis-benchmark, so the CPU time of the server says most.`,
    figures,
  }
}

async function startOurs(lifetime: Lifetime, checkout?: string): Promise<Server> {
  const rules = ['seq:*=sequence', 'seg:*=segment', 'sno:*=snowflake'].flatMap((rule) => [
    '--auto-create',
    rule,
  ])
  const { resp, pid } = await startFahao(lifetime, {
    ...(checkout && { checkout }),
    args: [...rules, '--rounding-guard', 'off', '--log-level', 'warn'],
    env: { FAHAO_ADMIN_PASSWORD: password },
  })
  const admin = await RawClient.connect(resp, lifetime)
  const user = ['ACL', 'SETUSER', 'bench', 'on', `>${password}`, '~seq:*', '~seg:*', '~sno:*', '+@issue']
  const namespace = ['ID.NAMESPACE', 'SET', 'all', 'MATCH', 's*', 'RATE', '1000000000']
  for (const command of [['AUTH', 'admin', password], user, namespace]) {
    const reply = await admin.command(...command)
    if (reply instanceof Error) throw reply
  }
  return { port: resp, pid, login: { user: 'bench', password } }
}

async function send(load: MixedLoad): Promise<MixedFigures> {
  const path = join(import.meta.dirname, 'mixed-load.ts')
  const { stdout } = await runFile(process.execPath, [path, JSON.stringify(load)])
  return JSON.parse(stdout)
}

function figuresOf(rounds: ReadonlyMap<Contender, readonly MixedFigures[]>, at: string): Figure[] {
  const of = (name: Contender, what: keyof MixedFigures) => rounds.get(name)!.map((each) => each[what])
  const ratio = (ours: Contender, theirs: Contender, key: keyof MixedFigures, what: string): Figure => ({
    what: `${at}: ${ours === 'fahao' ? '' : `${contenderNames[ours]}, `}${what} to ${contenderNames[theirs]}`,
    unit: '×',
    ...ratioOf(of(ours, key), of(theirs, key)),
  })
  return [
    ratio('fahao', 'redis', 'perSecond', 'throughput'),
    ratio('fahao', 'redis', 'cpuUs', 'server CPU per request'),
    ratio('fahao', 'redis', 'p99Us', 'p99'),
    ratio('bare', 'redis', 'cpuUs', 'server CPU per request'),
    ...(rounds.has('before')
      ? [
          ratio('before', 'redis', 'cpuUs', 'server CPU per request'),
          ratio('fahao', 'before', 'cpuUs', 'server CPU per request'),
        ]
      : []),
    {
      what: `${at}: ${contenderNames.fahao}, requests`,
      unit: 'k/s',
      ...spreadOf(of('fahao', 'perSecond').map((rate) => rate / 1000)),
    },
    {
      what: `${at}: ${contenderNames.fahao}, CPU per request`,
      unit: 'µs',
      ...spreadOf(of('fahao', 'cpuUs')),
    },
    {
      what: `${at}: ${contenderNames.redis}, CPU per request`,
      unit: 'µs',
      ...spreadOf(of('redis', 'cpuUs')),
    },
  ]
}
