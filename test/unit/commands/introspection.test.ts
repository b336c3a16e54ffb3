import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MapReply } from '../../../src/commands/command.ts'
import { Desk } from './desk.ts'

test('COMMAND has an entry of ten fields for each command, as cluster libraries read it', async () => {
  const desk = new Desk()
  const entries = (await desk.ask('COMMAND')) as unknown[][]
  assert.equal(entries.length, await desk.ask('COMMAND COUNT'))
  for (const entry of entries) assert.equal(entry.length, 10, String(entry[0]))
  const [incr] = (await desk.ask('COMMAND INFO InCr')) as unknown[]
  assert.deepEqual(incr, [
    'incr',
    2,
    ['write', 'fast'],
    1,
    1,
    1,
    ['@string', '@write', '@fast'],
    [],
    [
      {
        flags: ['RW', 'access', 'update'],
        begin_search: { type: 'index', spec: { index: 1 } },
        find_keys: { type: 'range', spec: { lastkey: 0, keystep: 1, limit: 0 } },
      },
    ],
    [],
  ])
})

test('COMMAND INFO and DOCS refuse more names than there are, and DOCS documents a repeated name once', async () => {
  const desk = new Desk()
  const many = Array<string>(1000).fill('client')
  for (const word of ['INFO', 'DOCS']) {
    await assert.rejects(desk.ask('COMMAND', word, ...many), { code: 'LIMIT' })
  }
  const { command, args } = desk.table.resolve(
    ['command', 'docs', 'client', 'CLIENT'].map((word) => Buffer.from(word)),
  )
  const reply = command.handler!(desk.context, args)
  assert.ok(reply instanceof MapReply)
  assert.equal(reply.entries.length, 1)
})

test('GET and MGET are marked write, so that no library sends them to a standby', async () => {
  const desk = new Desk()
  for (const name of ['get', 'mget']) {
    const [entry] = (await desk.ask('COMMAND', 'INFO', name)) as unknown[][]
    assert.ok((entry![2] as string[]).includes('write'))
    assert.ok(!(entry![2] as string[]).includes('readonly'))
  }
})

test('COMMAND INFO describes subcommands, and returns nil for unknown ones', async () => {
  const desk = new Desk()
  const [sub, none, odd] = (await desk.ask('COMMAND INFO client|setname zadd client|no|way')) as (
    | unknown[]
    | null
  )[]
  assert.deepEqual(sub!.slice(0, 2), ['client|setname', 3])
  assert.deepEqual([none, odd], [null, null])
})

test('COMMAND DOCS documents each command, its arguments and its subcommands', async () => {
  const desk = new Desk()
  const docs = (await desk.ask('COMMAND DOCS')) as Record<string, Record<string, unknown>>
  for (const [name, doc] of Object.entries(docs)) {
    assert.match(String(doc.summary), /\.$/, `${name} has a sentence`)
  }
  const one = (await desk.ask('COMMAND DOCS incr nope')) as typeof docs
  assert.deepEqual(Object.keys(one), ['incr'])
  assert.deepEqual(one.incr!.arguments, [
    { name: 'key', type: 'key', display_text: 'key', key_spec_index: 0 },
  ])
  assert.ok(Object.hasOwn(docs.client!.subcommands as object, 'client|setname'))
})

test('COMMAND LIST filters by category and pattern', async () => {
  const desk = new Desk()
  const all = (await desk.ask('COMMAND LIST')) as string[]
  assert.ok(all.includes('incr') && all.includes('hello'))
  assert.deepEqual(await desk.ask('COMMAND LIST FILTERBY PATTERN incr*'), ['incr', 'incrby'])
  const connection = (await desk.ask('COMMAND LIST filterby aclcat connection')) as string[]
  assert.ok(connection.includes('ping') && !connection.includes('incr'))
  assert.deepEqual(await desk.ask('COMMAND LIST FILTERBY MODULE json'), [])
})

test('COMMAND GETKEYS finds names where they stand', async () => {
  const desk = new Desk()
  assert.deepEqual(await desk.ask('COMMAND GETKEYS MGET a b c'), ['a', 'b', 'c'])
  assert.deepEqual(await desk.ask('COMMAND GETKEYS incrby a 5'), ['a'])
})

test('unknown commands and wrong numbers of words are answered in the words of Redis', async () => {
  const desk = new Desk()
  await desk.refuses([
    [['NOSUCH', 'a', 'b c'], "ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b c' "],
    [['NO\r\nSUCH'], "ERR unknown command 'NO  SUCH', with args beginning with: "],
    [['X', 'y'.repeat(200), 'z'], `ERR unknown command 'X', with args beginning with: '${'y'.repeat(128)}' `],
    ['COMMAND NOSUCH', "ERR unknown subcommand 'NOSUCH'. Try COMMAND HELP."],
    ['COMMAND COUNT x', "ERR wrong number of arguments for 'command|count' command"],
    ['COMMAND GETKEYS nosuch x', 'ERR Invalid command specified'],
    ['COMMAND GETKEYS ping x', 'ERR The command has no key arguments'],
    ['COMMAND GETKEYS incrby x', 'ERR Invalid number of arguments specified for command'],
    ['COMMAND LIST FILTERBY COLOUR x', 'ERR syntax error'],
    ['COMMAND LIST FILTERBY', 'ERR syntax error'],
    ['INCR', "ERR wrong number of arguments for 'incr' command"],
    ['INCR a b', "ERR wrong number of arguments for 'incr' command"],
  ])
})

test('each container has a HELP that lists what it holds', async () => {
  const lines = (await new Desk().ask('CLIENT HELP')) as string[]
  assert.equal(lines[0], 'CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:')
  assert.ok(lines.includes('SETNAME connection-name'))
  assert.ok(lines.includes('NO-EVICT ON | OFF'))
  assert.equal(lines.at(-1), '    Print this help.')
})
