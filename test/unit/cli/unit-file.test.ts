/** The systemd unit that running.md shows. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

const page = readFileSync(new URL('../../../docs/operating/running.md', import.meta.url), 'utf8')
const unit = /```ini\n(\[Unit\]\n[^`]*)```/.exec(page)?.[1] ?? ''
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

describe('the systemd unit in the documentation', () => {
  test('takes from the process what a node does not use', () => {
    for (const [name, value] of restrictions) assert.deepEqual(valuesOf(name), [value], name)
    assert.deepEqual(valuesOf('SystemCallFilter'), ['@system-service', '~@privileged @resources'])
  })

  test('leaves it what a node uses', () => {
    assert.deepEqual(valuesOf('MemoryDenyWriteExecute'), [], 'Node.js compiles at run time')
    assert.deepEqual(valuesOf('PrivateDevices'), [], 'the clock of the virtual machine is a device')
    assert.deepEqual(valuesOf('DeviceAllow'), ['/dev/vmclock0 r'])
    assert.match(valuesOf('RestrictAddressFamilies').join(), /AF_NETLINK/, 'for the addresses of the machine')
    assert.deepEqual(valuesOf('StateDirectory'), ['fahao'])
    assert.match(valuesOf('ExecStart').join(), /--engine sqlite:\/var\/lib\/fahao\//)
  })
})
