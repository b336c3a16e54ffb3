import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { restartPauseMs } from '../../../src/cli/supervisor.ts'

describe('the pause before a process is started again', () => {
  it('doubles from a second to half a minute while lives are short', () => {
    const pauses = [0]
    for (let life = 0; life < 8; life++) pauses.push(restartPauseMs(pauses.at(-1)!, 29_000))
    assert.deepEqual(pauses.slice(1), [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
  })

  it('is short again after a life of more than half a minute', () => {
    assert.equal(restartPauseMs(30_000, 31_000), 1000)
  })
})
