/** A store that does not exist yet: made with a word about it, or refused. */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { Access, everything } from '../../../src/auth/access.ts'
import type { LogEvent } from '../../../src/base/events.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import { openFahao } from '../../../src/index.ts'
import { openAnyEngine } from '../../../src/legacy/open.ts'
import { startNode } from '../../../src/node/start.ts'
import { temporaryFolder } from '../../launch/places.ts'

async function start(flags: Record<string, string>): Promise<string[]> {
  const { config } = loadConfig({ flags })
  const events: LogEvent[] = []
  const node = await startNode(config, { onEvent: (event) => events.push(event) })
  await node.close()
  return events.map(({ level, message }) => `${level} ${message}`)
}

const missing = (t: TestContext) => join(temporaryFolder(t), 'fahoa.db')

describe('a store that does not exist yet', () => {
  test('is created with a warning if its path was configured', async (t) => {
    const engine = `sqlite:${missing(t)}`
    assert.match((await start({ engine }))[0]!, /^warn there was no store .*fahoa\.db: created an empty one/)
    assert.deepEqual(await start({ engine }), [], 'it exists now')
  })

  test('is refused with require-store, and not created', async (t) => {
    const file = missing(t)
    const engine = `sqlite:${file}`
    const refused = { code: 'ENGINE', message: /no store .*fahoa\.db.*require-store.*--engine/ }
    await assert.rejects(start({ engine, 'require-store': 'on' }), refused)
    assert.equal(existsSync(file), false)
    await assert.rejects(start({ engine: 'memory:', 'require-store': 'on' }), { code: 'ENGINE' })
    await assert.rejects(openFahao({ engine, requireStore: true }), { code: 'ENGINE' })
    assert.equal(existsSync(file), false)
    await start({ engine })
    assert.deepEqual(await start({ engine, 'require-store': 'on' }), [])
  })
})

test('the generators of a config file are created together, and not one write after another', async () => {
  const lines = Array.from({ length: 300 }, (_, at) => `  g${at}: { kind: sequence }\n`)
  const { config } = loadConfig({
    flags: { engine: 'memory:', config: 'f.yaml' },
    readFile: () => `generators:\n${lines.join('')}`,
  })
  let most = 0
  const open: typeof openAnyEngine = async (...args) => {
    const engine = await openAnyEngine(...args)
    const { lookUp } = engine
    engine.lookUp = (lookUps) => {
      most = Math.max(most, lookUps.filter(({ first }) => first !== undefined).length)
      return lookUp.call(engine, lookUps)
    }
    return engine
  }
  const node = await startNode(config, { open })
  await node.close()
  assert.ok(most >= 100, `${most} were created together`)
})

test('a node tells administrators where its store is, and others the kind of it', async (t) => {
  const file = join(temporaryFolder(t), 'fahao.db')
  const { config } = loadConfig({ flags: { engine: `sqlite:${file}` } })
  const node = await startNode(config)
  const engineFor = (access: Access) =>
    node.server
      .info(access)
      .flatMap(({ fields }) => fields)
      .find(([name]) => name === 'engine')?.[1]
  assert.match(String(engineFor(everything)), /fahao\.db/)
  assert.equal(engineFor(new Access('ada', new Set(['info']), ['*'])), 'sqlite')
  await node.close()
})
