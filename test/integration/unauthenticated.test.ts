/**
 * Clients that have not authenticated, on Fahao and on a real Redis with the same users: the same replies, byte for byte.
 * Debian's Redis is 7.0; where 7.2 changed a text, Fahao has the newer one, and `newer` translates.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createCommands } from '../../src/commands/all.ts'
import { takesWords } from '../../src/commands/table.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { encodeCommand, RawClient } from '../launch/raw-client.ts'
import { type RedisServer, startRedis } from '../launch/redis.ts'

const scope = new Scope()
let fahao: FahaoServer
let redis: RedisServer
before(async () => {
  fahao = await startFahao(scope, { engine: 'memory:', args: ['--auto-create', '*=sequence'] })
  redis = await startRedis(scope)
  // Only 127.0.0.1 is this machine to it.
  const client = await RawClient.connect(redis.port, scope)
  assert.equal(await client.command('CONFIG', 'SET', 'protected-mode', 'no'), 'OK')
})
after(() => scope.end())

/** A client's own loopback address, since failed logins of one address are limited. */
let clients = 0
const nextAddress = () => `127.0.${1 + Math.floor(++clients / 250)}.${1 + (clients % 250)}`

const greeting =
  /(?:%\d+|\*\d+)\r\n\$6\r\nserver\r\n.*?\$5\r\nproto\r\n:(\d)\r\n.*?\$7\r\nmodules\r\n\*0\r\n/gs
const oldHello = 'otherwise the HELLO AUTH <user> <pass> option'
const newHello = 'otherwise the HELLO <proto> AUTH <user> <pass> option'

/** The reply of Redis 7.0 in the words of 7.2. */
function newer(text: string): string {
  return text
    .replaceAll(oldHello, newHello)
    .replaceAll(
      'this user has no permissions to access one of the keys used as arguments',
      'No permissions to access a key',
    )
    .replaceAll('this user has no permissions to run', 'User low has no permissions to run')
}

async function exchange(port: number, bytes: Uint8Array): Promise<string> {
  const client = await RawClient.connect(port, undefined, { from: nextAddress() })
  client.send(bytes)
  return (await client.readToEnd()).replaceAll(greeting, 'greeting of RESP$1\r\n')
}

/** Sends the same bytes to both; they must end the connection. */
async function bothReply(bytes: Uint8Array): Promise<{ ours: string; theirs: string }> {
  const [ours, theirs] = await Promise.all([exchange(fahao.resp, bytes), exchange(redis.port, bytes)])
  return { ours, theirs: newer(theirs) }
}

async function assertSame(bytes: Uint8Array): Promise<string> {
  const { ours, theirs } = await bothReply(bytes)
  assert.equal(ours, theirs, JSON.stringify(Buffer.from(bytes).toString('latin1').slice(0, 300)))
  return ours
}

type Words = readonly string[]
const arrays = (requests: readonly Words[]) => Buffer.concat([...requests, ['QUIT']].map(encodeCommand))
const lines = (requests: readonly Words[]) =>
  Buffer.from([...requests, ['QUIT']].map((words) => `${words.join(' ')}\r\n`).join(''))

/** Each line is what one connection sends before its QUIT. */
const scriptsOf = (text: string): Words[][] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.split(', ').map((request) => request.split(' ')))

async function assertSameScripts(text: string): Promise<void> {
  for (const script of scriptsOf(text)) {
    await assertSame(arrays(script))
    await assertSame(lines(script))
  }
}

describe('a client before AUTH, beside a real Redis without passwords', () => {
  test('gets the same replies', () =>
    assertSameScripts(`
AUTH a, PING
AUTH, AUTH a b c
AUTH default, PING
AUTH default any, ACL WHOAMI
AUTH ada any, PING
HELLO, HELLO 2, HELLO 3, PING
HELLO 3 AUTH default any SETNAME me, CLIENT GETNAME
HELLO 3 AUTH ada any, PING
HELLO 2 AUTH default, HELLO 4, HELLO x, HELLO 3 NOPE
RESET, PING
`))
})

