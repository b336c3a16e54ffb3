/** Bad input on the RESP port: each with its exact answer, and proof that none of it used up an id. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { splitLine } from '../../src/resp/inline.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { encodeCommand } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'
import { assertUntouched, takeOneOfEach } from './untouched.ts'

/** Of the table next to this file: `command => error`, under headings. */
type Heading = {
  readonly what: string
  readonly rows: readonly (readonly [command: string, error: string])[]
}

const table = readFileSync(join(import.meta.dirname, 'bad-commands.txt'), 'utf8')
const headings: readonly Heading[] = table
  .split('\n# ')
  .slice(1)
  .map((text) => {
    const [what, ...lines] = text.trim().split('\n')
    const rows = lines.map((line) => line.split(' => ') as [string, string])
    return { what: what!, rows }
  })

/** Long words, and what the table cannot hold because the answer ends in a space. */
const notInTable: readonly (readonly [words: readonly (string | Uint8Array)[], error: string])[] = [
  [['NOPE'], "ERR unknown command 'NOPE', with args beginning with: "],
  [['NOPE', 'order', '1'], "ERR unknown command 'NOPE', with args beginning with: 'order' '1' "],
  [['ID.NOPE', 'order'], "ERR unknown command 'ID.NOPE', with args beginning with: 'order' "],
  [['', ''], "ERR unknown command '', with args beginning with: '' "],
  [['NO\r\n-PE', 'a\r\n+OK'], "ERR unknown command 'NO  -PE', with args beginning with: 'a  +OK' "],
  [['INCR\0', 'order'], "ERR unknown command 'INCR\0', with args beginning with: 'order' "],
  [[' INCR', 'order'], "ERR unknown command ' INCR', with args beginning with: 'order' "],
  [[Uint8Array.of(0xff), 'order'], "ERR unknown command '\ufffd', with args beginning with: 'order' "],
  [
    ['x'.repeat(200), 'y'.repeat(200)],
    `ERR unknown command '${'x'.repeat(128)}', with args beginning with: '${'y'.repeat(128)}' `,
  ],
  [['INCR', 'x'.repeat(257)], 'ERR a generator’s name has at most 256 bytes'],
  [['INCR', 'é'.repeat(129)], 'ERR a generator’s name has at most 256 bytes'],
  [['ID.CREATE', 'x'.repeat(257), 'KIND', 'segment'], 'ERR a generator’s name has at most 256 bytes'],
  [['INCR', 'x'.repeat(65_536)], 'ERR a generator’s name has at most 256 bytes'],
  [['INCRBY', 'order', '9'.repeat(60_000)], 'ERR value is not an integer or out of range'],
  [
    ['ID.CREATE', 'a', 'KIND', 'segment', 'FORMAT', `{id}${'x'.repeat(253)}`],
    "ERR option 'format': must have at most 256 characters",
  ],
]

const bulk = 'Protocol error: invalid bulk length'
const multibulk = 'Protocol error: invalid multibulk length'
const quotes = 'Protocol error: unbalanced quotes in request'
const inline = 'Protocol error: too big inline request'
/** Behind every one of these comes a request that must not be carried out. */
const protocolErrors: readonly (readonly [bytes: string, error: string])[] = [
  ['*1\r\n$-1\r\n', bulk],
  ['*1\r\n$x\r\n', bulk],
  ['*1\r\n$\r\n', bulk],
  ['*1\r\n$01\r\n', bulk],
  ['*1\r\n$65537\r\n', bulk],
  ['*2\r\n$4\r\nINCR\r\n$9223372036854775808\r\n', bulk],
  ['*1\r\nINCR\r\n', "Protocol error: expected '$', got 'I'"],
  ['*1\r\n:1\r\n', "Protocol error: expected '$', got ':'"],
  ['*2\r\n$4\r\nINCR\r\n*1\r\n', "Protocol error: expected '$', got '*'"],
  [`*1\r\n$${'9'.repeat(70_000)}`, 'Protocol error: too big bulk count string'],
  ['*x\r\n', multibulk],
  ['*1025\r\n', multibulk],
  ['*2147483648\r\n', multibulk],
  [`*${'9'.repeat(70_000)}`, 'Protocol error: too big mbulk count string'],
  [`*20\r\n${`$65530\r\n${'x'.repeat(65_530)}\r\n`.repeat(16)}`, 'Protocol error: too big request'],
  ['INCR "order\r\n', quotes],
  ["INCR 'order\r\n", quotes],
  ['INCR "order"x\r\n', quotes],
  [`INCR ${'x'.repeat(66_000)}\r\n`, inline],
  [`INCR ${'x'.repeat(66_000)}`, inline],
  [`${'x '.repeat(1025)}\r\n`, inline],
]

