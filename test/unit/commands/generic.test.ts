import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Access } from '../../../src/auth/access.ts'
import { callerStopped } from '../../../src/operations/caller-session.ts'
import { Desk } from './desk.ts'

function deskWith(...names: string[]): Desk {
  const desk = new Desk()
  for (const name of names) desk.catalogue.add(name, { kind: 'sequence' })
  return desk
}

async function scanAll(desk: Desk, ...options: string[]): Promise<string[]> {
  const found: string[] = []
  let cursor = '0'
  for (let calls = 0; calls < 10_000; calls++) {
    const [next, names] = (await desk.ask('SCAN', cursor, ...options)) as [string, string[]]
    found.push(...names)
    if (next === '0') return found
    cursor = next
  }
  return assert.fail('SCAN does not end')
}

test('EXISTS counts, and creates nothing', async () => {
  const desk = deskWith('a', 'b')
  assert.equal(await desk.ask('EXISTS a b a auto-x'), 3)
  assert.equal(await desk.catalogue.exists('auto-x'), false)
})

test('DEL and UNLINK drop, and count what was there', async () => {
  const desk = deskWith('a', 'b', 'c')
  assert.equal(await desk.ask('DEL a none a'), 1)
  assert.equal(await desk.ask('UNLINK b c'), 2)
  assert.equal(await desk.ask('DBSIZE'), 0)
})

test('TYPE and TTL answer as for a string that does not expire', async () => {
  const desk = deskWith('a')
  assert.deepEqual([await desk.ask('TYPE a'), await desk.ask('TYPE b')], ['string', 'none'])
  assert.deepEqual([await desk.ask('TTL a'), await desk.ask('PTTL b')], [-1, -2])
})

test('KEYS understands the patterns of Redis, and DBSIZE counts', async () => {
  const desk = deskWith('order', 'order:1', 'order:2', 'user', 'a*b')
  assert.deepEqual(await desk.ask('KEYS *'), ['a*b', 'order', 'order:1', 'order:2', 'user'])
  assert.deepEqual(await desk.ask('KEYS order:?'), ['order:1', 'order:2'])
  assert.deepEqual(await desk.ask('KEYS order:[^1]'), ['order:2'])
  assert.deepEqual(await desk.ask('KEYS', 'a\\*b'), ['a*b'])
  assert.equal(await desk.ask('DBSIZE'), 5)
})

test('names beyond one page of the catalogue are all found', async () => {
  const names = Array.from({ length: 2001 }, (_, index) => `n${String(index).padStart(5, '0')}`)
  const desk = deskWith(...names)
  assert.equal(await desk.ask('DBSIZE'), 2001)
  assert.equal(desk.catalogue.pages, 11)
  assert.deepEqual(await desk.ask('KEYS *'), names)
  assert.equal((await scanAll(desk, 'COUNT', '999999')).length, 2001)
})

test('a scan returns each name once in byte order, for any page size', async () => {
  const name = fc.stringMatching(/^[a-c:é]{1,4}$/)
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(name, { maxLength: 40 }),
      fc.integer({ min: 1, max: 12 }),
      async (names, count) => {
        const desk = deskWith(...names)
        assert.deepEqual(await scanAll(desk, 'COUNT', String(count)), [...names].sort())
      },
    ),
    { numRuns: 50 },
  )
})

test('a scan continues after a restart, and after its last name was dropped', async () => {
  const desk = deskWith('a', 'b', 'c', 'd')
  const [cursor] = (await desk.ask('SCAN 0 COUNT 2')) as [string]
  const restarted = deskWith('a', 'b', 'c', 'd')
  assert.deepEqual(await restarted.ask('SCAN', cursor, 'COUNT', '10'), ['0', ['c', 'd']])
  await desk.ask('DEL b')
  assert.deepEqual(await desk.ask('SCAN', cursor, 'COUNT', '10'), ['0', ['c', 'd']])
  await restarted.ask('DEL', 'b')
  const again = deskWith('a', 'c', 'd')
  assert.equal(await again.error('SCAN', cursor), 'ERR invalid cursor: begin again with SCAN 0')
})

test('a cursor is an integer that every client can hold', async () => {
  const desk = deskWith(...Array.from({ length: 50 }, (_, index) => `name-${index}`))
  let cursor = '0'
  do {
    ;[cursor] = (await desk.ask('SCAN', cursor, 'COUNT', '1')) as [string]
    assert.match(cursor, /^\d+$/)
    assert.ok(Number.isSafeInteger(Number(cursor)))
  } while (cursor !== '0')
})

