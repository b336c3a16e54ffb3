/** Many generators that are only defined: a start, and what reads all of them. */
import { join } from 'node:path'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { temporaryFolder } from '../test/launch/places.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { definedName, defineNames } from './defined-store.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, ratioOf, spreadOf } from './rounds.ts'

const startMostMs = 1000

/** A million defined generators, or as many as are wanted, on SQLite. */
export async function keysDefined(lifetime: Lifetime, effort: Effort): Promise<Section> {
  const count = effort.names ?? (effort.quick ? 200_000 : 1_000_000)
  const engine = `sqlite:${join(temporaryFolder(lifetime), 'fahao.db')}`
  await defineNames(lifetime, engine, count)
  const options = { args: ['--log-level', 'warn'], readyWithinMs: 60_000 }
  const [full, empty] = [
    await startFahao(lifetime, { ...options, engine }),
    await startFahao(lifetime, options),
  ]
  const starts = { full: [] as number[], empty: [] as number[] }
  for (let round = 0; round < Math.min(effort.rounds, 3); round++) {
    for (const [server, values] of [
      [full, starts.full],
      [empty, starts.empty],
    ] as const) {
      await server.kill()
      values.push(await timed(() => server.start()))
    }
  }
  const client = await RawClient.connect(full.resp, lifetime)
  const ask = async (...command: (string | number)[]) => {
    const reply = await client.command(...command)
    if (reply instanceof Error) throw reply
  }
  const figures: Figure[] = []
  for (const [what, task] of [
    ['first id of one', () => ask('INCR', definedName(count >> 1))],
    ['SCAN, 1,000 names', () => ask('SCAN', 0, 'COUNT', 1000)],
    ['ID.LIST of a prefix', () => ask('ID.LIST', 'MATCH', `${definedName(count >> 1)}*`)],
    ['metrics', async () => await (await fetch(`${full.http}/metrics`)).text()],
    ['DBSIZE', () => ask('DBSIZE')],
    ['DBSIZE again', () => ask('DBSIZE')],
  ] as const)
    figures.push({ what, unit: 'ms', ...spreadOf([await timed(task)]) })
  return {
    name: `Keys: ${count.toLocaleString('en-US')} defined`,
    how: 'SQLite; starts until PING is answered, each after a kill, in turns with a server on an empty store; then each request once.',
    figures: [
      { what: 'start', unit: 'ms', budget: { most: startMostMs }, ...spreadOf(starts.full) },
      { what: 'start, to one on an empty store', unit: '×', ...ratioOf(starts.full, starts.empty) },
      ...figures,
    ],
  }
}

async function timed(task: () => Promise<unknown>): Promise<number> {
  const fromMs = performance.now()
  await task()
  return performance.now() - fromMs
}