/** Cut off without a reply: a browser was tricked into it, or a client has the wrong port. */
const http: readonly string[] = [
  'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'GET /v1/generators/order/next HTTP/1.0\r\n\r\n',
  'POST /v1/generators/order/next HTTP/1.1\r\n\r\n',
  'PUT /v1/generators/order HTTP/1.1\r\n\r\n',
  'DELETE /v1/generators/order HTTP/1.1\r\n\r\n',
  'OPTIONS * HTTP/1.1\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'POST\r\n',
  'post /\r\n',
  'Host: localhost\r\n',
  '*1\r\n$4\r\nPOST\r\n',
]

describe('bad input on the RESP port', () => {
  const scope = new Scope()
  let server: FahaoServer
  before(async () => {
    server = await startFahao(scope)
    await takeOneOfEach(server)
  })
  after(() => scope.end())

  for (const { what, rows } of headings) {
    test(`${what} gets its error, inline and as an array`, async (t) => {
      const client = await server.connect()
      t.after(() => client.close())
      for (const [command, error] of rows) {
        for (const request of [`${command}\r\n`, encodeCommand(splitLine(Buffer.from(command))!)]) {
          client.send(request)
          // What follows shows that the answer is one line, and the connection as good as before.
          client.send('PING\r\n')
          const expected = `-${error}\r\n+PONG\r\n`
          assert.equal(await client.readText(Buffer.byteLength(expected)), expected, command)
        }
      }
    })
  }

  test('the same error is given in RESP3, and in a pipeline to its own request', async (t) => {
    const client = await server.connect()
    t.after(() => client.close())
    await client.command('HELLO', '3')
    const rows = headings
      .flatMap((heading) => heading.rows)
      .filter(([command]) => !/^(HELLO|CLIENT TRACKING)/.test(command))
    client.send(rows.map(([command]) => `${command}\r\n`).join(''))
    const expected = rows.map(([, error]) => `-${error}\r\n`).join('')
    assert.equal(await client.readText(Buffer.byteLength(expected)), expected)
  })

  test('words that are too long, or no text, get their error on one line', async (t) => {
    const client = await server.connect()
    t.after(() => client.close())
    for (const [words, error] of notInTable) {
      client.sendCommand(...words)
      const expected = `-${error}\r\n`
      assert.equal(await client.readText(Buffer.byteLength(expected)), expected)
    }
  })

  test('what is no RESP gets a protocol error, and nothing behind it is carried out', async () => {
    for (const [bytes, error] of protocolErrors) {
      const client = await server.connect()
      client.send(bytes)
      client.send('\r\nINCR order\r\n')
      client.end()
      assert.equal(await client.readToEnd(), `-ERR ${error}\r\n`, bytes.slice(0, 40))
    }
  })

  test('HTTP is cut off, and nothing behind it is carried out', async () => {
    for (const bytes of http) {
      const client = await server.connect()
      client.send(`${bytes}INCR order\r\n`)
      assert.equal(await client.readToEnd(), '', bytes)
    }
  })

  test('a request that is cut off half way does nothing', async () => {
    for (const bytes of ['*2\r\n$4\r\nINCR\r\n$5\r\norder', '*2\r\n$4\r\nINCR\r\n', 'INCR order']) {
      const client = await server.connect()
      client.send(bytes)
      client.end()
      assert.equal(await client.readToEnd(), '', bytes)
    }
  })

  test('no id was used up, and no generator made, changed or dropped', () => assertUntouched(server))

  test('a counter at its end says so, and its name cannot be made to repeat', async (t) => {
    const client = await server.connect()
    t.after(() => client.close())
    const last = 2n ** 63n - 1n
    assert.equal(await client.command('SET', 'full', last - 1n, 'FORCE'), 'OK')
    assert.equal(await client.command('INCR', 'full'), last)
    for (const command of [
      ['INCR', 'full'],
      ['INCRBY', 'full', '2'],
      ['ID.NEXT', 'full', 'COUNT', '2'],
    ]) {
      assertExhausted(await client.command(...command))
    }
    assert.equal(await client.command('DEL', 'full'), 1n)
    const again = await client.command('ID.CREATE', 'full', 'KIND', 'sequence')
    assert.ok(again instanceof ReplyError && /leaves none below max .*use another name$/.test(again.text))
  })
})

function assertExhausted(reply: RawReply): void {
  assert.ok(reply instanceof ReplyError && reply.code === 'EXHAUSTED', JSON.stringify(reply))
}
