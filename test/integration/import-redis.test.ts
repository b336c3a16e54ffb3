/** `fahao import` from a Redis: counters move to a running server, each at its number, while clients count on both. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { atEnd } from '../launch/lifetime.ts'
import { type RedisServer, startRedis } from '../launch/redis.ts'
import { assertSentence, entry, fahao } from './cli-program.ts'

type Sides = {
  readonly redis: RedisServer
  readonly server: FahaoServer
  readonly old: Redis
  readonly client: Redis
}

/** A Redis, a server, and a client of each. */
async function sides(t: TestContext, args: readonly string[] = []): Promise<Sides> {
  const [redis, server] = await Promise.all([startRedis(t), startFahao(t, { args })])
  const [old, client] = [redis.port, server.resp].map((port) => new Redis(port, '127.0.0.1'))
  for (const each of [old!, client!]) {
    each.on('error', () => {})
    atEnd(t, () => each.disconnect())
  }
  return { redis, server, old: old!, client: client! }
}

function words({ redis, server }: Sides, ...rest: string[]): string[] {
  const into = `redis://127.0.0.1:${server.resp}`
  return ['import', ...rest, '--from', `redis://127.0.0.1:${redis.port}`, '--into', into]
}

test('a dry run counts and changes nothing; the import moves counters and leaves all else', async (t) => {
  const both = await sides(t)
  const { old, client } = both
  await old.mset({
    'user:1': '41',
    'user:2': '7',
    'user:text': 'seven',
    'user:huge': '9223372036854775807',
    other: '5',
  })
  await old.set('user:day', '3', 'EX', 1000)
  await old.rpush('user:list', '1')
  await client.call('ID.CREATE', 'user:2', 'KIND', 'sequence', 'START', '100')

  const dry = await fahao(t, words(both, 'user:*', '--dry-run', '--json'))
  assert.equal(dry.code, 0, dry.stderr)
  const { remarks, ...counts } = JSON.parse(dry.stdout)
  assert.deepEqual(counts, { moved: 2, movedBefore: 0, largest: '41', left: 3, failed: 0 })
  assert.deepEqual(remarks.toSorted(), [
    'user:day: it expires; see generators with a date in their format',
    "user:huge: its value '9223372036854775807' is no whole number from 0 to 9223372036854775806",
    "user:text: its value 'seven' is no whole number from 0 to 9223372036854775806",
  ])
  assert.equal(await old.incr('user:1'), 42)

  const moved = await fahao(t, words(both, 'user:*'))
  assert.equal(moved.code, 0, moved.stderr)
  assert.match(moved.stdout, /^1 counters moved: .*; the largest is 42$/m)
  assert.match(moved.stdout, /^1 had been moved before$/m)
  assert.equal(await old.get('user:huge'), '9223372036854775807')
  await assert.rejects(old.incr('user:1'), /value is not an integer/)
  assert.deepEqual(await Promise.all(['user:1', 'user:2'].map((key) => client.incr(key))), [43, 100])
  assert.deepEqual(await old.mget('user:text', 'user:day', 'other'), ['seven', '3', '5'])

  const again = await fahao(t, words(both, 'user:*'))
  assert.match(again.stdout, /^0 counters moved.*\n2 had been moved before$/m)
  assert.equal(await client.incr('user:1'), 44)
})

test('counters that clients use go on without a repeated number, through a kill of the import', async (t) => {
  const both = await sides(t)
  const { old, client } = both
  const keys = Array.from({ length: 4000 }, (_, index) => `room:${index}`)
  await old.mset(Object.fromEntries(keys.map((key, index) => [key, `${index}`])))

  let running = true
  // Also where an assertion fails.
  atEnd(t, () => {
    running = false
  })
  const seen = new Map<string, number>()
  /** Counts on Redis until the key is closed there, then on the server. */
  const count = async (key: string): Promise<number> => {
    try {
      return await old.incr(key)
    } catch {
      return client.incr(key)
    }
  }
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let turn = 0; running; turn++) {
      const key = keys[(turn * 8 + writer) % keys.length]!
      const number = await count(key).catch((error) => {
        assert.match(String(error), /NOGENERATOR/)
        return undefined
      })
      if (number === undefined) continue
      assert.ok(
        number > (seen.get(key) ?? Number(key.slice(5))),
        `${key} gives ${number} after ${seen.get(key)}`,
      )
      seen.set(key, number)
    }
  })

  const first = spawn(process.execPath, [entry, ...words(both)], { stdio: 'ignore' })
  // It may come to its end before it is killed.
  const exited = once(first, 'exit')
  while ((await client.dbsize()) === 0) await new Promise((resolve) => setImmediate(resolve))
  first.kill('SIGKILL')
  await exited
  const second = await fahao(t, words(both, '--json'))
  assert.equal(second.code, 0, second.stderr)
  running = false
  await Promise.all(writers)
  const { moved, movedBefore } = JSON.parse(second.stdout)
  assert.ok(moved + movedBefore >= keys.length, second.stdout)
  for (const key of keys) {
    const number = await client.incr(key)
    assert.ok(number > (seen.get(key) ?? Number(key.slice(5))), `${key} gives ${number}`)
  }
})

