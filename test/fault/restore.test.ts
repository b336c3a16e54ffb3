/**
 * Older copies in the place of the store: a server notices where it can, and issues nothing from what the copy lacks;
 * `advance` and `restore --skip` make the copy safe. short/forgetting.test.ts has the copy at the start.
 */
import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { temporaryFolder } from '../launch/places.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { judge, roundsOf, until } from './campaign.ts'
import { Load } from './load.ts'
import {
  advance,
  asks,
  assertRegressed,
  countAboveBound,
  fahao,
  kinds,
  plenty,
  pull,
  startWithKinds,
  strict,
} from './restore-copy.ts'
import { integrity } from './stored.ts'

describe('a store that has forgotten', () => {
  test('is noticed when it takes the place of the open one, and repaired by advance', async (t) => {
    const server = await startWithKinds(t)
    const load = new Load()
    await pull(load, server, 200)
    const copy = `${server.file}-copy`
    await fahao('backup', copy, '--engine', server.engine)
    load.start([server.resp], asks)
    await pause(500)
    renameSync(copy, server.file)
    const client = await server.connect()
    for (const kind of kinds) {
      await until(
        () => client.command('ID.NEXT', kind),
        (reply) => reply instanceof ReplyError && reply.code === 'REGRESSED',
        10_000,
      )
    }
    await load.stop()
    await assertRegressed(server, /replaced while it was open|lacks acknowledged writes/)
    const recoveryMs = await advance(server)
    load.errorTexts.clear()
    await pull(load, server, 300)
    assert.deepEqual([...load.errorTexts.values()], [])
    // The log of the file that was there must not have met the one that is.
    assert.equal(integrity(server.file), 'ok')
    await server.restart()
    await pull(load, server, 200)
    assert.deepEqual([...load.errorTexts.values()], [])
    const aboveBound = countAboveBound(load, server.file)
    judge(t, load, strict, {
      name: 'older copy, while running',
      rounds: 1,
      aboveBound,
      recoveriesMs: [recoveryMs],
    })
  })

  test('is safe after restore --skip, from a backup made under load', { timeout: 600_000 }, async (t) => {
    const rounds = roundsOf(2, 0.1)
    const server = await startWithKinds(t)
    const load = new Load()
    let aboveBound = 0
    for (let round = 0; round < rounds; round++) {
      const copy = join(temporaryFolder(t), 'copy.db')
      load.start([server.resp], asks)
      await pause(300)
      await fahao('backup', copy, '--engine', server.engine)
      await pause(200)
      await assert.rejects(
        fahao('restore', copy, '--yes', '--skip', plenty, '--engine', server.engine),
        /is in use/,
      )
      await server.kill(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM')
      await load.stop()
      await fahao('restore', copy, '--yes', '--skip', plenty, '--engine', server.engine)
      await server.start()
      await pull(load, server, 300)
      aboveBound += countAboveBound(load, server.file)
    }
    assert.deepEqual([...load.errorTexts.values()], [])
    judge(t, load, strict, { name: 'restore --skip', rounds, aboveBound })
  })
})
