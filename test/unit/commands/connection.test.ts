import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Desk } from './desk.ts'

test('PING answers PONG, or the message as it came, bytes and all', async () => {
  const desk = new Desk()
  assert.equal(await desk.ask('ping'), 'PONG')
  assert.equal(await desk.ask('PiNg', 'a b'), 'a b')
  assert.deepEqual(await desk.raw('ECHO', Buffer.from([0xff, 0])), new Uint8Array([0xff, 0]))
})

test('HELLO switches the protocol and describes a single master', async () => {
  const desk = new Desk()
  assert.deepEqual(await desk.ask('HELLO 3'), {
    server: 'redis',
    version: '7.4.0',
    fahao_version: '0.1.0',
    proto: 3,
    id: 1,
    mode: 'standalone',
    role: 'master',
    modules: [],
  })
  assert.equal(desk.session.protocol, 3)
  await desk.ask('HELLO')
  assert.equal(desk.session.protocol, 3, 'HELLO alone asks, and changes nothing')
})

test('HELLO authenticates and names in the same breath', async () => {
  const desk = new Desk()
  await desk.ask('hello 3 auth default whatever setname worker-1')
  assert.equal(desk.session.name, 'worker-1')
})

test('a HELLO that fails changes nothing', async () => {
  const desk = new Desk()
  await desk.refuses([
    ['HELLO 4', 'NOPROTO unsupported protocol version'],
    ['HELLO 1', 'NOPROTO unsupported protocol version'],
    ['HELLO three', 'ERR Protocol version is not an integer or out of range'],
    ['HELLO 3 AUTH default', "ERR Syntax error in HELLO option 'AUTH'"],
    ['HELLO 3 NAME x', "ERR Syntax error in HELLO option 'NAME'"],
    [
      ['HELLO', '3', 'SETNAME', 'a b'],
      'ERR Client names cannot contain spaces, newlines or special characters.',
    ],
    ['HELLO 3 SETNAME fine AUTH eve x', 'WRONGPASS invalid username-password pair or user is disabled.'],
  ])
  assert.equal(desk.session.protocol, 2)
  assert.equal(desk.session.name, '')
})

test('bad connection commands are answered in the words of Redis', async () => {
  await new Desk().refuses([
    ['PING a b', "ERR wrong number of arguments for 'ping' command"],
    ['ECHO', "ERR wrong number of arguments for 'echo' command"],
    ['SELECT 1', 'ERR DB index is out of range'],
    ['SELECT -1', 'ERR DB index is out of range'],
    ['SELECT zero', 'ERR value is not an integer or out of range'],
    ['AUTH a b c', 'ERR syntax error'],
    [
      'AUTH secret',
      'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
    ],
    ['AUTH eve secret', 'WRONGPASS invalid username-password pair or user is disabled.'],
    ['CLIENT', "ERR wrong number of arguments for 'client' command"],
    ['CLIENT SETNAME', "ERR wrong number of arguments for 'client|setname' command"],
    [
      ['CLIENT', 'SETNAME', 'a\nb'],
      'ERR Client names cannot contain spaces, newlines or special characters.',
    ],
    [
      ['CLIENT', 'SETNAME', 'a'.repeat(257)],
      'LIMIT Client names cannot be longer than 256 bytes; send a shorter one',
    ],
    [
      ['CLIENT', 'SETINFO', 'LIB-VER', '1'.repeat(257)],
      'LIMIT LIB-VER cannot be longer than 256 bytes; send a shorter one',
    ],
    [['CLIENT', 'SETNAME', 'é'], 'ERR Client names cannot contain spaces, newlines or special characters.'],
    ['CLIENT SETINFO colour red', "ERR Unrecognized option 'colour'"],
    [
      ['CLIENT', 'SETINFO', 'lib-ver', '1 2'],
      'ERR lib-ver cannot contain spaces, newlines or special characters.',
    ],
    ['CLIENT MAINT_NOTIFICATIONS ON', "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP."],
    ['CLIENT NO-EVICT maybe', 'ERR syntax error'],
    ['CLIENT KILL 10.0.0.1:1', 'ERR No such client'],
    ['CLIENT KILL ID 0', 'ERR client-id should be greater than 0'],
    ['CLIENT KILL ID 1 ADDR', 'ERR syntax error'],
    ['CLIENT KILL TYPE fancy', "ERR Unknown client type 'fancy'"],
    ['CLIENT LIST ID x', 'ERR Invalid client ID'],
    ['CLIENT LIST NAME x', 'ERR syntax error'],
  ])
})

