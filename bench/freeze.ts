/** A cold key whose database freezes shortly after its first id: how many of its requests fail. */
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { openLoop } from './open-loop.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, spreadOf } from './rounds.ts'

const perSecond = 1000
const frozenAfterMs = 300
const frozenForMs = 5000

type Measured = { readonly failures: number; readonly longestMs: number }

/** This build, and the earlier one if there is one to compare with. */
export async function freeze(lifetime: Lifetime, { rounds, before }: Effort): Promise<Section[]> {
  const database = await startMariaDb(lifetime)
  const figures: Figure[] = []
  for (const checkout of before === undefined ? [undefined] : [undefined, before]) {
    const fahao = await startFahao(lifetime, {
      engine: await database.newDatabase(),
      args: ['--auto-create', '*=segment', '--log-level', 'error'],
      ...(checkout && { checkout }),
    })
    const measured: Measured[] = []
    for (let round = 0; round < rounds; round++) measured.push(await frozenKey(fahao.resp, `cold-${round}`))
    const build = checkout === undefined ? '' : 'the earlier build: '
    figures.push(
      {
        what: `${build}requests that failed`,
        unit: '%',
        ...(checkout === undefined && { budget: { most: 0 } }),
        ...spreadOf(measured.map(({ failures }) => failures)),
      },
      { what: `${build}longest wait`, unit: 'ms', ...spreadOf(measured.map(({ longestMs }) => longestMs)) },
    )
  }
  const how = `INCR of a segment that is new in each round, ${perSecond} requests a second in an open loop; MariaDB stopped ${frozenAfterMs / 1000} s after the first, for ${frozenForMs / 1000} s; the median of ${rounds} rounds.`
  return [{ name: 'A cold key, and a database that freezes', how, figures }]

  async function frozenKey(port: number, key: string): Promise<Measured> {
    const seconds = (frozenAfterMs + frozenForMs + 500) / 1000
    let failures = 0
    const load = openLoop({
      port,
      commands: [['INCR', key]],
      connections: 10,
      ratePerSecond: perSecond,
      seconds,
      refused: () => failures++,
    })
    await pause(frozenAfterMs)
    await database.freeze()
    await pause(frozenForMs)
    database.thaw()
    const latencies = await load
    // The node finishes the delayed work before the next round.
    await pause(1000)
    return { failures: (failures / (perSecond * seconds)) * 100, longestMs: latencies.max / 1_000_000 }
  }
}
