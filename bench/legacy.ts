/** A large table of an old service under load: stalls of the node, its memory, and the time to count its names. */
import { readFileSync } from 'node:fs'
import { type FahaoServer, startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { startMariaDb } from '../test/launch/mariadb.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { oldDatabase } from '../test/legacy/database.ts'
import { createTables } from '../test/legacy/tables.ts'
import { legacyImport } from './legacy-import.ts'
import { openLoop } from './open-loop.ts'
import { redisImport } from './redis-import.ts'
import type { Figure, Section } from './report.ts'
import type { Effort } from './rounds.ts'

const rowsLarge = 100_000
const perSecond = 1000

/** Fahao on `leaf_alloc` with 100,000 rows beside the same with 10. */
export async function legacy(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  const { seconds, quick, only } = effort
  if (only === 'redis') return [await redisImport(lifetime, effort)]
  const imported = await legacyImport(lifetime, effort)
  if (only === 'import') return [imported]
  const server = await startMariaDb(lifetime)
  const figures: Figure[] = []
  for (const rows of [10, rowsLarge]) {
    const plain = await server.newDatabase()
    const { send, dialect } = oldDatabase(lifetime, plain)
    await createTables(send, dialect, 'leaf')
    for (let from = 0; from < rows; from += 1000) {
      const values = Array.from(
        { length: Math.min(1000, rows - from) },
        (_, at) => `('tag-${from + at}', 1, 1000)`,
      )
      await send(`INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ${values.join(', ')}`)
    }
    const fahao = await startFahao(lifetime, {
      engine: `${plain}?schema=leaf`,
      args: ['--log-level', 'warn'],
    })
    const client = await RawClient.connect(fahao.resp, lifetime)
    const commands = Array.from({ length: 10 }, (_, tag) => ['INCR', `tag-${tag}`])
    for (const command of commands) await client.command(...command)
    const latencies = await openLoop({
      port: fahao.resp,
      commands,
      connections: 10,
      ratePerSecond: perSecond,
      seconds: quick ? 10 : seconds * 20,
    })
    const startMs = performance.now()
    await client.command('DBSIZE')
    const name = `${rows.toLocaleString('en-US')} rows`
    figures.push(
      single(`${name}: longest wait at ${perSecond} requests a second`, 'ms', latencies.max / 1_000_000),
      single(`${name}: DBSIZE`, 'ms', performance.now() - startMs),
      single(`${name}: resident memory`, 'MB', residentBytes(fahao) / 1_000_000),
    )
  }
  const how = `\`leaf_alloc\` on MariaDB; INCR of ten tags in an open loop of ${perSecond} a second, timed from when each was due; one run each.`
  return [{ name: 'Tables of old services', how, figures }, imported, await redisImport(lifetime, effort)]
}

function single(what: string, unit: string, value: number): Figure {
  return { what, unit, value, low: value, high: value }
}

function residentBytes({ pid }: FahaoServer): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
}
