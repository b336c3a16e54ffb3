import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draw, startNode } from './node.ts'

test('the information about a generator shows the buffer while the engine cannot be reached, and rejects for a generator that is not open here', async () => {
  const { catalogue, engine } = await startNode()
  await draw(await catalogue.create('user', { kind: 'segment' }))
  await catalogue.define('idle', { kind: 'segment' })
  engine.always('any', 'unavailable')
  const { bound, lastIssued, stats, notes } = await catalogue.info('user')
  assert.deepEqual(
    { bound, lastIssued, inHand: stats?.inHand },
    { bound: undefined, lastIssued: 1n, inHand: 999 },
  )
  assert.ok(notes.includes('the engine cannot be reached: its bound cannot be read now'))
  await assert.rejects(catalogue.info('idle'), { code: 'UNAVAILABLE' })
  engine.heal()
  await catalogue.drop('user')
  await assert.rejects(catalogue.info('user'), { code: 'NOGENERATOR' })
})
