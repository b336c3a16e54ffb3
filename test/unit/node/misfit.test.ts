/** The start of a node beside one whose format does not fit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeKey } from '../../../src/cluster/records.ts'
import { agreeOnSettings } from '../../../src/cluster/settings.ts'
import { loadConfig } from '../../../src/config/load-config.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { startNode } from '../../../src/node/start.ts'
import { versionKey } from '../../../src/recovery/record-versions.ts'
import { SharedEngine } from '../catalogue/node.ts'
import { FakeClock } from '../fake-clock.ts'

test('a node is refused before it converts anything, while one that does not fit runs', async () => {
  const [store, clock] = [new MemoryStore(), new FakeClock()]
  const engine = new SharedEngine(store)
  await agreeOnSettings(engine, { cluster: 'ids', shards: 1 })
  const record = { id: 'n1', version: '9.0.0', joinedMs: 1, draining: false }
  const format = { writes: 9, reads: [9, 9] }
  let version: bigint | undefined
  const renew = async (heartbeat: number) => {
    const value = JSON.stringify({ ...record, format, heartbeat })
    version = (await engine.write(nodeKey('n1'), value, version))!.version
  }
  await renew(1)
  const { config } = loadConfig({ flags: { cluster: 'ids' } })
  let failure: unknown
  const starting = startNode(config, { clock, open: async () => new SharedEngine(store) }).catch((error) => {
    failure = error
  })
  for (let heartbeat = 2; heartbeat < 40 && failure === undefined; heartbeat++) {
    await clock.pass(100)
    await renew(heartbeat)
  }
  await starting
  assert.match(String(failure), /node n1 runs version 9\.0\.0, which writes format 9 and reads 9/)
  assert.equal(await engine.read(versionKey), undefined)
})
