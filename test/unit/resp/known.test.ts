import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type KnownRequest, KnownRequests, RecentRequests } from '../../../src/resp/known.ts'

function request(name: string): KnownRequest {
  return { bytes: Buffer.from(name), resolved: undefined as never }
}

describe('requests of all connections', () => {
  it('are forgotten when nobody asks for them, and kept when somebody does', () => {
    const known = new KnownRequests()
    const wanted = request('wanted')
    known.add('wanted', wanted)
    known.add('unwanted', request('unwanted'))
    for (let index = 0; index < 10_000; index++) {
      known.add(`${index}`, request(`${index}`))
      if (index % 1000 === 0) assert.equal(known.get('wanted'), wanted)
    }
    assert.equal(known.get('unwanted'), undefined)
    assert.ok(known.get('9999') !== undefined)
  })
})

describe('requests of one connection', () => {
  it('are the eight newest', () => {
    const recent = new RecentRequests()
    for (let index = 0; index < 20; index++) recent.add({ ...request(`${index}`), direct: undefined })
    assert.deepEqual(
      recent.all.map(({ bytes }) => Number(Buffer.from(bytes).toString())).sort((a, b) => a - b),
      [12, 13, 14, 15, 16, 17, 18, 19],
    )
    recent.clear()
    assert.equal(recent.all.length, 0)
  })
})
