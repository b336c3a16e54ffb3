/**
 * An import of past moments: ids in random order of moments, from several nodes that are killed at random, beside ids of now.
 * FAULT_ROUNDS=200 for the long form: 10^6 ids of 10,000 moments from 8 nodes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { encode, unitsOf } from '../../src/ids/id-parts.ts'
import { layouts } from '../../src/ids/presets.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { startPostgres } from '../launch/postgres.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { roundsOf } from './campaign.ts'

const isLong = roundsOf(1) > 1
const nodesCount = isLong ? 8 : 3
const momentsCount = isLong ? 10_000 : 200
const perMoment = 100
const perDraw = 20
const kills = isLong ? 40 : 3
const firstMs = Date.UTC(2019, 4, 4)
/** Moments lie this far apart, in ms. */
const apartMs = 3_600_001

test('ids of past moments from nodes that are killed repeat none, nor one of now', {
  timeout: 1_800_000,
}, async (t) => {
  const database = await startPostgres(t)
  const engine = await database.newDatabase()
  const nodes = await Promise.all(
    Array.from({ length: nodesCount }, () => startFahao(t, { engine, readyWithinMs: 60_000 })),
  )
  const first = await nodes[0]!.connect()
  assert.equal(await first.command('ID.CREATE', 'event', 'KIND', 'snowflake', 'PAST', '1'), 'OK')
  const draws = shuffled(
    Array.from(
      { length: (momentsCount * perMoment) / perDraw },
      (_, at) => firstMs + (at % momentsCount) * apartMs,
    ),
  )
  const all = draws.length
  const past: bigint[] = []
  const present: bigint[] = []
  const errors = new Map<string, number>()
  const startedMs = performance.now()
  await Promise.all([killing(), ...nodes.flatMap((node) => [drawing(node), drawing(node)])])
  const seconds = (performance.now() - startedMs) / 1000
  t.diagnostic(
    `${past.length} ids of ${momentsCount} moments and ${present.length} of now, from ${nodesCount} nodes with ${kills} kills, in ${seconds.toFixed(1)} s; errors ${JSON.stringify([...errors])}`,
  )
  assert.equal(past.length, momentsCount * perMoment)
  assert.equal(repeats([...past, ...present]), 0, 'ids that were given twice')

  /** Draws until nothing is left, at a node that may be away. A draw whose answer was lost is repeated: its ids are a gap. */
  async function drawing(node: FahaoServer): Promise<void> {
    let client: RawClient | undefined
    for (let at = draws.pop(); at !== undefined; at = draws.pop()) {
      try {
        client ??= await node.connect()
        const drawn = await idsOf(client, 'AT', at, 'COUNT', perDraw)
        const unit = encode(layouts.twitter, { time: unitsOf(layouts.twitter, at) }) >> 22n
        assert.ok(
          drawn.every((id) => id >> 22n === unit),
          'ids are of their moment',
        )
        past.push(...drawn)
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
        note(error)
        draws.push(at)
        client = undefined
        await pause(50)
        continue
      }
      await idsOf(client, 'COUNT', 5).then((drawn) => present.push(...drawn), note)
    }
  }

  function note(error: Error | unknown): void {
    const [code = ''] = String((error as Error).message).split(' ')
    errors.set(code, (errors.get(code) ?? 0) + 1)
  }

  async function killing(): Promise<void> {
    for (let killed = 0; killed < kills && draws.length > 0; killed++) {
      // One kill for each part of the work, wherever it stands.
      const left = all - (all * (killed + 0.5)) / (kills + 1)
      while (draws.length > left) await pause(20)
      const node = nodes[Math.floor(Math.random() * nodesCount)]!
      await node.kill('SIGKILL')
      await node.start()
    }
  }
})

/** How many ids are not the first of their value. */
function repeats(ids: readonly bigint[]): number {
  const sorted = BigInt64Array.from(ids).sort()
  return sorted.reduce((count, id, at) => count + Number(at > 0 && id === sorted[at - 1]), 0)
}

async function idsOf(client: RawClient, ...words: (string | number)[]): Promise<bigint[]> {
  return ((await client.command('ID.NEXT', 'event', ...words)) as string[]).map(BigInt)
}

function shuffled<Item>(items: Item[]): Item[] {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1))
    ;[items[at], items[other]] = [items[other]!, items[at]!]
  }
  return items
}
