import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addressText } from '../../../src/base/address.ts'
import { loadConfig } from '../../../src/node/config.ts'
import type { Config } from '../../../src/node/config-schema.ts'
import { configsOf } from '../../../src/node/processes.ts'

type Flags = Readonly<Record<string, string>>

function configured(flags: Flags): Config {
  return loadConfig({ flags: { cluster: 'ids', engine: 'etcd://127.0.0.1/ids', ...flags } }).config
}

function portsOf({ resp, http, announce, announceHttp, compatHttp }: Config): (string | undefined)[] {
  const doors = [resp, http, announce, announceHttp, ...compatHttp.map(({ address }) => address)]
  return doors.map((door) => door && addressText(door))
}

describe('configurations of several processes', () => {
  test('differ in ports alone, in all that are listened on or announced', () => {
    const flags = { 'announce-http': 'a.example:80', 'compat-http': 'leaf=127.0.0.1:8080 tinyid=[::1]:9000' }
    const config = configured({ ...flags, announce: '10.0.0.1:100', processes: '3', shards: '4' })
    const own = configsOf(config)
    assert.deepEqual(own[0], config)
    assert.deepEqual(own.map(portsOf), [
      ['127.0.0.1:7379', '127.0.0.1:7380', '10.0.0.1:100', 'a.example:80', '127.0.0.1:8080', '[::1]:9000'],
      ['127.0.0.1:7381', '127.0.0.1:7382', '10.0.0.1:102', 'a.example:82', '127.0.0.1:8082', '[::1]:9002'],
      ['127.0.0.1:7383', '127.0.0.1:7384', '10.0.0.1:104', 'a.example:84', '127.0.0.1:8084', '[::1]:9004'],
    ])
    const { resp, http, announce, announceHttp, compatHttp, ...rest } = config
    for (const each of own)
      assert.deepEqual({ ...each, resp, http, announce, announceHttp, compatHttp }, config)
    assert.deepEqual(rest.compat, [])
  })

  test('keep closed what is closed, and follow what they listen on where nothing is announced', () => {
    const own = configsOf(configured({ processes: '2', http: 'off' }))
    assert.deepEqual(
      own.map(portsOf),
      [7379, 7381].map((port) => [`127.0.0.1:${port}`, undefined, undefined, undefined]),
    )
  })

  test('pass unharmed through the channel between processes', () => {
    const config = configured({ processes: '2', 'incrby-max': '1000000000000000000' })
    assert.deepEqual(structuredClone(configsOf(config)), configsOf(config))
  })
})

describe('several processes are refused', () => {
  const cases: [given: Flags, reason: RegExp][] = [
    [{ cluster: '' }, /--processes: each process is a node of a cluster; name it with --cluster/],
    [
      { 'worker-id': 'static:3' },
      /--worker-id: this gives each process the same worker id; .* --worker-id pool/,
    ],
    [{ 'worker-id': 'ordinal' }, /--worker-id: this gives each process the same worker id/],
    [{ 'node-index': '1' }, /--node-index: this gives each process the same number/],
    [{ resp: '127.0.0.1:0' }, /--resp: .* from 0 does not work for 3; give a port from 1 to 65531/],
    [{ http: '127.0.0.1:65532' }, /--http: .* from 65532 does not work for 3; give a port from 1 to 65531/],
    [{ announce: 'a:65534' }, /--announce: .* from 65534 does not work for 3/],
    [{ 'announce-http': 'a:65534' }, /--announce-http: .* from 65534 does not work for 3/],
    [{ 'compat-http': 'leaf=127.0.0.1:65533' }, /--compat-http: .* from 65533 does not work for 3/],
    [{ http: '127.0.0.1:7381' }, /--http: port 7381 is also that of process 2, .*, or at least 6$/],
    [{ http: '127.0.0.1:7375' }, /resp, which nothing sets: port 7379 is also that of process 3/],
    [{ announce: 'a:100', 'announce-http': 'a:102' }, /--announce-http: port 102 is also that of process 2/],
    [{ announce: 'a:7378' }, /http, which nothing sets: port 7380 is also that of process 2/],
    [{ 'compat-http': 'leaf=127.0.0.1:7383' }, /--compat-http: port 7383 is also that of process 3/],
  ]
  for (const [given, reason] of cases) {
    const text = Object.entries(given).flat().join(' ')
    test(`with ${text}, which one alone may have`, () => {
      assert.throws(() => configured({ processes: '3', ...given }), reason)
      configured({ ...given })
    })
  }

  test('but not over ports that only look near', () => {
    for (const http of [7378, 7380, 7384, 7373, 7385, 65_531])
      configured({ processes: '3', http: `127.0.0.1:${http}` })
  })

  test('as one process is that could not be found', () => {
    const reason = /clients find the nodes of a cluster by their RESP addresses, and resp is off; give it one/
    assert.throws(() => configured({ processes: '2', resp: 'off' }), reason)
    const open = { resp: '0.0.0.0:7379', insecure: 'on' }
    assert.throws(() => configured({ processes: '2', ...open }), /set --announce HOST:PORT/)
    configured({ processes: '2', ...open, announce: '10.0.0.1:7379' })
  })

  test('with a number that is none', () => {
    for (const processes of ['0', '65', 'auto'])
      assert.throws(() => configured({ processes }), /--processes: /)
  })
})
