/**
 * A process that is stopped for longer than anything it held was meant to last, and then goes on as if nothing
 * had happened, beside one that worked meanwhile.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { create, judge, roundsOf, until } from './campaign.ts'
import { type Ask, Load, nowUs } from './load.ts'

const strict = ['sequence', 'timestamp']
const shared = ['segment', 'snowflake']
const asksOf = (generators: readonly string[]): Ask[] =>
  generators.flatMap((generator) => [
    { generator, command: ['ID.NEXT', generator] },
    { generator, command: ['ID.NEXT', generator, 'COUNT', 5] },
  ])

describe('a process that is paused', () => {
  it('goes on in order, and remains the owner all the while', { timeout: 1_200_000 }, async (t) => {
    const rounds = roundsOf(2, 0.15)
    const args = ['--lead', '1s', '--log-level', 'warn']
    const owner = await startFahao(t, { args })
    const second = await startFahao(t, { args, engine: owner.engine })
    const client = await owner.connect()
    for (const kind of ['sequence', 'segment']) {
      await create(client, kind, kind, 'STEP', '50', 'HORIZON', '50ms')
    }
    for (const kind of ['timestamp', 'snowflake']) await create(client, kind, kind)
    const asker = await second.connect()
    const load = new Load()
    const recoveriesMs: number[] = []
    for (let round = 0; round < rounds; round++) {
      load.start([owner.resp], asksOf([...strict, ...shared]))
      const others = new Load()
      await pause(300)
      owner.signal('SIGSTOP')
      // Whatever it holds of the worker id, 1.25 s at most, is over long before it wakes.
      others.start([second.resp], asksOf(shared))
      const pausedUs = nowUs()
      while (nowUs() - pausedUs < 2_000_000) {
        for (const kind of strict) {
          const reply = await asker.command('ID.NEXT', kind)
          assert.ok(reply instanceof ReplyError && reply.code === 'NOTOWNER', JSON.stringify(reply))
          assert.match(reply.text, new RegExp(`process ${owner.pid} `))
        }
        await pause(100)
      }
      owner.signal('SIGCONT')
      const awakeUs = nowUs()
      await until(
        () => client.command('ID.NEXT', 'snowflake'),
        (reply) => typeof reply === 'string',
        5000,
      )
      recoveriesMs.push((nowUs() - awakeUs) / 1000)
      await pause(400)
      await Promise.all([load.stop(), others.stop()])
      for (const name of shared) {
        assert.ok(
          others.journal(name).count > 0,
          `nothing came of ${name}: ${[...others.errorTexts.values()]}`,
        )
        for (const reply of others.journal(name).replies) load.journal(name).add(reply)
      }
    }
    assert.deepEqual([...load.errorTexts.values()], [])
    judge(t, load, strict, { name: 'SIGSTOP, SIGCONT', rounds, recoveriesMs })
  })
})
