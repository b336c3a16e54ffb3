/** Two processes on one SQLite file: who may issue what, and what each sees of the other. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { decode, layouts } from '../../src/ids.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'
import { create, judge, roundsOf, until } from './campaign.ts'
import { type Ask, Load, nowUs } from './load.ts'

const args = ['--log-level', 'warn']
/** Changes of records are polled for. */
const seenWithinMs = 5000

type Pair = {
  readonly owner: FahaoServer
  readonly second: FahaoServer
  readonly atOwner: RawClient
  readonly atSecond: RawClient
}

async function startPair(t: TestContext): Promise<Pair> {
  const owner = await startFahao(t, { args })
  const second = await startFahao(t, { args, engine: owner.engine })
  return { owner, second, atOwner: await owner.connect(), atSecond: await second.connect() }
}

function isError(reply: RawReply, code: string): reply is ReplyError {
  return reply instanceof ReplyError && reply.code === code
}

describe('two processes on one file', () => {
  test('issue per-node kinds side by side, unique over both', { timeout: 600_000 }, async (t) => {
    const rounds = roundsOf(1, 0.1)
    const { owner, second, atOwner } = await startPair(t)
    await create(atOwner, 'segment', 'segment', 'STEP', '50', 'HORIZON', '20ms')
    await create(atOwner, 'shuffled', 'segment', 'WITHIN', 'shuffled', 'STEP', '50', 'HORIZON', '20ms')
    await create(atOwner, 'snowflake', 'snowflake')
    const asks: Ask[] = ['segment', 'shuffled', 'snowflake'].flatMap((generator) =>
      Array<Ask>(2).fill({ generator, command: ['ID.NEXT', generator, 'COUNT', 20] }),
    )
    // Shuffled ids are in no order, and are judged for being unique alone.
    const [ordered, shuffled] = [new Load(), new Load()]
    for (let round = 0; round < rounds; round++) {
      ordered.start(
        [owner.resp, second.resp],
        asks.filter(({ generator }) => generator !== 'shuffled'),
      )
      shuffled.start(
        [owner.resp, second.resp],
        asks.filter(({ generator }) => generator === 'shuffled'),
      )
      await pause(1500)
      await Promise.all([ordered.stop(), shuffled.stop()])
    }
    assert.deepEqual([...ordered.errorTexts.values(), ...shuffled.errorTexts.values()], [])
    assert.deepEqual(shuffled.journal('shuffled').repeated(), [])
    const nodes = [...ordered.journal('snowflake').replies].map(
      ({ ids }) => decode(layouts.twitter, ids[0]!).node,
    )
    assert.deepEqual([...new Set(nodes)].sort(), [0, 1], 'each has a worker id of its own')
    judge(t, ordered, [], { name: 'two processes on one file', rounds })
  })

  test('leave strict kinds to the owner, and say who that is', async (t) => {
    const { owner, atOwner, atSecond } = await startPair(t)
    for (const kind of ['sequence', 'timestamp']) {
      await create(atOwner, kind, kind)
      const reply = await atSecond.command('ID.NEXT', kind)
      assert.ok(isError(reply, 'NOTOWNER'), JSON.stringify(reply))
      assert.match(reply.text, new RegExp(`owned by process ${owner.pid} on `))
      const next = await atOwner.command('ID.NEXT', kind)
      assert.equal(typeof next, 'string', 'a refusal uses nothing up')
    }
    assert.equal(await atOwner.command('ID.NEXT', 'sequence'), '2')
  })

  test('see what the other has created, altered and dropped', async (t) => {
    const { atOwner, atSecond } = await startPair(t)
    // A name that was missing a moment ago is not missing for long.
    assert.ok(isError(await atSecond.command('ID.NEXT', 'user'), 'NOGENERATOR'))
    await create(atOwner, 'user', 'segment')
    const next = () => atSecond.command('ID.NEXT', 'user')
    const first = await until(next, (reply) => typeof reply === 'string', seenWithinMs)
    assert.equal(await atOwner.command('ID.ALTER', 'user', 'FORMAT', 'user_{id}'), 'OK')
    await until(next, (reply) => `${reply}`.startsWith('user_'), seenWithinMs)
    assert.equal(await atOwner.command('ID.ALTER', 'user', 'FLOOR', 1_000_000), 'OK')
    assert.equal(await atOwner.command('ID.ALTER', 'user', 'MAX', 2_000_000), 'OK')
    const raised = await until(next, (reply) => Number(`${reply}`.slice(5)) >= 1_000_000, seenWithinMs)
    assert.ok(Number(`${raised}`.slice(5)) > Number(first))
    assert.equal(await atSecond.command('ID.DROP', 'user'), 1n)
    await until(
      () => atOwner.command('ID.NEXT', 'user'),
      (reply) => isError(reply, 'NOGENERATOR'),
      seenWithinMs,
    )
  })

  test('change owners when the owner is killed, and strict ids go on above', {
    timeout: 600_000,
  }, async (t) => {
    const rounds = roundsOf(2, 0.25)
    const { owner, second, atOwner } = await startPair(t)
    for (const kind of ['sequence', 'timestamp']) await create(atOwner, kind, kind, 'HORIZON', '100ms')
    const asks: Ask[] = ['sequence', 'timestamp'].flatMap((generator) =>
      Array<Ask>(3).fill({ generator, command: ['ID.NEXT', generator] }),
    )
    const load = new Load()
    const recoveriesMs: number[] = []
    let [holder, waiting] = [owner, second]
    for (let round = 0; round < rounds; round++) {
      load.start([holder.resp], asks)
      await pause(300)
      const killedUs = nowUs()
      await holder.kill('SIGKILL')
      await load.stop()
      const heir = await waiting.connect()
      await until(
        () => heir.command('ID.NEXT', 'sequence'),
        (reply) => typeof reply === 'string',
        seenWithinMs,
      )
      recoveriesMs.push((nowUs() - killedUs) / 1000)
      load.start([waiting.resp], asks)
      await pause(200)
      await load.stop()
      await holder.start()
      ;[holder, waiting] = [waiting, holder]
    }
    assert.deepEqual([...load.errorTexts.values()], [])
    judge(t, load, ['sequence', 'timestamp'], { name: 'the owner is killed', rounds, recoveriesMs })
  })

  test('keep strict order when the lock file is deleted under the owner, running or paused', {
    timeout: 600_000,
  }, async (t) => {
    const rounds = roundsOf(2, 0.1)
    const { owner, second, atOwner } = await startPair(t)
    const strict = ['sequence', 'timestamp']
    for (const kind of strict) await create(atOwner, kind, kind)
    const asks: Ask[] = strict.flatMap((generator) =>
      Array<Ask>(4).fill({ generator, command: ['ID.NEXT', generator] }),
    )
    const load = new Load()
    const recoveriesMs: number[] = []
    let [holder, waiting] = [owner, second]
    for (let round = 0; round < rounds; round++) {
      load.start([holder.resp, waiting.resp], asks)
      await pause(300)
      const paused = round % 2 === 1
      if (paused) holder.signal('SIGSTOP')
      rmSync(`${holder.file}-owner`)
      const deletedUs = nowUs()
      const heir = await waiting.connect()
      await until(
        () => heir.command('ID.NEXT', 'sequence'),
        (reply) => typeof reply === 'string',
        seenWithinMs,
      )
      recoveriesMs.push((nowUs() - deletedUs) / 1000)
      if (paused) holder.signal('SIGCONT')
      await pause(400)
      await load.stop()
      assert.match(holder.output(), /owns the store no longer/)
      ;[holder, waiting] = [waiting, holder]
    }
    for (const word of load.errors.keys()) assert.ok(['NOTOWNER', 'UNAVAILABLE', 'DRY'].includes(word), word)
    judge(t, load, strict, { name: 'the lock file is deleted', rounds, recoveriesMs })
  })
})
