/**
 * Writes with an unknown outcome: the disk takes longer than the deadline of a call, so that every reserve ends as UNKNOWN,
 * although it was carried out. Each such range stays unused, and ids come again without help.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { create, judge, roundsOf, until } from './campaign.ts'
import { Load, nowUs } from './load.ts'
import { isCovered, storedBound } from './stored.ts'
import { breakSyncs } from './trace.ts'

const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
const asks = kinds.map((generator) => ({ generator, command: ['ID.NEXT', generator, 'COUNT', 3] }))
const short = ['HORIZON', '200ms', 'ISSUETIMEOUT', '300ms']

describe('a store that answers too late', () => {
  test('costs gaps, never an id', { timeout: 1_200_000 }, async (t) => {
    const rounds = roundsOf(2, 0.1)
    const args = ['--lead', '1s', '--log-level', 'warn']
    const server = await startFahao(t, { args })
    let client = await server.connect()
    for (const kind of ['sequence', 'segment']) await create(client, kind, kind, 'STEP', '50', ...short)
    await create(client, 'timestamp', 'timestamp', ...short)
    await create(client, 'snowflake', 'snowflake', 'ISSUETIMEOUT', '300ms')
    await server.restart({ args: [...args, '--call-timeout', '200ms'] })
    client = await server.connect()
    const load = new Load()
    const recoveriesMs: number[] = []
    let aboveBound = 0
    for (let round = 0; round < rounds; round++) {
      load.start([server.resp], asks)
      await pause(500)
      const fault = await breakSyncs(t, server.pid, 'delay_enter=1000000')
      await pause(2500)
      assert.ok(load.errors.has('DRY'), `buffered ids end: ${[...load.errors.keys()]}`)
      await fault.end()
      const endedUs = nowUs()
      for (const kind of kinds) {
        await until(
          () => client.command('ID.NEXT', kind),
          (reply) => typeof reply === 'string',
          5000,
        )
      }
      recoveriesMs.push((nowUs() - endedUs) / 1000)
      await pause(300)
      await load.stop()
      for (const kind of kinds)
        if (!isCovered(server.file, kind, kind, load.journal(kind).highest)) aboveBound++
    }
    for (const word of load.errors.keys()) assert.ok(['DRY', 'UNKNOWN', 'UNAVAILABLE'].includes(word), word)
    assert.match(load.errorTexts.get('DRY')!, /did not answer in time/)
    assert.ok(load.journal('sequence').gaps() > 0n, 'a range without an answer was used')
    assert.ok(load.journal('sequence').highest < storedBound(server.file, 'sequence'))
    judge(t, load, ['sequence', 'timestamp'], { name: 'lost replies', rounds, aboveBound, recoveriesMs })
  })
})
