/** Options of a client: what is refused, and why. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ClientOptions, parseUrls, settingsOf } from '../../../client/src/options.ts'

const settings = (urls: string | readonly string[], options: ClientOptions = {}) =>
  settingsOf(parseUrls(urls), options)

describe('options', () => {
  for (const [text, urls, options] of [
    ['0 URLs of nodes are given; give 1 to 100', [], {}],
    [
      'the URL of a node is a text, not undefined; write redis://HOST:7379',
      undefined as unknown as string,
      {},
    ],
    [/have different protocols; give one/, ['redis://a', 'http://a'], {}],
    [/have different logins; give one/, ['redis://alice:a@a', 'redis://alice:b@b'], {}],
    [/'amqp:\/\/\*\*\*@a' is no URL of a node/, 'amqp://alice:secret@a', {}],
    [/is no URL; write redis:/, 'localhost', {}],
    ['a password and a token are given; give one of them', 'http://alice:secret@a', { token: 't' }],
    ['over RESP a token needs username, the name of its user', 'redis://a', { token: 't' }],
    ['timeoutMs is 0; give 1 to 86400000 ms', 'redis://a', { timeoutMs: 0 }],
    // With leases of 15 minutes at most, a renewal would be due at once, and again and again.
    ['horizonMs is 600000; give 1 to 450000 ms', 'redis://a', { horizonMs: 600_000 }],
  ] as const)
    test(`are refused: ${text}`, () => {
      assert.throws(() => settings(urls, options), { code: 'ERR', message: text })
    })

  test('give the login of the URL, unless another one is given', () => {
    const { username, password } = settings('redis://alice:s%40crt@a')
    assert.deepEqual([username, password], ['alice', 's@crt'])
    assert.equal(settings(['redis://a', 'redis://alice:secret@b']).username, 'alice')
    assert.equal(settings('redis://alice:secret@a', { password: 'other' }).password, 'other')
  })
})
