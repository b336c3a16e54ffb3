import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Machine,
  parseWorkerStrategy,
  proposeWorkerId,
  sharedProposal,
  thisMachine,
  workerStrategyText,
} from '../../../src/config/worker-strategy.ts'

const machine: Machine = { env: {}, hostname: 'localhost', addresses: [] }

function propose(strategy: string, about: Partial<Machine> = {}): number | undefined {
  return proposeWorkerId(parseWorkerStrategy(strategy), { ...machine, ...about })
}

function refused(strategy: string, about: Partial<Machine>, message: RegExp): void {
  assert.throws(
    () => propose(strategy, about),
    (error: Error & { code: string }) =>
      error.code === 'WORKERID' && message.test(error.message) && /--worker-id pool/.test(error.message),
  )
}

test('pool proposes no id, static its number', () => {
  assert.equal(propose('pool'), undefined)
  assert.equal(propose('static:0'), 0)
  assert.equal(propose('static:65535'), 65_535)
})

test('env reads a variable of any name', () => {
  assert.equal(propose('env:POD_INDEX', { env: { POD_INDEX: '12' } }), 12)
  refused('env:POD_INDEX', {}, /POD_INDEX is not set/)
  refused('env:POD_INDEX', { env: { POD_INDEX: '' } }, /POD_INDEX is not set/)
  for (const value of ['65536', '-1', '1.5', '0x1', ' 1', '9'.repeat(20)]) {
    refused('env:POD_INDEX', { env: { POD_INDEX: value } }, /POD_INDEX gives the worker id .* 0 to 65535/)
  }
})

describe('hostname', () => {
  test('reads the digits at the end as decimal', () => {
    assert.equal(propose('hostname', { hostname: 'order-01' }), 1)
    assert.equal(propose('hostname', { hostname: 'node12' }), 12)
    assert.equal(propose('hostname', { hostname: 'a-010' }), 10)
  })

  test('explains how to name hosts if there are no digits, or too many', () => {
    refused('hostname', { hostname: 'order' }, /order ends in no digits; name hosts like order-01/)
    refused('hostname', { hostname: 'web1.example.org' }, /ends in no digits/)
    refused('hostname', { hostname: 'i-0123456789' }, /from 0 to 65535/)
  })
})

describe('ordinal', () => {
  test('accepts the names of a StatefulSet', () => {
    assert.equal(propose('ordinal', { hostname: 'fahao-0' }), 0)
    assert.equal(propose('ordinal', { hostname: 'fahao-17' }), 17)
  })

  test('refuses the random names of a Deployment, which hostname would misread', () => {
    assert.equal(propose('hostname', { hostname: 'fahao-7d9f8b6c5-x2x45' }), 45)
    for (const hostname of ['fahao-7d9f8b6c5-x2x45', 'fahao', 'fahao-01', 'fahao7']) {
      refused('ordinal', { hostname }, /does not end in an ordinal/)
    }
  })
})

