/** Two nodes on one store whose lock file was deleted: strict order holds over both. */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type Fahao, openFahao } from '../../../src/index.ts'
import { atEnd } from '../../launch/lifetime.ts'
import { temporaryFolder } from '../../launch/places.ts'

async function start(t: TestContext, file: string): Promise<Fahao> {
  const fahao = await openFahao({ engine: `sqlite:${file}` })
  atEnd(t, () => fahao.close())
  return fahao
}

const notOwner = { code: 'NOTOWNER' }

describe('an owner whose lock file is deleted', () => {
  for (const kind of ['sequence', 'timestamp'] as const) {
    test(`issues no ${kind} from memory once another node owns the store and issues above it`, async (t) => {
      const file = join(temporaryFolder(t), 'fahao.db')
      const first = await start(t, file)
      const strict = await first.open('strict', { kind })
      const perNode = await first.open('per-node', { kind: 'segment' })
      const issued = await strict.nextBatch(3)
      const shared = await perNode.nextBatch(3)
      assert.ok(strict.stats().inHand > 0)
      rmSync(`${file}-owner`)
      const second = await start(t, file)
      const above = await (await second.open('strict')).next()
      assert.ok(above > issued.at(-1)!)
      assert.equal(strict.tryNext(), undefined)
      assert.equal(strict.tryNextNumber(), undefined)
      await assert.rejects(strict.next(), notOwner)
      await assert.rejects(first.open('strict'), notOwner)
      // Buffered ids were released, or skipped: no id is issued twice.
      assert.ok((await (await second.open('strict')).next()) > above)
      assert.ok((await perNode.next()) > shared.at(-1)!, 'segments go on')
      await second.close()
      assert.ok((await strict.next()) > above)
    })
  }

  test('resumes by itself if no other node owns the store', async (t) => {
    const file = join(temporaryFolder(t), 'fahao.db')
    const fahao = await start(t, file)
    const strict = await fahao.open('strict', { kind: 'sequence' })
    const before = await strict.next()
    rmSync(`${file}-owner`)
    const waiting = new Promise((passed) => setTimeout(passed, 250))
    await waiting
    const after = await strict.next()
    assert.ok(after > before)
    assert.ok(after < before + 10n, 'buffered ids were released')
  })
})
