/** The meaning of the drivers' errors: a refused write has changed nothing, and a lost one may have been carried out. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { mysqlFailure } from '../../../../src/engine/mysql/driver.ts'
import { postgresFailure } from '../../../../src/engine/postgres/driver.ts'

function withCode(code: string, message = 'as the server says'): Error {
  return Object.assign(new Error(message), { code })
}

function withNumber(errno: number, message = 'as the server says'): Error {
  return Object.assign(new Error(message), { errno, code: 'ER_X' })
}

describe("an error of PostgreSQL's", () => {
  test('is a refusal if the server has rolled back: nothing was changed', () => {
    for (const state of ['25006', '53100', '53300', '57P03', '42601', '22003', '23505'])
      assert.equal(postgresFailure(withCode(state)).kind, 'refused', state)
  })

  test("is a refusal because of another session's lock if the statement waited for one", () => {
    for (const state of ['40001', '40P01', '55P03'])
      assert.equal(postgresFailure(withCode(state)).kind, 'contended', state)
  })

  test('leaves the outcome of a write unknown if it comes from the network, a shutdown or a cancellation', () => {
    for (const code of [
      'ECONNRESET',
      'EPIPE',
      'ECONNREFUSED',
      '57P01',
      '57P02',
      '57014',
      '08006',
      'XX000',
      '40003',
    ])
      assert.equal(postgresFailure(withCode(code)).kind, 'lost', code)
    for (const thrown of [new Error('Connection terminated unexpectedly'), undefined, null, 'text', {}])
      assert.equal(postgresFailure(thrown).kind, 'lost')
  })

  test('is lasting if an operator has to act, and passing otherwise', () => {
    for (const state of ['28P01', '28000', '3D000', '42501'])
      assert.equal(postgresFailure(withCode(state)).kind, 'denied', state)
    assert.equal(postgresFailure(withCode('42P01')).kind, 'missing')
  })

  test("names the remedy, and the server's own words", () => {
    const { message } = postgresFailure(withCode('25006', 'cannot execute UPDATE in a read-only transaction'))
    assert.match(message, /look for the primary.*\(cannot execute UPDATE/)
    const both = new AggregateError([withCode('ECONNREFUSED', 'connect ECONNREFUSED ::1:5432')])
    assert.match(postgresFailure(both).message, /ECONNREFUSED ::1:5432/)
  })
})

describe("an error of MySQL's", () => {
  test('is a refusal if the server has refused the statement: nothing was changed', () => {
    for (const number of [1290, 1792, 1836, 1040, 1064, 1406, 1690, 1114])
      assert.equal(mysqlFailure(withNumber(number)).kind, 'refused', String(number))
    for (const number of [1205, 1213])
      assert.equal(mysqlFailure(withNumber(number)).kind, 'contended', String(number))
  })

  test('leaves the outcome of a write unknown if it comes from the network, a shutdown or a failed commit', () => {
    for (const number of [1053, 1080, 1180, 1317, 1927, 2006, 2013, -104, -111])
      assert.equal(mysqlFailure(withNumber(number)).kind, 'lost', String(number))
    for (const thrown of [new Error('Connection lost'), undefined, null, 'text', {}])
      assert.equal(mysqlFailure(thrown).kind, 'lost')
  })

  test('is lasting if an operator has to act, and passing otherwise', () => {
    for (const number of [1044, 1045, 1049, 1142])
      assert.equal(mysqlFailure(withNumber(number)).kind, 'denied')
    assert.equal(mysqlFailure(withNumber(1146)).kind, 'missing')
  })

  test('is lasting if it concerns TLS or the host name', () => {
    const lasting = [
      'ENOTFOUND',
      'HANDSHAKE_NO_SSL_SUPPORT',
      'CERT_HAS_EXPIRED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    ]
    for (const code of lasting) assert.equal(mysqlFailure(withCode(code)).kind, 'denied', code)
    const refusal = new Error('The server does not support SSL connections')
    assert.equal(postgresFailure(refusal).kind, 'denied')
    assert.match(
      postgresFailure(withCode('ENOTFOUND', 'getaddrinfo ENOTFOUND db')).message,
      /is it spelled right/,
    )
  })

  test("names the remedy, and the server's own words", () => {
    const said = 'The MariaDB server is running with the --read-only option'
    assert.match(mysqlFailure(withNumber(1290, said)).message, /look for the primary.*\(The MariaDB server/)
  })
})
