import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusals } from '../../../src/commands/refused-commands.ts'
import { Desk } from './desk.ts'

test('INFO has what libraries look for', async () => {
  const desk = new Desk({ a: { kind: 'sequence' } })
  const text = String(await desk.ask('INFO'))
  for (const line of [
    'redis_version:7.4.0',
    'fahao_version:0.1.0',
    'tcp_port:7379',
    'uptime_in_seconds:90000',
    'connected_clients:1',
    'blocked_clients:0',
    'total_connections_received:3',
    'total_commands_processed:42',
    'rejected_connections:1',
    'total_net_input_bytes:1000',
    'rdb_bgsave_in_progress:0',
    'aof_rewrite_in_progress:0',
    'loading:0',
    'role:master',
    'master_repl_offset:0',
    'cluster_enabled:0',
    'db0:keys=1,expires=0,avg_ttl=0',
  ]) {
    assert.ok(text.includes(`${line}\r\n`), line)
  }
  assert.match(text, /^# Server\r\n/)
  // What redis-cli --stat shows beside them.
  assert.match(text, /\r\nused_memory:[1-9]\d+\r\n/)
  assert.match(text, /\r\nused_cpu_user:\d+\.\d+\r\n/)
})

test('INFO shows the sections that are asked for, in either case', async () => {
  const desk = new Desk()
  desk.sections = [
    { title: 'Engine', fields: [['engine', 'memory:']] },
    { title: 'Clients', fields: [['more', 0]] },
  ]
  assert.equal(await desk.ask('INFO ENGINE'), '# Engine\r\nengine:memory:\r\n')
  assert.equal(
    await desk.ask('INFO cluster clients'),
    '# Clients\r\nconnected_clients:1\r\nblocked_clients:0\r\nmore:0\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n',
  )
  assert.equal(await desk.ask('INFO nonsense'), '')
  assert.match(String(await desk.ask('INFO everything')), /# Engine/)
})

test('INFO has the port of the connection if the server has none of its own', async () => {
  const desk = new Desk()
  desk.respPort = undefined
  desk.session.localAddress = '[::1]:4000'
  assert.match(String(await desk.ask('INFO server')), /\r\ntcp_port:4000\r\n/)
})

test('CONFIG GET contents redis-benchmark, and shows settings by pattern', async () => {
  const desk = new Desk()
  assert.deepEqual(await desk.ask('CONFIG GET save'), { save: '' })
  assert.deepEqual(await desk.ask('CONFIG GET appendonly'), { appendonly: 'yes' })
  assert.deepEqual(await desk.ask('CONFIG GET eng* lease-???'), {
    engine: 'memory:',
    'lease-ttl': '3s',
  })
  assert.deepEqual(await desk.ask('CONFIG GET nothing'), {})
})

test('TIME is the timeline, in seconds and microseconds', async () => {
  const desk = new Desk()
  const beforeUs = desk.timeline.nowUs()
  const [seconds, micros] = (await desk.ask('TIME')) as [string, string]
  const us = Number(seconds) * 1_000_000 + Number(micros)
  assert.ok(us >= beforeUs && us <= desk.timeline.nowUs())
  assert.ok(Number(micros) < 1_000_000)
})

test('a single server refuses commands about clusters', async () => {
  const desk = new Desk()
  assert.equal(await desk.ask('ACL WHOAMI'), 'default')
  assert.deepEqual(await desk.ask('ROLE'), ['master', 0, []])
  await desk.refuses([
    ['CLUSTER SLOTS', 'ERR This instance has cluster support disabled'],
    ['CLUSTER KEYSLOT x', 'ERR This instance has cluster support disabled'],
    ['CLUSTER', "ERR wrong number of arguments for 'cluster' command"],
    ['ACL NOSUCH x', "ERR unknown subcommand 'NOSUCH'. Try ACL HELP."],
    ['CONFIG GET', "ERR wrong number of arguments for 'config|get' command"],
  ])
})

test('commands without a meaning here are errors that say what to do instead, in either case', async () => {
  const desk = new Desk()
  await desk.refuses([
    [
      'decr order',
      'ERR DECR is not supported: ids are only ever issued, never taken back; use INCR or ID.NEXT, and ID.CREATE … INCREMENT n for a larger distance',
    ],
    [
      ['EVAL', 'return 1', '0'],
      'ERR EVAL is not supported: there are no scripts; take several ids at once with ID.NEXT name COUNT n or ID.RANGE name n',
    ],
    [
      'Config Set x y',
      'ERR CONFIG SET is not supported: settings are changed by flags, environment or the config file, and need a restart',
    ],
    [
      'FLUSHALL',
      'ERR FLUSHALL is not supported: there is no command that drops every generator: ids would repeat; drop them one by one with DEL or ID.DROP',
    ],
  ])
  for (const name of refusals.keys()) {
    assert.match(await desk.error(...name.split('|')), /^ERR [A-Z_ ]+ is not supported: /)
  }
})

test('no command is both answered and refused', () => {
  const desk = new Desk()
  for (const name of refusals.keys()) {
    const [word = '', sub] = name.split('|')
    const command = desk.table.get(word)
    const answered = sub === undefined ? command : command!.subcommands!.find((one) => one.name === sub)
    assert.equal(answered, undefined, name)
  }
})
