import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EncodedReply } from '../../../src/commands/command.ts'
import { readReply } from '../../../src/resp/reply-reader.ts'

const read = (text: string) => readReply(new EncodedReply(Buffer.from(text)))

test('a reply of another node is plain data', () => {
  const cases: readonly (readonly [encoded: string, expected: unknown])[] = [
    ['+OK\r\n', 'OK'],
    [':7\r\n', 7n],
    ['_\r\n', null],
    ['$-1\r\n', null],
    ['$0\r\n\r\n', ''],
    ['$4\r\na\r\nb\r\n', 'a\r\nb'],
    ['$2\r\né\r\n', 'é'],
    ['*0\r\n', []],
    ['*2\r\n$1\r\n1\r\n*1\r\n:2\r\n', ['1', [2n]]],
  ]
  for (const [encoded, expected] of cases) assert.deepEqual(read(encoded), expected, encoded)
})

test('an error of another node is thrown with its code', () => {
  assert.throws(() => read('-QUOTA wait 5 s\r\n'), { code: 'QUOTA', message: 'wait 5 s' })
  assert.throws(() => read('-NEWCODE of a later version\r\n'), {
    code: 'ERR',
    message: 'NEWCODE of a later version',
  })
  for (const unread of ['(1\r\n', '#t\r\n', '%0\r\n'])
    assert.throws(() => read(unread), { code: 'ERR', message: /upgrade/ })
})