test('RESET forgets protocol and name, and keeps the library', async () => {
  const desk = new Desk()
  await desk.ask('HELLO 3 SETNAME n')
  await desk.ask('CLIENT SETINFO LIB-NAME redis-py')
  assert.equal(await desk.ask('RESET'), 'RESET')
  assert.deepEqual([desk.session.protocol, desk.session.name, desk.session.libraryName], [2, '', 'redis-py'])
})

test('QUIT closes its connection', async () => {
  const desk = new Desk()
  assert.equal(await desk.ask('QUIT'), 'OK')
  assert.equal(desk.session.closed, true)
})

test('READONLY, READWRITE and ASKING of cluster-aware libraries are accepted', async () => {
  const desk = new Desk()
  for (const word of ['READONLY', 'READWRITE', 'ASKING']) assert.equal(await desk.ask(word), 'OK')
  assert.equal(await desk.ask('SELECT 0'), 'OK')
})

test('CLIENT shows names and libraries as they were given', async () => {
  const desk = new Desk()
  assert.equal(await desk.ask('CLIENT ID'), 1)
  assert.equal(await desk.ask('CLIENT GETNAME'), null)
  await desk.ask('CLIENT SETNAME billing')
  await desk.ask('CLIENT SETINFO LIB-NAME jedis')
  await desk.ask('CLIENT SETINFO lib-ver 5.1.0')
  assert.equal(await desk.ask('CLIENT GETNAME'), 'billing')
  const line = String(await desk.ask('CLIENT INFO'))
  assert.match(line, /^id=1 addr=127\.0\.0\.1:50001 laddr=127\.0\.0\.1:7379 /)
  assert.match(line, / name=billing .* user=default .* resp=2 lib-name=jedis lib-ver=5\.1\.0\n$/)
})

test('CLIENT LIST has a line for each connection, and filters', async () => {
  const desk = new Desk()
  desk.connect()
  desk.connect()
  const lines = async (...words: string[]) =>
    String(await desk.ask('CLIENT', 'LIST', ...words)).match(/^id=\d+/gm)
  assert.deepEqual(await lines(), ['id=1', 'id=2', 'id=3'])
  assert.deepEqual(await lines('ID', '3', '1', '99'), ['id=1', 'id=3'])
  assert.deepEqual(await lines('TYPE', 'normal'), ['id=1', 'id=2', 'id=3'])
  assert.deepEqual(await lines('TYPE', 'pubsub'), null)
})

test('CLIENT KILL closes the matching connections, and by default not the caller', async () => {
  const desk = new Desk()
  const [other, third] = [desk.connect(), desk.connect()]
  assert.equal(await desk.ask('CLIENT', 'KILL', other.address), 'OK')
  assert.deepEqual([desk.session.closed, other.closed, third.closed], [false, true, false])
  assert.equal(await desk.ask('CLIENT KILL LADDR 127.0.0.1:7379 ID 3'), 1)
  assert.equal(third.closed, true)
  assert.equal(await desk.ask('CLIENT KILL ID 1'), 0)
  assert.equal(await desk.ask('CLIENT KILL USER eve SKIPME no'), 0)
  assert.equal(desk.session.closed, false)
  assert.equal(await desk.ask('CLIENT KILL USER default TYPE normal SKIPME no'), 3)
  assert.equal(desk.session.closed, true)
})
