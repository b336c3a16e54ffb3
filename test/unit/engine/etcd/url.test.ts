import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { addressOf } from '../../../../src/engine/etcd/url.ts'
import { temporaryFolder } from '../../../launch/places.ts'

describe('the URL of an etcd', () => {
  test('names members, each with a port or the default, and a prefix or the default', async () => {
    const { endpoints, prefix, user, tls, location } = await addressOf('etcd', '//h1:2379,h2,10.0.0.3:99')
    assert.deepEqual(endpoints, ['h1:2379', 'h2:2379', '10.0.0.3:99'])
    assert.deepEqual([prefix, user, tls], ['fahao', undefined, undefined])
    assert.equal(location, 'etcd://h1:2379,h2:2379,10.0.0.3:99/fahao')
    assert.equal((await addressOf('etcd', '//h1/a/b%20c/')).prefix, 'a/b c')
    assert.deepEqual((await addressOf('etcd', '//[::1],[::2]:99/')).endpoints, ['[::1]:2379', '[::2]:99'])
  })

  test('accepts a user and a password, and shows neither', async () => {
    const { user, location } = await addressOf('etcd', '//root:p%40ss%3Aword@h1/x')
    assert.deepEqual(user, { name: 'root', password: 'p@ss:word' })
    assert.equal(location, 'etcd://h1:2379/x')
  })

  test('names files of certificates', async (t) => {
    const file = join(temporaryFolder(t), 'x.pem')
    writeFileSync(file, 'pem')
    const { tls } = await addressOf('etcds', `//h1/x?ca=${file}&cert=${file}&key=${file}`)
    assert.deepEqual(tls, { ca: Buffer.from('pem'), cert: Buffer.from('pem'), key: Buffer.from('pem') })
    assert.deepEqual((await addressOf('etcds', '//h1/x')).tls, {})
  })

  test('that is invalid is refused with a reason, which never contains the password', async () => {
    const wrong: [scheme: 'etcd' | 'etcds', rest: string, message: RegExp][] = [
      ['etcd', '', /etcd:\/\/host1/],
      ['etcd', 'h1', /etcd:\/\/host1/],
      ['etcd', '//', /etcd:\/\/host1/],
      ['etcd', '//h1,,h2', /HOST:PORT/],
      ['etcd', '//h1:port', /HOST:PORT/],
      ['etcd', '//h1//x', /one slash/],
      ['etcd', '//secret@h1', /user:password@/],
      ['etcd', '//a:secret@secret@h1', /etcd:\/\/host1/],
      ['etcd', '//a:secret%@h1', /%25/],
      ['etcd', '//h1/x?ca=y', /etcds:/],
      ['etcds', '//h1/x?timeout=3', /'timeout'/],
      ['etcds', '//h1/x?cert=/dev/null', /belong together/],
      ['etcds', '//h1/x?ca=/nowhere', /cannot be read/],
    ]
    for (const [scheme, rest, message] of wrong) {
      await assert.rejects(addressOf(scheme, rest), (error: { code?: string; message: string }) => {
        assert.equal(error.code, 'CONFIG')
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /secret/)
        return true
      })
    }
  })
})
