import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { openEngine } from '../../../src/engine/open.ts'
import { engineOptions } from '../../conformance/store-under-test.ts'
import { temporaryFolder } from '../../launch/places.ts'

describe('an engine URL', () => {
  test('with an unknown scheme is refused with a list of the known ones', async () => {
    for (const url of ['redis://x', 'sqlite', 'toString:', ':', '']) {
      await assert.rejects(openEngine(url, engineOptions()), {
        code: 'CONFIG',
        message: /sqlite:\.\/data\/fahao\.db, memory:/,
      })
    }
  })

  test('without a file is refused with an example', async () => {
    for (const url of ['sqlite:', 'sqlite::memory:', 'sqlite://host/file.db'])
      await assert.rejects(openEngine(url, engineOptions()), { code: 'CONFIG', message: /sqlite:\.\/data/ })
  })

  test('names a file relative to the working directory or absolutely, whose folder is created', async (t) => {
    const folder = temporaryFolder(t)
    const urls = [
      `sqlite:${relative(process.cwd(), folder)}/a/b/x.db`,
      `sqlite:${folder}/a/b/x.db`,
      `sqlite://${folder}/a/b/x.db`,
    ]
    for (const [index, url] of urls.entries()) {
      const engine = await openEngine(url, engineOptions())
      const { start } = await engine.reserve('a', { size: 1n, incarnation: 1n })
      assert.equal(start, BigInt(index))
      await engine.close()
    }
    assert.ok(existsSync(join(folder, 'a/b/x.db')))
  })

  test('opens memory', async () => {
    const engine = await openEngine('memory:', engineOptions())
    assert.equal(engine.name, 'memory')
    await engine.close()
  })
})