describe('a client before AUTH, beside a real Redis with the same users', () => {
  before(async () => {
    for (const port of [fahao.resp, redis.port]) {
      const admin = await RawClient.connect(port, scope)
      const set = ['ACL', 'SETUSER']
      for (const request of [
        [...set, 'default', 'on', 'resetpass', '>secret', '~*', '+@all'],
        ['AUTH', 'default', 'secret'],
        [...set, 'ada', 'on', '>pw', '~*', '+@all'],
        [...set, 'idle', 'off', '>pw', '~*', '+@all'],
        [...set, 'low', 'on', '>pw', '~ok*', '-@all', '+get', '+ping', '+multi', '+exec'],
      ]) {
        assert.equal(await admin.command(...request), 'OK', request.join(' '))
      }
    }
  })

  test('gets the same reply to every command that both have, whatever the number of words', async () => {
    const admin = await RawClient.connect(redis.port, scope)
    await admin.command('AUTH', 'secret')
    const theirs = new Set((await admin.command('COMMAND', 'LIST')) as string[])
    const beforeAuth = ['auth', 'hello', 'reset', 'quit']
    /** New in 7.2, or with another number of words. */
    const later = ['client|setinfo', 'client|no-touch', 'command|getkeys']
    let compared = 0
    for (const command of createCommands().all()) {
      if (!theirs.has(command.name) || beforeAuth.includes(command.name)) continue
      const paths = [
        { command, words: [command.name] },
        ...(command.subcommands ?? []).map((each) => ({ command: each, words: [command.name, each.name] })),
      ]
      for (const path of paths) {
        const name = path.words.join('|')
        if (later.includes(name)) continue
        const requests = [0, 1, 2, 3, 4].map((more) => [...path.words, ...Array<string>(more).fill('a')])
        const replies = await assertSame(arrays(requests))
        assert.match(replies, /NOAUTH|wrong number of arguments|unknown subcommand/)
        compared++
        const isAccepted = requests.some((words) => takesWords(path.command, words.length))
        if (path.command.handler !== undefined && isAccepted) assert.match(replies, /NOAUTH/, name)
      }
    }
    assert.ok(compared > 60, `${compared}`)
  })

  test('gets the same replies about words, logins, transactions, RESET and QUIT', () =>
    assertSameScripts(`
NOPE, NOPE a b, GET, GET a b, CLIENT NOPE, CLIENT, CONFIG NOPE, COMMAND NOPE, PING
AUTH, AUTH a b c, AUTH a b c d e f g
AUTH wrong, PING
AUTH secret, ACL WHOAMI
AUTH default wrong, PING, AUTH default secret, ACL WHOAMI
AUTH ada pw, ACL WHOAMI, AUTH wrong, ACL WHOAMI, AUTH secret, ACL WHOAMI
AUTH ada secret, AUTH idle pw, AUTH absent pw, AUTH ADA pw, PING
HELLO, HELLO 2, HELLO 3, HELLO 4, HELLO x, HELLO 3 SETNAME me, HELLO 3 NOPE, HELLO 3 AUTH default, HELLO 3 SETNAME
HELLO 3 AUTH ada pw, ACL WHOAMI, GET absent
HELLO 2 AUTH default secret SETNAME me, CLIENT GETNAME
HELLO 3 AUTH default wrong, PING, HELLO 3 AUTH absent pw, HELLO 3 AUTH idle pw
HELLO 9 AUTH default secret, PING
HELLO AUTH default secret, PING
RESET, RESET a, PING
AUTH ada pw, RESET, PING, AUTH ada pw, PING
HELLO 3 AUTH ada pw, RESET, PING
QUIT a b
MULTI, PING, EXEC, DISCARD, EXEC a, DISCARD a, WATCH, UNWATCH
AUTH ada pw, MULTI, PING, RESET, EXEC, PING
AUTH ada pw, MULTI, PING, AUTH default wrong, AUTH default secret, ACL WHOAMI, EXEC, ACL WHOAMI
AUTH ada pw, MULTI, HELLO 3 AUTH default wrong, GET absent, EXEC
AUTH low pw, INCR ok, GET no, GET ok, INCR, NOPE, PING
AUTH low pw, MULTI, INCR ok, GET ok, EXEC, EXEC
AUTH low pw, MULTI, GET no, EXEC, MULTI, GET ok, PING, EXEC
AUTH ada pw, MULTI, GET no, AUTH low pw, INCR ok, GET no, GET ok, EXEC, PING
AUTH low pw, DISCARD, AUTH ada pw, GET no
`))

  test('gets the same replies to what is too large or malformed, until it has authenticated', async () => {
    const broken = [
      '*11\r\n',
      '*1\r\n$16385\r\n',
      '*x\r\n',
      '*2147483647\r\n',
      '*2147483648\r\n',
      '*99999999999\r\n',
      '*1\r\n$536870912\r\n',
      '*1\r\n$536870913\r\n',
      '*1\r\n!4\r\n',
      '*1\r\n$-1\r\n',
      "ECHO 'a\r\n",
      `${'x'.repeat(70_000)}`,
      'host: x\r\n',
      'POST / HTTP/1.1\r\n',
      'AUTH ada wrong\r\n*11\r\n',
      'AUTH ada pw\r\nRESET\r\n*11\r\n',
      'AUTH ada pw\r\nRESET\r\n*1\r\n$16385\r\n',
    ]
    for (const bytes of broken) await assertSame(Buffer.from(bytes))
    const long = 'x'.repeat(16_384)
    const fine = [
      [[long]],
      [['NOPE', long]],
      [['GET', long]],
      [Array(10).fill('NOPE')],
      [
        ['AUTH', 'ada', 'pw'],
        ['ECHO', `${long}x`],
        ['MGET', ...Array<string>(20).fill('a')],
      ],
      [
        ['HELLO', '3', 'AUTH', 'ada', 'pw'],
        ['ECHO', `${long}x`],
      ],
    ]
    for (const requests of fine) await assertSame(arrays(requests))
    await assertSame(Buffer.from('*0\r\n*-1\r\n\r\n   \r\nPING\r\nQUIT\r\n'))
  })

  test('differs from Redis only as the documentation says', async () => {
    const inlineLimit = '-ERR Protocol error: too big inline request\r\n'
    const noauth = '-NOAUTH Authentication required.\r\n'
    const quit = '+OK\r\n'
    const notSupported = /^-ERR SUBSCRIBE is not supported: .*\r\n\+OK\r\n$/
    const differences: readonly (readonly [bytes: Buffer, ours: string | RegExp, theirs: string | RegExp])[] =
      [
        // Lines have the limits of arrays.
        [lines([Array(11).fill('NOPE')]), inlineLimit, /^-ERR unknown command 'NOPE'/],
        [lines([['x'.repeat(16_385)]]), inlineLimit, /^-ERR unknown command 'x/],
        // A command that has no meaning here is none.
        [arrays([['SUBSCRIBE', 'a']]), notSupported, `${noauth}${quit}`],
        // HTTP gets no reply.
        [lines([['GET', '/', 'HTTP/1.1']]), '', /^-ERR wrong number of arguments for 'get' command/],
        // A request has at most 32 KiB.
        [
          arrays([['GET', ...Array<string>(2).fill('x'.repeat(16_384))]]),
          '-ERR Protocol error: too big request\r\n',
          `-ERR wrong number of arguments for 'get' command\r\n${quit}`,
        ],
        // As in Redis 7.2, a HELLO with an error changes nothing.
        [
          arrays([['HELLO', '3', 'AUTH', 'ada', 'pw', 'NOPE'], ['PING']]),
          `-ERR Syntax error in HELLO option 'NOPE'\r\n${noauth}${quit}`,
          `-ERR Syntax error in HELLO option 'NOPE'\r\n+PONG\r\n${quit}`,
        ],
      ]
    const check = (text: string, expected: string | RegExp) =>
      typeof expected === 'string' ? assert.equal(text, expected) : assert.match(text, expected)
    for (const [bytes, expectedOurs, expectedTheirs] of differences) {
      const { ours, theirs } = await bothReply(bytes)
      check(ours, expectedOurs)
      check(theirs, expectedTheirs)
    }
  })
})