test('a name that the server would create by itself is left, and a server that does not answer is named', async (t) => {
  const both = await sides(t, ['--auto-create', 'user:*=sequence'])
  await both.old.set('user:1', '41')
  const left = await fahao(t, words(both, '--json'))
  const { moved, remarks } = JSON.parse(left.stdout)
  assert.equal(moved, 0)
  assert.match(remarks[0], /^user:1: the server creates it by its rule auto-create 'user:\*'/)
  assert.equal(await both.old.incr('user:1'), 42)

  await both.redis.kill()
  const unreached = await fahao(t, words(both))
  assertSentence(
    unreached.stderr,
    /^fahao: UNAVAILABLE the server at 127\.0\.0\.1:\d+ does not answer \(.*\); run the import again/,
  )
  const secret = await fahao(t, ['import', '--from', 'redis://a', '--into', 'mysql://app:secret@db/ids'])
  assertSentence(secret.stderr, /^fahao: 'mysql:\/\/…@db\/ids' is no URL/)
  const wrong = await fahao(t, ['import', '--from', 'redis://a', '--into', 'sqlite:./x.db'])
  assertSentence(
    wrong.stderr,
    /^fahao: 'sqlite:.\/x.db' is no URL of a server that speaks Redis's protocol: redis:\/\/HOST:PORT/,
  )
})

test('into a family counters go on above the largest of them, which is said beforehand, while clients count on both', async (t) => {
  const both = await sides(t)
  const { old, client } = both
  const keys = Array.from({ length: 400 }, (_, index) => `room:${index}`)
  await old.mset({ ...Object.fromEntries(keys.map((key, index) => [key, `${index}`])), 'room:text': 'seven' })
  const into = ['--family', 'room:*']

  const dry = await fahao(t, words(both, ...into, '--dry-run'))
  assert.equal(dry.code, 0, dry.stderr)
  const plan =
    '400 counters up to 399: each goes on at 1,000,400 in the family, a jump of 1,000,200 on average and of 1,000,399 at most'
  assert.equal(dry.stdout.split('\n', 1)[0], plan)
  assert.equal(await client.dbsize(), 0)

  let running = true
  // Also where an assertion fails.
  atEnd(t, () => {
    running = false
  })
  const seen = new Map<string, number>()
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let turn = 0; running; turn++) {
      const key = keys[(turn * 8 + writer) % keys.length]!
      // Each key has one writer, on Redis until the key is closed there.
      const number = await old.incr(key).catch(() => client.incr(key))
      assert.ok(number > (seen.get(key) ?? Number(key.slice(5))), `${key} gives ${number}`)
      seen.set(key, number)
    }
  })
  const moved = await fahao(t, words(both, ...into))
  assert.equal(moved.code, 0, moved.stderr)
  assert.match(moved.stdout, /^400 counters moved: the names of the family go on at 1,000,\d{3} or above$/m)
  assert.match(moved.stdout, /^room:text: its value 'seven' is no whole number/m)
  const again = await fahao(t, words(both, ...into, '--json'))
  assert.equal(again.code, 0, again.stderr)
  running = false
  await Promise.all(writers)
  for (const key of keys) assert.ok((await client.incr(key)) > Math.max(1_000_000, seen.get(key) ?? 0))
  assert.equal(await client.dbsize(), 1)

  await client.call('ID.CREATE', 'plain*', 'KIND', 'sequence')
  for (const [words_, why] of [
    [['--family', 'room'], /no name of a family/],
    [['--family', 'plain*'], /no family/],
    [['user:*', '--family', 'room:*'], /leave the patterns out/],
  ] as const) {
    const refused = await fahao(t, words(both, ...words_))
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, why)
  }
})
