/** The URL of the MySQL server behind the proxy, with the user who looks at its tables. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { upstreamUrl } from '../../../src/config/mysql-proxy-settings.ts'

describe('the URL of upstream', () => {
  for (const [given, host, port, user, password] of [
    ['mysql://db.example.org', 'db.example.org', 3306],
    ['mysql://127.0.0.1:3307/', '127.0.0.1', 3307],
    ['mysql://fahao@[::1]:3307', '::1', 3307, 'fahao', ''],
    ['mysql://fahao:secret@db', 'db', 3306, 'fahao', 'secret'],
    ['mysql://fa%3Ahao:s%40c:r%25t@db:1', 'db', 1, 'fa:hao', 's@c:r%t'],
    ['mysql://fahao:p@ss@db', 'db', 3306, 'fahao', 'p@ss'],
  ] as const)
    test(`${given} has its address, its user and its password`, () => {
      const url = upstreamUrl.read(given)
      assert.deepEqual([url.address.host, url.address.port], [host, port])
      assert.deepEqual([url.user, url.password], [user, password])
    })
  test('has TLS with mysqls, and is shown without its password', () => {
    const url = upstreamUrl.read('mysqls://fa%40hao:secret@db')
    assert.equal(url.isTls, true)
    assert.equal(upstreamUrl.show(url), 'mysqls://fa%40hao@db:3306')
  })
  for (const given of [
    'db:3306',
    'postgres://db',
    'mysql://',
    'mysql://fahao:secret@db/shop',
    'mysql://fahao:100%@db',
  ])
    test(`${given} is none, and no password is repeated`, () => {
      assert.throws(() => upstreamUrl.read(given), { code: 'CONFIG', message: /^(?!.*(?:secret|100))/s })
    })
})
