import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadConfig, settingsText } from '../../../src/config/load-config.ts'

type Flags = Readonly<Record<string, string | boolean | readonly string[]>>

const load = (flags: Flags) => loadConfig({ flags })
const shown = (flags: Flags, name: string) => new Map(settingsText(load(flags).config)).get(name)

function refusal(flags: Flags): string {
  try {
    load(flags)
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'CONFIG')
    return (error as Error).message
  }
  return assert.fail('it was not refused')
}

describe('compat', () => {
  test('accepts names separated by commas or white space, or a list', () => {
    for (const compat of ['leaf,tinyid', 'leaf tinyid', 'leaf, tinyid,leaf', ['leaf', 'tinyid']]) {
      assert.deepEqual(load({ compat }).config.compat, ['leaf', 'tinyid'])
      assert.equal(shown({ compat }, 'compat'), 'leaf tinyid')
    }
    assert.deepEqual(load({}).config.compat, [])
  })

  test('refuses an unknown name, and lists the known ones', () => {
    assert.equal(
      refusal({ compat: 'leaf,tinyd' }),
      "--compat: 'tinyd' is no API that can be served; known are leaf, idbuilder, tinyid, cosid",
    )
  })
})

describe('compat-http', () => {
  test('accepts an address for each API', () => {
    const given = ['leaf=127.0.0.1:8080', 'tinyid=[::1]:9999']
    assert.deepEqual(load({ 'compat-http': given }).config.compatHttp, [
      { api: 'leaf', address: { host: '127.0.0.1', port: 8080 } },
      { api: 'tinyid', address: { host: '::1', port: 9999 } },
    ])
    assert.equal(shown({ 'compat-http': given }, 'compat-http'), given.join(' '))
  })

  test('refuses invalid values', () => {
    assert.match(refusal({ 'compat-http': '127.0.0.1:8080' }), /write API=HOST:PORT, such as leaf=127/)
    assert.match(refusal({ 'compat-http': 'lef=127.0.0.1:8080' }), /known are leaf, idbuilder, tinyid, cosid/)
    assert.match(refusal({ 'compat-http': 'leaf=8080' }), /'8080' is no address/)
  })
})

describe('tinyid-tokens', () => {
  test('accepts a token and a pattern; a token may have the characters of base64', () => {
    const base64 = 'a+b/c0123456789=='
    assert.deepEqual(
      load({ 'tinyid-tokens': [`${base64}=order*`, 'x-0123456789abcdef=*'] }).config.tinyidTokens,
      [
        { token: base64, pattern: 'order*' },
        { token: 'x-0123456789abcdef', pattern: '*' },
      ],
    )
  })

  test('never shows a token, not even in an error', () => {
    assert.equal(
      shown({ 'tinyid-tokens': 'secret-0123456789=order* other-0123456789=x' }, 'tinyid-tokens'),
      '***=order* ***=x',
    )
    for (const wrong of ['secret', 'x-0123456789abcdef=y secret=', '=secret']) {
      const message = refusal({ 'tinyid-tokens': wrong })
      assert.match(message, /rule [12] is none; write TOKEN=PATTERN/)
      assert.doesNotMatch(message, /secret/)
    }
  })

  test('has at least 16 characters', () => {
    assert.equal(load({ 'tinyid-tokens': '0123456789abcdef=*' }).config.tinyidTokens.length, 1)
    const message = refusal({ 'tinyid-tokens': 'x-0123456789abcdef=y k7q2k7q2k7q2k7q=order*' })
    assert.match(message, /rule 2 has a token of 15 characters, which can be guessed; give one of 16 or more/)
    assert.doesNotMatch(message, /k7q2/)
  })
})