test('the cursors that are remembered are bounded, and a forgotten one is found again', async () => {
  const desk = deskWith(...Array.from({ length: 1200 }, (_, index) => `n${String(index).padStart(4, '0')}`))
  const [first] = (await desk.ask('SCAN 0 COUNT 1')) as [string]
  await scanAll(desk, 'COUNT', '1')
  const [, [second]] = (await desk.ask('SCAN', first, 'COUNT', '1')) as [string, string[]]
  assert.equal(second, 'n0001')
  const [forgotten] = (await desk.ask('SCAN 0 COUNT 1')) as [string]
  await scanAll(desk, 'COUNT', '1')
  await desk.ask('DEL n0000')
  await scanAll(desk, 'COUNT', '1')
  assert.equal(await desk.error('SCAN', forgotten), 'ERR invalid cursor: begin again with SCAN 0')
})

test('the cursors of a user tell nothing of names that the user may not name', async () => {
  const names = ['a1', 'b1', 'b2', 'c1', 'a2', 'd1', 'a3', 'e1']
  const desk = deskWith(...names)
  const cursorOfHidden: string[] = []
  for (let cursor = '0'; ; ) {
    const [next, [name]] = (await desk.ask('SCAN', cursor, 'COUNT', '1')) as [string, string[]]
    if (next === '0') break
    if (!name!.startsWith('a')) cursorOfHidden.push(next)
    cursor = next
  }
  assert.equal(cursorOfHidden.length, 5)

  // The same server, which remembers these cursors, and one that would find their names.
  for (const server of [desk, deskWith(...names)]) {
    server.session.access = new Access('alice', undefined, ['a*'])
    for (const cursor of cursorOfHidden)
      assert.equal(await server.error('SCAN', cursor), 'ERR invalid cursor: begin again with SCAN 0')
    // A store with these names alone replies the same bytes.
    const without = deskWith('a1', 'a2', 'a3')
    for (let cursor = '0', calls = 0; calls < 4; calls++) {
      const reply = (await server.ask('SCAN', cursor, 'COUNT', '1')) as [string, string[]]
      assert.deepEqual(reply, await without.ask('SCAN', cursor, 'COUNT', '1'))
      cursor = reply[0]
    }
    assert.deepEqual(await scanAll(server, 'COUNT', '2'), ['a1', 'a2', 'a3'])
  }
})

test('SCAN filters by pattern and type after it has looked at COUNT names', async () => {
  const desk = deskWith('a', 'b', 'c')
  assert.deepEqual(await scanAll(desk, 'match', '[ac]', 'COUNT', '1'), ['a', 'c'])
  assert.deepEqual(await scanAll(desk, 'TYPE', 'String'), ['a', 'b', 'c'])
  assert.deepEqual(await scanAll(desk, 'TYPE', 'hash'), [])
  const [next, names] = (await desk.ask('SCAN 0 MATCH c COUNT 1')) as [string, string[]]
  assert.notEqual(next, '0')
  assert.deepEqual(names, [])
})

test('a caller that has gone stops a walk over all names', async () => {
  const desk = deskWith('a')
  desk.session.signal = AbortSignal.abort(callerStopped)
  assert.equal(await desk.error('KEYS *'), 'ABORTED the caller stopped waiting; no id was used up')
})

test('bad generic commands are answered in the words of Redis', async () => {
  const long = 'x'.repeat(1025)
  await deskWith('a').refuses([
    ['EXISTS', "ERR wrong number of arguments for 'exists' command"],
    ['KEYS', "ERR wrong number of arguments for 'keys' command"],
    ['SCAN x', 'ERR invalid cursor: begin again with SCAN 0'],
    ['SCAN -1', 'ERR invalid cursor: begin again with SCAN 0'],
    ['SCAN 123456', 'ERR invalid cursor: begin again with SCAN 0'],
    ['SCAN 0 COUNT 0', 'ERR syntax error'],
    ['SCAN 0 COUNT x', 'ERR value is not an integer or out of range'],
    ['SCAN 0 MATCH', 'ERR syntax error'],
    ['SCAN 0 SORT x', 'ERR syntax error'],
    [['KEYS', long], 'LIMIT a pattern has at most 1024 characters; names have at most 256 bytes'],
  ])
})
