import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isHttp, splitLine } from '../../../src/resp/inline.ts'

/** What Redis 7.0 makes of these lines; undefined: unbalanced quotes. */
const cases: readonly (readonly [line: string, words: readonly string[] | undefined])[] = [
  ['', []],
  [' \t\v\f\r ', []],
  ['PING', ['PING']],
  ['  SET  key   1 ', ['SET', 'key', '1']],
  ['PING\tx', ['PING', 'x']],
  ['PING\vx', ['PING\vx']],
  ['\v\fPING x', ['PING', 'x']],
  ['PING "a\\x41\\n\\r\\t\\b\\a\\q\\"\\\\"', ['PING', 'aA\n\r\t\b\x07q"\\']],
  ['PING "\\x4"', ['PING', 'x4']],
  ['PING "\\xzz"', ['PING', 'xzz']],
  ['PING "\\xfF"', ['PING', '\xff']],
  ["PING 'it\\'s \\n'", ['PING', "it's \\n"]],
  ['PING ""', ['PING', '']],
  ["PING ''", ['PING', '']],
  ['PING a"b c"', ['PING', 'ab c']],
  ["PING a'b c' d", ['PING', 'ab c', 'd']],
  ['PING "it\'s"', ['PING', "it's"]],
  ['PING a\0b c', ['PING', 'a']],
  ['PING "a"b', undefined],
  ['PING a"b"c', undefined],
  ["PING 'a'b", undefined],
  ['PING "a', undefined],
  ["PING 'a", undefined],
  ['PING "a\\"', undefined],
  ['PING "a\\', undefined],
  ["PING 'a\\'", undefined],
  ['PING "a\0"', undefined],
]

describe('splitting a line into words', () => {
  for (const [line, expected] of cases) {
    test(JSON.stringify(line), () => {
      const words = splitLine(Buffer.from(line, 'latin1'))
      assert.deepEqual(
        words?.map((word) => Buffer.from(word).toString('latin1')),
        expected,
      )
    })
  }
})

describe('recognising HTTP', () => {
  const http = (...words: string[]) => isHttp(words.map((word) => Buffer.from(word)))

  test('is recognised by the first word, as in Redis, and by the version at the end', () => {
    assert.ok(http('POST', '/v1/generators', 'HTTP/1.1'))
    assert.ok(http('post'))
    assert.ok(http('Host:', 'localhost'))
    assert.ok(http('GET', '/', 'HTTP/1.0'))
    assert.ok(http('PRI', '*', 'HTTP/2.0'))
  })

  test('leaves requests alone', () => {
    assert.ok(!http())
    assert.ok(!http('GET', 'host:'))
    assert.ok(!http('INCR', 'http'))
    assert.ok(!http('HTTP/1.1'))
    assert.ok(!http('GET', `HTTP/1.1${'x'.repeat(20)}`))
  })
})
