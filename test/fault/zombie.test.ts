/**
 * A process that is stopped for longer than anything it held was meant to last, and then goes on as if nothing
 * had happened, beside one that worked meanwhile.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
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

/** If the owner is stopped in the middle of a commit, it keeps SQLite's write lock, and no other process gets it. */
const frozen = /^(UNAVAILABLE|DRY) .*(did not answer|is locked by another process)/

describe('a process that is paused', () => {
  test('goes on in order, and remains the owner all the while', { timeout: 1_200_000 }, async (t) => {
    const rounds = roundsOf(2, 0.15)
    const args = ['--lead', '1s', '--log-level', 'warn']
    const owner = await startFahao(t, { args })
    const second = await startFahao(t, { args, engine: owner.engine })
    const client = await owner.connect()
    for (const kind of ['sequence', 'segment']) {
      await create(client, kind, kind, 'STEP', '200', 'HORIZON', '1s')
    }
    for (const kind of ['timestamp', 'snowflake']) await create(client, kind, kind)
    const asker = await second.connect()
    const load = new Load()
    const recoveriesMs: number[] = []
    let named = 0
    let shares = 0
    // An owner that is stopped in the middle of a commit lets the second neither issue nor see the owner.
    const isDone = () => named > 0 && shares > 0
    for (let round = 0; round < rounds || (!isDone() && round < rounds + 10); round++) {
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
          assert.ok(reply instanceof ReplyError, `the second issued ${JSON.stringify(reply)}`)
          assert.match(reply.text, reply.code === 'NOTOWNER' ? /owned by (another )?process/ : frozen)
          if (reply.text.includes(`process ${owner.pid} `)) named++
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
      shares += others.count
      for (const name of shared)
        for (const reply of others.journal(name).replies) load.journal(name).add(reply)
    }
    assert.ok(named > 0, 'the second never said who the owner is')
    assert.ok(shares > 0, 'the second issued nothing while the owner was paused')
    // Who was in the line when the pause began has waited for longer than issueTimeout at its end.
    for (const word of load.errors.keys()) assert.ok(['DRY', 'UNKNOWN', 'UNAVAILABLE'].includes(word), word)
    judge(t, load, strict, { name: 'SIGSTOP, SIGCONT', rounds, recoveriesMs })
  })
})
