/** redis-cli and redis-benchmark as Redis ships them. */
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { after, before, describe, type TestContext, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { requireProgram } from '../launch/process.ts'
import { encodeCommand } from '../launch/raw-client.ts'
import { assertDistinct, assertGapless, assertIncreasing, creations, issuedOf, ordered } from './examples.ts'

const scope = new Scope()
let server: FahaoServer
before(async () => {
  server = await startFahao(scope, { args: ['--auto-create', '*=sequence'] })
})
after(() => scope.end())

function start(t: TestContext, program: string, args: readonly string[]): ChildProcessWithoutNullStreams {
  const child = spawn(requireProgram(program), args, { env: { ...process.env, TERM: 'xterm' } })
  t.after(() => void child.kill('SIGKILL'))
  return child
}

/** Runs a program to its end and returns both of its outputs. */
async function run(
  t: TestContext,
  program: string,
  args: readonly string[],
  input: string | Uint8Array = '',
): Promise<string> {
  const child = start(t, program, args)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.equal(code, 0, `${program} ${args.join(' ')}: ${output}`)
  return output.trim()
}

describe('redis-cli', () => {
  const cli = (t: TestContext, ...args: string[]) => run(t, 'redis-cli', ['-p', `${server.resp}`, ...args])
  /** Lines to its standard input, as from a file. */
  const script = (t: TestContext, args: string[], lines: string[]) =>
    run(t, 'redis-cli', ['-p', `${server.resp}`, ...args], `${lines.join('\n')}\n`)

  for (const protocol of [[], ['-3']]) {
    test(`creates and uses all four kinds ${protocol.join('')}`, async (t) => {
      for (const creation of creations) assert.equal(await cli(t, ...protocol, ...creation), 'OK')
      const names = creations.map(([, name]) => name!)
      const ids = (
        await script(
          t,
          protocol,
          names.flatMap((name) => Array(3).fill(`INCR ${name}`)),
        )
      ).split('\n')
      names.forEach((name, index) => {
        const own = ids.slice(index * 3, index * 3 + 3)
        assertDistinct(own)
        if (ordered.includes(name)) assertIncreasing(own)
      })
      assert.match(await cli(t, ...protocol, 'ID.NEXT', 'sms', 'COUNT', '2'), /^sms_\d+\nsms_\d+$/)
      const event = await cli(t, ...protocol, 'ID.NEXT', 'event')
      assert.match(await cli(t, ...protocol, 'ID.DECODE', event, 'event'), new RegExp(`^id[ \n]${event}\n`))
      assert.match(await cli(t, ...protocol, 'ID.INFO', 'txn'), /^kind[ \n]timestamp$/m)
      assert.equal(await cli(t, ...protocol, 'GET', 'event'), event)
    })
  }

  test('shows what a reply is made of, in either protocol', async (t) => {
    assert.equal(await cli(t, '--no-raw', 'SET', 'shown', '4', 'NX'), 'OK')
    assert.equal(await cli(t, '--no-raw', 'INCR', 'shown'), '(integer) 5')
    assert.equal(await cli(t, '--no-raw', 'ID.NEXT', 'shown'), '"6"')
    assert.equal(await cli(t, '--no-raw', 'ID.RANGE', 'shown', '2'), '1) 1) "7"\n   2) "9"')
    assert.equal(await cli(t, '--no-raw', 'GET', 'absent'), '(nil)')
    assert.equal(
      await cli(t, '--no-raw', 'DECR', 'shown').then((text) => text.slice(0, 31)),
      '(error) ERR DECR is not support',
    )
    const info = JSON.parse(await cli(t, '-3', '--json', 'ID.INFO', 'shown'))
    assert.deepEqual([info.kind, info.start, info.lastIssued, info.issued], ['sequence', '5', '8', 4])
  })

  test('scans, and tells what is there', async (t) => {
    const names = Array.from({ length: 30 }, (_, at) => `seen:${at}`).sort()
    await script(
      t,
      [],
      names.map((name) => `SET ${name} 0`),
    )
    assert.deepEqual((await cli(t, '--scan', '--pattern', 'seen:*')).split('\n'), names)
    assert.match(await cli(t, 'INFO', 'server'), /^redis_version:7\./m)
    assert.match(await cli(t, '-n', '0', 'PING'), /^PONG$/)
  })

  test('feeds a pipe without waiting for replies, and counts them', async (t) => {
    const bytes = Buffer.concat(Array(5000).fill(encodeCommand(['INCR', 'piped'])))
    const output = await run(t, 'redis-cli', ['-p', `${server.resp}`, '--pipe'], bytes)
    assert.match(output, /errors: 0, replies: 5000$/)
    assert.equal(await cli(t, 'GET', 'piped'), '5000')
  })

  test('on a terminal loads COMMAND DOCS, hints and helps with them', async (t) => {
    const child = start(t, 'script', [
      '-qefc',
      `stty cols 120 rows 40 && redis-cli -p ${server.resp}`,
      '/dev/null',
    ])
    let seen = ''
    let wake = () => {}
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      seen += text
      wake()
    })
    // It drops what was typed before its prompt: each line waits for that.
    const until = async (pattern: RegExp) => {
      while (!pattern.test(seen)) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const read = stripVTControlCharacters(seen)
      seen = ''
      return read
    }
    await until(/> $/)
    child.stdin.write('INCR ')
    await until(/INCR .*key/)
    child.stdin.write('typed\r')
    await until(/\(integer\) 1\r\n.*> $/)
    child.stdin.write('help id.next\r')
    const help = await until(/group:[\s\S]*> $/)
    assert.match(
      help,
      /ID\.NEXT name \[COUNT count\] .*\[GENE gene \[gene \.\.\.\]\|BY key \[key \.\.\.\]\][\r\n]+ +summary: Issues ids/,
    )
    child.stdin.write('quit\r')
    assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0)
  })
})

