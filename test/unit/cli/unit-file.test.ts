/** The systemd unit of the Debian package. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

const unit = readFileSync(new URL('../../../packaging/deb/fahao.service', import.meta.url), 'utf8')
const settings = unit
  .split('\n')
  .filter((line) => line.includes('='))
  .map((line) => line.split(/=(.*)/s, 2) as [name: string, value: string])
const valuesOf = (name: string) => settings.filter(([each]) => each === name).map(([, value]) => value)

/** What costs most in `systemd-analyze security` where it is missing. */
const restrictions: readonly (readonly [name: string, value: string])[] = [
  ['CapabilityBoundingSet', ''],
  ['DevicePolicy', 'closed'],
  ['PrivateUsers', 'yes'],
  ['ProtectClock', 'yes'],
  ['ProtectControlGroups', 'yes'],
  ['ProtectHome', 'yes'],
  ['ProtectKernelLogs', 'yes'],
  ['ProtectKernelModules', 'yes'],
  ['ProtectKernelTunables', 'yes'],
  ['ProtectSystem', 'strict'],
  ['RestrictNamespaces', 'yes'],
  ['SystemCallArchitectures', 'native'],
]

describe('the systemd unit', () => {
  test('takes from the process what a node does not use', () => {
    for (const [name, value] of restrictions) assert.deepEqual(valuesOf(name), [value], name)
    assert.deepEqual(valuesOf('SystemCallFilter'), ['@system-service', '~@privileged @resources'])
  })

  test('starts it again for ever, and leaves its memory in no file', () => {
    assert.deepEqual(['Restart', 'StartLimitIntervalSec', 'LimitCORE'].flatMap(valuesOf), [
      'always',
      '0',
      '0',
    ])
  })

  test('leaves it what a node uses', () => {
    assert.deepEqual(valuesOf('MemoryDenyWriteExecute'), [], 'Node.js compiles at run time')
    assert.deepEqual(valuesOf('PrivateDevices'), [], 'the clock of the virtual machine is a device')
    assert.deepEqual(valuesOf('DeviceAllow'), ['/dev/vmclock0 r'])
    assert.match(valuesOf('RestrictAddressFamilies').join(), /AF_NETLINK/, 'for the addresses of the machine')
    assert.deepEqual(valuesOf('StateDirectory'), ['fahao'])
    const settings = readFileSync(new URL('../../../packaging/deb/fahao.yaml', import.meta.url), 'utf8')
    assert.match(settings, /^engine: sqlite:\/var\/lib\/fahao\//m)
  })
})
