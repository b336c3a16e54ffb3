import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { accessOf } from '../../../../src/engine/sql/url.ts'
import { temporaryFolder } from '../../../launch/places.ts'

const read = (location: string) => accessOf('mysql', location, 3306)

describe('the URL of a database', () => {
  test('names the user, the address and the database, with percent escapes decoded', () => {
    const access = read('//a%40b:p%3Aw%2F%25@db.example:4000/ids%20x')
    assert.equal(access.user, 'a@b')
    assert.equal(access.password, 'p:w/%')
    assert.equal(access.host, 'db.example')
    assert.equal(access.port, 4000)
    assert.equal(access.database, 'ids x')
    assert.equal(access.pool, 4)
    assert.equal(access.tls, undefined)
  })

  test('may name the default port, an IPv6 address or a socket', () => {
    assert.equal(read('//u@h/d').port, 3306)
    assert.equal(read('//u:p@[::1]:99/d').host, '::1')
    assert.equal(read('//u@localhost/d?socket=/run/db.sock').socket, '/run/db.sock')
  })

  test('shows no password in its location, and none in any message', () => {
    assert.equal(read('//u:secret@h:1/d?pool=2').location, 'mysql://u@h:1/d')
    for (const wrong of [
      '//u:secret@h',
      '//u:secret@/',
      '//:secret@h/d',
      'u:secret@h/d',
      '//u:secret@h:x/d',
      '//u:%secret@h/d',
    ])
      assert.throws(
        () => read(wrong),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, 'CONFIG')
          assert.doesNotMatch(error.message, /secret/)
          assert.match(error.message, /mysql:\/\/user:password@host\/database/)
          return true
        },
      )
  })

  test('is refused with an unknown parameter, one that is given twice, or one out of range, and the message lists the known ones', () => {
    assert.throws(() => read('//u@h/d?poool=2'), {
      code: 'CONFIG',
      message: /'poool'; use pool, socket, sslmode/,
    })
    assert.throws(() => read('//u@h/d?pool=2&pool=3'), { code: 'CONFIG', message: /twice/ })
    for (const pool of ['0', '65', '-1', '2.5', 'x', ''])
      assert.throws(() => read(`//u@h/d?pool=${pool}`), { code: 'CONFIG', message: /1 to 64/ })
    assert.equal(read('//u@h/d?pool=64').pool, 64)
  })

  test('sets the encryption, and how strictly the server is checked', (t) => {
    const ca = join(temporaryFolder(t), 'ca.pem')
    writeFileSync(ca, 'the authority')
    const tls = (parameters: string) => read(`//u@h/d?${parameters}`).tls
    assert.equal(tls('sslmode=disable'), undefined)
    assert.deepEqual(tls('sslmode=require'), { rejectUnauthorized: false, anyName: true, pem: {} })
    assert.deepEqual(tls(`sslmode=verify-ca&sslrootcert=${ca}`), {
      rejectUnauthorized: true,
      anyName: true,
      pem: { ca: 'the authority' },
    })
    assert.deepEqual(tls('sslmode=verify-full'), { rejectUnauthorized: true, anyName: false, pem: {} })
    assert.throws(() => tls('sslmode=prefer'), { code: 'CONFIG', message: /disable, require/ })
    assert.throws(() => tls(`sslrootcert=${ca}`), { code: 'CONFIG', message: /needs sslmode/ })
    assert.throws(() => tls('sslmode=require&sslkey=/nowhere'), {
      code: 'CONFIG',
      message: /sslkey.*cannot be read/,
    })
  })
})