describe('a user of telnet', () => {
  test('types commands in either case, with quotes, and reads the replies', async () => {
    const client = await server.connect()
    client.send('incr telnet\r\nINCR telnet\n\r\n  Id.Next   "telnet" count 2 \r\nGET \'telnet\'\r\n')
    assert.deepEqual(await client.readMany(4), [1n, 2n, ['3', '4'], '4'])
    client.send('ID.CREATE "\\x61\\u00e4" KIND sequence\r\nECHO "a \\"b\\"\\n"\r\nquit\r\n')
    assert.deepEqual(await client.readMany(3), ['OK', 'a "b"\n', 'OK'])
    await client.closed
  })

  test('types slowly, byte by byte', async () => {
    const client = await server.connect()
    for (const byte of 'INCR slowly\r\n*2\r\n$4\r\nINCR\r\n$6\r\nslowly\r\n') client.send(byte)
    assert.deepEqual(await client.readMany(2), [1n, 2n])
  })
})

describe('redis-benchmark', () => {
  const benchmark = (t: TestContext, ...args: string[]) =>
    run(t, 'redis-benchmark', ['-p', `${server.resp}`, '--csv', ...args])
  const key = 'counter:__rand_int__'

  for (const depth of [1, 16, 128]) {
    test(`counts as many ids as were issued, at pipelines of ${depth}`, async (t) => {
      const name = `counted:${depth}`
      const count = 50 * 128 * (depth === 1 ? 1 : 4)
      await benchmark(t, '-c', '50', '-P', `${depth}`, '-n', `${count}`, 'INCR', name)
      assert.equal(await issuedOf(server, name), BigInt(count))
    })
  }

  test('runs its own tests of ping, incr and get, also over many keys', async (t) => {
    const output = await benchmark(t, '-t', 'ping,incr,get', '-n', '5000', '-c', '50')
    for (const name of ['PING_INLINE', 'PING_MBULK', 'INCR', 'GET'])
      assert.match(output, new RegExp(`^"${name}"`, 'm'))
    const client = await server.connect()
    assert.equal(await client.command('DEL', key), 1n)
    await benchmark(t, '-t', 'incr', '-r', '100', '-n', '5000', '-c', '50', '-P', '16')
    const names = (await client.command('KEYS', 'counter:*')) as string[]
    assert.ok(names.length > 50)
    const counts = (await client.command('MGET', ...names)) as string[]
    assert.equal(
      counts.reduce((sum, text) => sum + Number(text), 0),
      5008,
    )
  })

  test('is refused set and mset, whose values are no numbers', async (t) => {
    await assert.rejects(benchmark(t, '-t', 'set', '-n', '10'), /ERR value is not an integer or out of range/)
    await assert.rejects(benchmark(t, '-t', 'mset', '-n', '10'), /ERR MSET is not supported/)
  })

  test('pulls ids of every kind by ID.NEXT from 50 clients', async (t) => {
    for (const [, name] of creations as [string, string][]) {
      const before = await issuedOf(server, name)
      await benchmark(t, '-c', '50', '-n', '2000', 'ID.NEXT', name, 'COUNT', '10')
      assert.equal(await issuedOf(server, name), before + 20_000n)
    }
  })
})

test('the ids of fifty connections that send at once are each other’s neighbours', async () => {
  const clients = await Promise.all(Array.from({ length: 50 }, () => server.connect()))
  for (const client of clients) client.send(Buffer.concat(Array(100).fill(encodeCommand(['INCR', 'crowd']))))
  const ids = await Promise.all(clients.map((client) => client.readMany(100)))
  for (const own of ids) assertIncreasing(own as bigint[])
  assertGapless(ids.flat() as bigint[], 1n)
})
