import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EncodedReply } from '../../../src/commands/command.ts'
import { readReply } from '../../../src/resp/reply-reader.ts'

const read = (text: string) => readReply(new EncodedReply(Buffer.from(text)))

test('a reply of another node is plain data', () => {
  const cases: readonly (readonly [encoded: string, expected: unknown])[] = [
    ['+OK\r\n', 'OK'],
    [':7\r\n', 7n],
    ['(9223372036854775808\r\n', 9223372036854775808n],
    ['_\r\n', null],
    ['$-1\r\n', null],
    ['*-1\r\n', null],
    ['#t\r\n', 1n],
    ['#f\r\n', 0n],
    [',1.5\r\n', '1.5'],
    ['$0\r\n\r\n', ''],
    ['$4\r\na\r\nb\r\n', 'a\r\nb'],
    ['$2\r\né\r\n', 'é'],
    ['=7\r\ntxt:one\r\n', 'one'],
    ['*0\r\n', []],
    ['*2\r\n$1\r\n1\r\n*1\r\n:2\r\n', ['1', [2n]]],
    ['~1\r\n+a\r\n', ['a']],
    [
      '%2\r\n+a\r\n:1\r\n$1\r\nb\r\n_\r\n',
      new Map<string, unknown>([
        ['a', 1n],
        ['b', null],
      ]),
    ],
  ]
  for (const [encoded, expected] of cases) assert.deepEqual(read(encoded), expected, encoded)
})

test('an error of another node is thrown with its code', () => {
  assert.throws(() => read('-QUOTA wait 5 s\r\n'), { code: 'QUOTA', message: 'wait 5 s' })
  assert.throws(() => read('!10\r\nDRY no ids\r\n'), { code: 'DRY', message: 'no ids' })
  assert.throws(() => read('-NEWCODE of a later version\r\n'), {
    code: 'ERR',
    message: 'NEWCODE of a later version',
  })
})
