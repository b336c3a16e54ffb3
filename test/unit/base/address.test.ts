import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, addressText, networkOf, networksOf } from '../../../src/base/address.ts'

test('an address survives its text, of either family', () => {
  for (const address of [
    { host: '127.0.0.1', port: 7379 },
    { host: '::1', port: 0 },
    { host: 'ids.example', port: 65_535 },
  ]) {
    assert.deepEqual(addressOf(addressText(address)), address)
  }
})

test('a network is a whole IPv4 address, or the first 64 bits of an IPv6 address', () => {
  const networks: Readonly<Record<string, string>> = {
    '192.0.2.7': '192.0.2.7',
    '::ffff:192.0.2.7': '192.0.2.7',
    '::1': '0:0:0:0::/64',
    '2001:db8::7': '2001:db8:0:0::/64',
    '2001:db8:1:2::7': '2001:db8:1:2::/64',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1::3:4:5:6': '2001:db8:1:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '64:ff9b::192.0.2.7': '64:ff9b:0:0::/64',
  }
  for (const [host, network] of Object.entries(networks)) assert.equal(networkOf(host), network)
})

test('the networks of an address are those that one party may have been given, the widest first', () => {
  const groups = {
    '10.1.2.3': ['10.1', '10.1.2', '10.1.2.3'],
    '::ffff:10.1.2.3': ['10.1', '10.1.2', '10.1.2.3'],
    '2001:db8:7:abcd::1': ['2001:db8:7', '2001:db8:7:ab', '2001:db8:7:abcd::/64'],
    '2001:db8:7:cd::1': ['2001:db8:7', '2001:db8:7:00', '2001:db8:7:cd::/64'],
    '::1': ['0:0:0', '0:0:0:00', '0:0:0:0::/64'],
    '': ['', '', ''],
  }
  for (const [host, networks] of Object.entries(groups))
    assert.deepEqual(networksOf(networkOf(host)), networks)
})
