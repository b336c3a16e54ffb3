import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Admission, type AdmissionLimits, noConnections } from '../../../src/listening/admission.ts'

const none = Number.POSITIVE_INFINITY

function start(limits: Partial<AdmissionLimits>) {
  const counts = noConnections()
  const dropped: string[] = []
  const admission = new Admission<string>(
    { connectionsMax: none, connectionsPerAddressMax: none, unauthenticatedConnectionsMax: none, ...limits },
    counts,
    (connection) => dropped.push(connection),
  )
  /** Returns why the connection is refused, if it is. */
  const open = (name: string, { host = '192.0.2.1', pending = true } = {}) => {
    const reason = admission.refusalOf(host)
    if (reason === undefined) admission.add(name, host, pending)
    return reason
  }
  return { admission, counts, dropped, open }
}

describe('when all connections are in use', () => {
  test('a new one takes the place of the oldest pending one', () => {
    const { admission, counts, dropped, open } = start({ connectionsMax: 3 })
    for (const name of ['user', 'first', 'second', 'third', 'fourth']) {
      assert.equal(open(name), undefined)
      if (name === 'user') admission.setPending('user', false)
    }
    assert.deepEqual(dropped, ['first', 'second'])
    assert.deepEqual([...admission.connections], ['user', 'third', 'fourth'])
    assert.deepEqual(counts, {
      connections: 3,
      connectionsTotal: 5,
      pending: 2,
      rejected: { limit: 0, address: 0, pending: 2 },
    })
  })

  test('a new one is refused if none is pending', () => {
    const { counts, dropped, open, admission } = start({ connectionsMax: 2 })
    open('one', { pending: false })
    open('two', { pending: false })
    assert.equal(open('three'), 'limit')
    assert.deepEqual(dropped, [])
    assert.equal(counts.rejected.limit, 1)
    admission.remove('one')
    assert.equal(open('three'), undefined)
  })
})

test('of the pending connections the oldest is dropped beyond their limit, and no other', () => {
  const { admission, counts, dropped, open } = start({ unauthenticatedConnectionsMax: 2 })
  open('user', { pending: false })
  for (const name of ['first', 'second', 'third']) open(name)
  assert.deepEqual(dropped, ['first'])
  admission.setPending('second', false)
  open('fourth')
  assert.deepEqual(dropped, ['first'])
  assert.equal(counts.pending, 2)
})

test('a connection that becomes pending again is the newest of these', () => {
  const { admission, dropped, open } = start({ unauthenticatedConnectionsMax: 2 })
  open('reset', { pending: false })
  open('first')
  open('second')
  admission.setPending('reset', true)
  open('third')
  assert.deepEqual(dropped, ['first', 'second'])
})

test('a network has a limit of its own, which pending connections of others do not touch', () => {
  const { admission, counts, dropped, open } = start({ connectionsPerAddressMax: 2 })
  const hosts = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1']
  assert.deepEqual(
    hosts.map((host) => open(host, { host })),
    [undefined, undefined, 'address', undefined],
  )
  assert.deepEqual([dropped, counts.rejected.address], [[], 1])
  admission.remove('2001:db8::1')
  assert.equal(open('again', { host: '2001:db8::3' }), undefined)
})

test('a connection that has ended, or was dropped, is counted once', () => {
  const { admission, counts, open } = start({ connectionsMax: 1 })
  open('first')
  open('second')
  for (const name of ['first', 'second', 'second']) {
    admission.setPending(name, true)
    admission.remove(name)
  }
  assert.deepEqual([admission.size, counts.connections, counts.pending], [0, 0, 0])
})
