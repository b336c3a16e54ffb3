import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  Invalidating,
  Issued,
  MapReply,
  ok,
  type Reply,
  SetReply,
  SimpleString,
  VerbatimText,
} from '../../../src/commands/command.ts'
import { encode, encodeError } from '../../../src/resp/encoder.ts'
import { Output } from '../../../src/resp/output.ts'
import type { WideIds } from '../../../src/resp/rounding.ts'

function encoded(reply: Reply, protocol: 2 | 3, wideIds: WideIds = 'integer'): string {
  const output = new Output()
  encode(output, reply, { protocol, wideIds })
  return taken(output)
}

function taken(output: Output): string {
  return Buffer.from(output.take() as string, 'latin1').toString()
}

const cases: readonly (readonly [name: string, reply: Reply, two: string, three: string])[] = [
  ['a number', 42, ':42\r\n', ':42\r\n'],
  ['a negative number', -1, ':-1\r\n', ':-1\r\n'],
  ['a bigint', 2n ** 63n - 1n, ':9223372036854775807\r\n', ':9223372036854775807\r\n'],
  ['an id', new Issued(2n ** 60n), ':1152921504606846976\r\n', ':1152921504606846976\r\n'],
  ['text', 'año', '$4\r\naño\r\n', '$4\r\naño\r\n'],
  ['empty text', '', '$0\r\n\r\n', '$0\r\n\r\n'],
  ['bytes', Buffer.from('a\r\nb'), '$4\r\na\r\nb\r\n', '$4\r\na\r\nb\r\n'],
  ['nothing', null, '$-1\r\n', '_\r\n'],
  ['OK', ok, '+OK\r\n', '+OK\r\n'],
  ['a status that is two lines', new SimpleString('a\r\nb'), '+a  b\r\n', '+a  b\r\n'],
  ['an empty array', [], '*0\r\n', '*0\r\n'],
  [
    'an array',
    [1, 'a', [null]],
    '*3\r\n:1\r\n$1\r\na\r\n*1\r\n$-1\r\n',
    '*3\r\n:1\r\n$1\r\na\r\n*1\r\n_\r\n',
  ],
  ['a map', new MapReply([['k', 1]]), '*2\r\n$1\r\nk\r\n:1\r\n', '%1\r\n$1\r\nk\r\n:1\r\n'],
  ['a set', new SetReply(['a']), '*1\r\n$1\r\na\r\n', '~1\r\n$1\r\na\r\n'],
  [
    'a reply with an invalidation behind it',
    new Invalidating('7', [Buffer.from('a')]),
    '$1\r\n7\r\n',
    '$1\r\n7\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n',
  ],
  ['text for people', new VerbatimText('é\n'), '$3\r\né\n\r\n', '=7\r\ntxt:é\n\r\n'],
]

describe('encoding replies', () => {
  for (const [name, reply, two, three] of cases) {
    test(name, () => {
      assert.equal(encoded(reply, 2), two)
      assert.equal(encoded(reply, 3), three)
    })
  }

  test('puts an error on one line', () => {
    const output = new Output()
    encodeError(output, 'DRY', 'first\r\nsecond')
    assert.equal(taken(output), '-DRY first  second\r\n')
  })
})

describe('ids for clients that round', () => {
  const safe = new Issued(2n ** 53n - 65n)
  const wide = new Issued(2n ** 53n - 64n)

  test('are integers as long as a JavaScript number holds them', () => {
    assert.equal(encoded(safe, 3, 'big-number'), ':9007199254740927\r\n')
    assert.equal(encoded(safe, 2, 'refused'), ':9007199254740927\r\n')
  })

  test('are big numbers beyond, where those are read exactly', () => {
    assert.equal(encoded([wide], 3, 'big-number'), '*1\r\n(9007199254740928\r\n')
  })

  test('are refused elsewhere', () => {
    assert.throws(() => encoded([1, wide], 2, 'refused'), {
      code: 'UNSAFE',
      message: /ID\.NEXT.*SETINFO LIB-NAME/,
    })
  })
})