describe('addresses', () => {
  test('ip-low-bits takes the last 10 bits of the first IPv4 address', () => {
    assert.equal(propose('ip-low-bits', { addresses: ['192.168.1.108'] }), 0b01_0110_1100)
    assert.equal(propose('ip-low-bits', { addresses: ['10.0.7.255', '10.0.0.1'] }), 1023)
    assert.equal(propose('ip-low-bits', { addresses: ['fd00::1', '10.0.4.9'] }), 9)
    refused('ip-low-bits', { addresses: [] }, /no address but loopback; set static:N/)
  })

  test('ip-low-bits takes those of the first IPv6 address where there is no IPv4 one', () => {
    assert.equal(propose('ip-low-bits', { addresses: ['fd00::1'] }), 1)
    assert.equal(propose('ip-low-bits', { addresses: ['fd00::a:27ff', 'fd00::2'] }), 0x3ff)
    assert.equal(propose('ip-low-bits', { addresses: ['2001:db8::192.168.1.108'] }), 0b01_0110_1100)
  })

  test('may have the length of their prefix', () => {
    assert.equal(propose('ip-low-bits', { addresses: ['10.0.4.9/16'] }), 9)
    assert.equal(propose('ipv6-low-bits', { addresses: ['fd00::a:27ff/64'] }), 0x3ff)
    assert.equal(propose('ip-sum', { addresses: ['10.0.0.1/8'] }), 11)
  })

  test('ip-sum adds the bytes of an IPv4 address', () => {
    assert.equal(propose('ip-sum', { addresses: ['192.168.1.108'] }), 192 + 168 + 1 + 108)
    assert.equal(propose('ip-sum', { addresses: ['fd00::1', '10.0.0.1'] }), 11)
  })

  test('ip-sum adds the low 6 bits of each byte of an IPv6 address', () => {
    const sums = {
      '2000:0:0:0:1428:0:57ab:1': 0x20 + 0x14 + 0x28 + (0x57 & 63) + (0xab & 63) + 1,
      'fd00::1': (0xfd & 63) + 1,
      '::ffff:10.0.0.1': 63 + 63 + 10 + 1,
      'fd12:3456:789a::': (0xfd & 63) + 0x12 + 0x34 + (0x56 & 63) + (0x78 & 63) + (0x9a & 63),
      'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff': 16 * 63,
    }
    for (const [address, sum] of Object.entries(sums)) {
      assert.equal(propose('ip-sum', { addresses: [address] }), sum, address)
    }
    refused('ip-sum', {}, /no address but loopback; set static:N/)
  })

  test('low bits are as many as asked for', () => {
    assert.equal(propose('ip-low-bits:16', { addresses: ['10.0.7.255'] }), 0x7ff)
    assert.equal(propose('ip-low-bits:1', { addresses: ['fd00::3'] }), 1)
    assert.equal(propose('ipv6-low-bits:16', { addresses: ['fd00::abcd:ef12'] }), 0xef12)
    assert.equal(propose('ipv6-low-bits:5', { addresses: ['fd00::ff'] }), 31)
    for (const bits of ['0', '17', '1.5', '05', 'x', '-1', '100']) {
      for (const by of ['ip-low-bits', 'ipv6-low-bits']) {
        assert.throws(() => parseWorkerStrategy(`${by}:${bits}`), {
          code: 'CONFIG',
          message: /from 1 to 16/,
        })
      }
    }
  })

  test('ipv6-low-bits and ipv6-sum take the first IPv6 address, also where an IPv4 one comes first', () => {
    const addresses = ['10.0.0.9', '2001:db8::a00:27ff:fe4e:441b', 'fd00::7']
    assert.equal(propose('ipv6-low-bits', { addresses }), 0x01b)
    assert.equal(
      propose('ipv6-sum', { addresses }),
      0x20 + 1 + 13 + 0x38 + 10 + 0x27 + 63 + 62 + 14 + 4 + 0x1b,
    )
    for (const strategy of ['ipv6-low-bits', 'ipv6-sum']) {
      refused(strategy, { addresses: ['10.0.0.9'] }, /no IPv6 address but loopback and link-local/)
      refused(strategy, {}, /no address but loopback; set static:N/)
    }
  })

  test('are warned of where another machine can have the same id', () => {
    const shared = (strategy: string, ...addresses: string[]) =>
      sharedProposal(parseWorkerStrategy(strategy), { ...machine, addresses })
    const generated = '2001:db8::a00:27ff:fe4e:441b'
    assert.match(
      shared('ipv6-low-bits', '10.0.0.9', generated) ?? '',
      /low 10 bits.*stores issue the same ids/,
    )
    assert.match(shared('ip-low-bits:16', generated) ?? '', /low 16 bits/)
    assert.match(shared('ipv6-low-bits', 'fd00::400') ?? '', /low 10 bits/)
    assert.match(shared('ip-low-bits:5', '10.0.0.5/24') ?? '', /low 5 bits of an IPv4 .* has 8 for its hosts/)
    assert.match(shared('ip-low-bits', '10.0.4.5/16') ?? '', /low 10 bits of an IPv4 .* has 16 for its hosts/)
    assert.match(shared('ipv6-low-bits', '2001:db8:1::5/32') ?? '', /low 10 bits of an IPv6/)
    assert.match(shared('ip-sum', '10.0.0.9') ?? '', /sum/)
    assert.match(shared('ipv6-sum', 'fd00::1') ?? '', /sum/)
    for (const [strategy, address] of [
      ['ipv6-low-bits', 'fd00:1:2:3::3ff'],
      ['ipv6-low-bits:16', 'fd00::ffff'],
      ['ip-low-bits', '10.0.0.9'],
      ['ip-low-bits', '10.0.7.9/22'],
      ['ip-low-bits:5', '10.0.0.33/27'],
      ['ipv6-low-bits', '2001:db8::1b/64'],
      ['ipv6-low-bits', '2001:db8::1b/128'],
      ['static:3', generated],
      ['pool', generated],
    ] as const) {
      assert.equal(shared(strategy, address), undefined, strategy)
    }
  })

  test('of this machine leave out addresses that every machine has', () => {
    for (const address of thisMachine().addresses)
      assert.doesNotMatch(address, /^(?:127\.|::1$|fe80:|169\.254)/)
  })
})

test('a strategy is written in the form that is read', () => {
  for (const text of [
    'pool',
    'static:7',
    'env:A',
    'hostname',
    'ordinal',
    'ip-low-bits',
    'ip-low-bits:16',
    'ip-sum',
    'ipv6-low-bits',
    'ipv6-low-bits:5',
    'ipv6-sum',
  ]) {
    assert.equal(workerStrategyText(parseWorkerStrategy(text)), text)
  }
})

test('an unknown strategy is refused, and the error lists the known ones', () => {
  for (const text of [
    '',
    'static',
    'static:',
    'static:x',
    'static:65536',
    'env:',
    'Pool',
    'ip',
    'pool:1',
    'hostname:2',
    'ipv6-sum:3',
    'ipv6-low-bits:',
  ]) {
    assert.throws(() => parseWorkerStrategy(text), { code: 'CONFIG' }, text)
  }
})
