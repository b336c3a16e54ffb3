/**
 * `kill -9` at random and at named points, under load, again and again on one store: no id twice, no id above a durable
 * bound, and strict order over all runs of the server.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { create, judge } from './campaign.ts'
import { type Ask, Load } from './load.ts'
import { isCovered } from './stored.ts'
import { tracedFromStart } from './trace.ts'

const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
const strict = ['sequence', 'timestamp']
const asks: Ask[] = kinds.flatMap((kind) => [
  { generator: kind, command: ['INCR', kind], restMs: 0 },
  { generator: kind, command: ['ID.NEXT', kind], restMs: 0 },
  { generator: kind, command: ['ID.NEXT', kind, 'COUNT', 7], restMs: 0 },
])

/** Where the server is killed. `when` counts system calls since the start, beyond those that open the store. */
const points = {
  'at any moment': () => [],
  'before a reserve is written': () => tracedFromStart(`pwrite64:signal=SIGKILL:when=${12 + random(120)}`),
  'in the middle of a sync': () => tracedFromStart(`fsync,fdatasync:signal=SIGKILL:when=${6 + random(60)}`),
  'between a sync and its answer': () => tracedFromStart('fsync,fdatasync:delay_exit=15000:when=8+'),
} as const
const names = Object.keys(points) as (keyof typeof points)[]

/** Of one round. */
const startsMax = 20

function random(below: number): number {
  return Math.floor(Math.random() * below)
}

/** The campaign: a kill a round, at each point in turn. */
export async function repeatedKills(t: TestContext, rounds: number): Promise<void> {
  const server = await startFahao(t, { args: ['--log-level', 'warn'] })
  const setup = await server.connect()
  for (const kind of kinds) {
    const small = kind === 'sequence' || kind === 'segment' ? ['STEP', '20', 'HORIZON', '5ms'] : []
    const short = kind === 'timestamp' ? ['HORIZON', '20ms'] : []
    await create(setup, kind, kind, ...small, ...short)
  }
  const load = new Load()
  const issuedAt = new Map(names.map((name) => [name, 0]))
  let aboveBound = 0
  for (let round = 0; round < rounds; round++) {
    const point = names[round % names.length]!
    const before = load.count
    // A server that is killed before it has issued anything shows nothing: another start takes the round.
    for (let starts = 0; starts < startsMax && load.count === before; starts++) {
      await server.restart({ wrapper: points[point](), args: ['--lead', '1s', '--log-level', 'warn'] })
      load.start([server.resp], asks)
      const issuing = (async () => {
        while (load.count === before && server.process.exit() === undefined) await pause(5)
        await pause(150 + random(250))
      })()
      await Promise.race([issuing, server.exited])
      await server.kill('SIGKILL')
      await load.stop()
    }
    issuedAt.set(point, issuedAt.get(point)! + load.count - before)
    for (const kind of kinds) {
      const { highest } = load.journal(kind)
      if (highest >= 0n && !isCovered(server.file, kind, kind, highest)) aboveBound++
    }
  }
  for (const [point, ids] of issuedAt) assert.ok(ids > 0, `nothing was issued before the kills ${point}`)
  for (const kind of kinds) t.diagnostic(`${kind}: ${load.journal(kind).count} ids`)
  judge(t, load, strict, { name: 'kill -9 under load', rounds, aboveBound })
}
