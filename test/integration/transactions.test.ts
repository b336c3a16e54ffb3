/** Transactions on Fahao and on a real Redis: the same requests get the same replies, apart from the values. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { encodeCommand, RawClient } from '../launch/raw-client.ts'
import { type RedisServer, startRedis } from '../launch/redis.ts'

const scope = new Scope()
let fahao: FahaoServer
let redis: RedisServer
before(async () => {
  fahao = await startFahao(scope, { args: ['--auto-create', '*=sequence'] })
  redis = await startRedis(scope)
})
after(() => scope.end())

/** Everything that a connection replies to these requests, and to a QUIT after them; numbers are `n`. */
async function repliesOf(port: number, requests: readonly string[], inline: boolean): Promise<string> {
  const client = await RawClient.connect(port)
  const bytes = [...requests, 'QUIT'].map((request) =>
    inline ? Buffer.from(`${request}\r\n`) : encodeCommand(request.split(' ')),
  )
  client.send(Buffer.concat(bytes))
  const text = await client.readToEnd()
  return text.replaceAll(/:\d+\r/g, ':n\r').replaceAll(/\$\d+\r\n\d+\r/g, '$n\r')
}

async function assertSame(requests: readonly string[], inline = false): Promise<string> {
  const [ours, theirs] = await Promise.all([
    repliesOf(fahao.resp, requests, inline),
    repliesOf(redis.port, requests, inline),
  ])
  assert.equal(ours, theirs, requests.join(', '))
  return ours
}

/** Each line is what one connection sends. */
const scripts = `
MULTI, INCR order, GET order, INCRBY order 10, EXEC
MULTI, EXEC, MULTI, DISCARD, EXEC, DISCARD
MULTI, MULTI, INCR order, EXEC, INCR order
MULTI, WATCH order, INCR order, EXEC
MULTI, UNWATCH, PING, PING again, ECHO a, EXEC
MULTI, INCR, INCR order, EXEC, INCR order
MULTI, NOPE a b, INCR order, EXEC
MULTI, NOPE, DISCARD, INCR order
MULTI, INCR order, EXEC 1, EXEC
EXEC 1, EXEC, DISCARD 1, MULTI 1, EXEC
MULTI, DISCARD 1, EXEC
MULTI, WATCH, EXEC
MULTI, INCRBY order one, INCR order, EXEC
MULTI, CLIENT NOPE, PING, EXEC
MULTI, CLIENT SETNAME ada, CLIENT GETNAME, EXEC, CLIENT GETNAME
MULTI, RESET, EXEC, PING
MULTI, SELECT 1x, SELECT 0, EXEC
MULTI, HELLO 9, HELLO 2 NOPE, EXEC
MULTI, AUTH a b, AUTH a, PING, EXEC
MULTI, MGET order absent, EXISTS order, TYPE order, EXEC
MULTI, multi, Incr order, exec
MULTI, QUIT, PING
MULTI, PING a b, EXEC
MULTI, COMMAND COUNT, EXEC
MULTI, ACL WHOAMI, EXEC
MULTI, CLUSTER INFO, EXEC
`
  .trim()
  .split('\n')
  .map((line) => line.split(', '))

describe('transactions, beside a real Redis', () => {
  for (const inline of [false, true]) {
    test(`get the same replies, ${inline ? 'inline' : 'as arrays'}`, async () => {
      for (const script of scripts) await assertSame(script, inline)
    })
  }

  test('get the same replies in random sequences', async () => {
    const word = fc.constantFrom(
      ...['MULTI', 'MULTI', 'EXEC', 'EXEC', 'DISCARD', 'RESET', 'UNWATCH', 'INCR order', 'INCR order'],
      ...['GET order', 'PING', 'INCRBY order x', 'INCR', 'NOPE', 'EXEC 1', 'CLIENT GETNAME', 'HELLO 9'],
    )
    const sequence = fc.array(word, { minLength: 5, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(
        sequence,
        fc.boolean(),
        async (requests, inline) => void (await assertSame(requests, inline)),
      ),
      { numRuns: 200 },
    )
  })

  test('use up no id when EXEC is refused', async () => {
    const client = await fahao.connect()
    await client.command('INCR', 'kept')
    let refused = 0
    for (const script of scripts) {
      const newest = await client.command('GET', 'kept')
      const requests = script
        .slice(0, script.indexOf('EXEC') + 1)
        .map((each) => each.replace('order', 'kept'))
      const replies = await repliesOf(fahao.resp, requests, false)
      if (!replies.includes('-EXECABORT')) continue
      refused++
      assert.equal(await client.command('GET', 'kept'), newest, script.join(', '))
    }
    assert.ok(refused > 3)
    await client.close()
  })
})
