/** How ids are read that a client asks for one by one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GeneratorDeps, makeSource, runsOf } from '../../../client/src/open-source.ts'
import type { Settings } from '../../../client/src/options.ts'
import type { Grant } from '../../../client/src/requests.ts'
import { compileFormat } from '../../../src/ids/format.ts'
import { FakeService } from './fake-service.ts'

const altered = { code: 'WRONGTYPE', message: /have another format than the generator had; ask again/ }

test('ids of another format than the generator had are none, so that the definition is read again', () => {
  assert.throws(() => runsOf(['x-101']), altered)
  assert.throws(() => runsOf(['101'], compileFormat('{id}{check:luhn}')), altered)
  const format = compileFormat('{id}{check:luhn}')
  assert.deepEqual(
    runsOf([format.format(101n), format.format(102n)], format).map((run) => run.first),
    [101n, 102n],
  )
})

test('scattered ids are asked for raw, whatever their format is', async () => {
  const service = new FakeService()
  service.answer = () => ['1014']
  const grant: Partial<Grant> = {
    kind: 'snowflake',
    incarnation: '1',
    definition: { layout: 'scatter:5,time:41,node:8,sequence:9;epoch=2025-01-01T00:00:00Z' },
    format: compileFormat('{id}{check:luhn}'),
  }
  const { nodes, clock } = service
  const deps: Partial<GeneratorDeps> = { nodes, clock, settings: { timeoutMs: 1000 } as Settings }
  const refuse = () => assert.fail()
  const changes = { onChange: refuse, onAltered: refuse }
  const source = makeSource('s', { grant: grant as Grant, sentUs: 0 }, deps as GeneratorDeps, changes)
  assert.equal((await source.draw(1, {}))[0]!.first, 1014n)
  assert.deepEqual(service.sent[0]!.words, ['ID.NEXT', 's', 'COUNT', '1', 'RAW'])
})
