/** Opening, failing and closing: every call settles, and nothing acknowledged is forgotten. */
import assert from 'node:assert/strict'
import type { Engine } from '../../src/engine/engine.ts'
import { assertDisjoint } from './counters.ts'
import type { Declare } from './describeEngine.ts'

const mine = { incarnation: 1n }

/** Calls that change the store: without a reply, only their outcome can be unknown. */
const changes = ['reserve', 'release', 'advance', 'write', 'remove']

/** One call of each kind. */
function everyCall(engine: Engine): Record<string, () => Promise<unknown>> {
  return {
    reserve: () => engine.reserve('a', { size: 1n, ...mine }),
    // Of a version that no reserve has made: it gives nothing back whenever it is carried out.
    release: () => engine.release('a', { start: 0n, end: 1n, version: 2n ** 40n }, 0n, mine),
    counter: () => engine.counter('a'),
    advance: () => engine.advance(1n),
    read: () => engine.read('a'),
    list: () => engine.list(''),
    write: () => engine.write('a', 'x', undefined),
    remove: () => engine.remove('a', 1n),
    watch: () => engine.watch('', () => {}),
    ownership: () => engine.ownership(),
  }
}

/** Declares the tests of an engine's life. */
export function lifeTests(declare: Declare): void {
  declare('a closed engine rejects every call, and closing it again does no harm', async ({ open }) => {
    const engine = await open()
    assert.deepEqual(engine.status(), { state: 'up' })
    await Promise.all([engine.close(), engine.close()])
    await engine.close()
    for (const [name, call] of Object.entries(everyCall(engine)))
      await assert.rejects(call(), { code: 'UNAVAILABLE' }, name)
    assert.equal(engine.status().state, 'down')
  })

  declare('closing waits for the calls in flight', async ({ open }) => {
    const [engine, other] = [await open(), await open()]
    const calls = Array.from({ length: 50 }, () => engine.reserve('a', { size: 1n, ...mine }))
    await engine.close()
    const ranges = await Promise.all(calls)
    assertDisjoint(ranges)
    assert.equal((await other.counter('a')).bound, 50n)
  })

  declare('its location contains no secret', async ({ open }) => {
    const engine = await open()
    assert.match(engine.location, new RegExp(`^${engine.name}:`))
  })

  declare(
    'counters and records are there again when the store is opened again',
    async ({ open }) => {
      const before = await open()
      assert.equal(before.lastWriteUs, undefined)
      await before.reserve('a', { size: 10n, fence: 2n, incarnation: 3n })
      await before.reserve('b', { size: 1n, floor: 2n ** 62n + 1n, ...mine })
      const gone = await before.write('k/gone', 'x', undefined)
      await before.remove('k/gone', gone!.version)
      await before.write('k/a', 'x', undefined)
      const state = [await before.counter('a'), await before.counter('b'), await before.list('')]
      await before.close()
      const after = await open()
      assert.deepEqual([await after.counter('a'), await after.counter('b'), await after.list('')], state)
      const again = await after.write('k/gone', 'x', undefined)
      assert.ok(again!.version > gone!.version)
      assert.equal((await after.reserve('a', { size: 1n, fence: 2n, incarnation: 3n })).start, 10n)
    },
    'durable',
  )

  declare(
    'it remembers when it was last written to',
    async ({ open }) => {
      const beforeUs = Date.now() * 1000
      const engine = await open()
      await engine.reserve('a', { size: 1n, ...mine })
      await engine.close()
      const { lastWriteUs } = await open()
      assert.ok(lastWriteUs !== undefined && lastWriteUs >= beforeUs - 1000)
      assert.ok(lastWriteUs <= Date.now() * 1000 + 1000)
    },
    'durable',
  )

  declare(
    'every call settles while the store does not answer, and afterwards all is well',
    async ({ open, freeze }) => {
      const engine = await untilItWorks(() => open({ callTimeoutMs: 400 }))
      const before = await untilItWorks(() => engine.reserve('a', { size: 1n, ...mine }))
      const thaw = await freeze()
      const calls = Object.entries(everyCall(engine)).filter(([name]) => name !== 'advance')
      const startedMs = performance.now()
      const outcomes = await Promise.allSettled(calls.map(([, call]) => call()))
      assert.ok(performance.now() - startedMs < 2000, 'a call took longer than its deadline')
      for (const [index, outcome] of outcomes.entries()) {
        const [name] = calls[index]!
        if (outcome.status === 'rejected') {
          const codes = changes.includes(name) ? /^(UNAVAILABLE|UNKNOWN)$/ : /^UNAVAILABLE$/
          assert.match(outcome.reason.code, codes, `${name}: ${outcome.reason.message}`)
        } else assert.ok(!['reserve', 'write'].includes(name), `${name} worked while frozen`)
      }
      assert.equal(engine.status().state, 'down')
      await thaw()
      const after = await untilItWorks(() => engine.reserve('a', { size: 1n, ...mine }))
      assertDisjoint([before, after])
      assert.equal(engine.status().state, 'up')
    },
    'freezes',
  )

  declare(
    'calls that wait their turn behind a store that does not answer settle as well',
    async ({ open, freeze }) => {
      const engine = await open({ callTimeoutMs: 300 })
      const thaw = await freeze()
      const first = Promise.allSettled([engine.reserve('a', { size: 1n, ...mine })])
      const rest = Promise.allSettled(
        Array.from({ length: 3000 }, (_, index) => engine.reserve(`a${index % 9}`, { size: 1n, ...mine })),
      )
      const outcomes = [...(await first), ...(await rest)]
      assert.ok(outcomes.every(({ status }) => status === 'rejected'))
      await thaw()
      await untilItWorks(() => engine.reserve('a', { size: 1n, ...mine }))
    },
    'freezes',
  )
}

/** Calls until it is answered: a store that was away may take a moment. */
export async function untilItWorks<Value>(call: () => Promise<Value>): Promise<Value> {
  for (const giveUpAt = performance.now() + 10_000; ; ) {
    try {
      return await call()
    } catch (error) {
      if (performance.now() > giveUpAt) throw error
      await new Promise((again) => setTimeout(again, 20))
    }
  }
}
