import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameOfText } from '../../../../src/postgres/names.ts'
import { tokenize } from '../../../../src/postgres/sql/lexer.ts'
import { SqlError } from '../../../../src/postgres/sql/sql-error.ts'

/** The tokens of a text as `kind text`, or its error. */
function read(text: string): string {
  try {
    return tokenize(text)
      .slice(0, -1)
      .map((token) => `${token.kind} ${token.text}`)
      .join(' | ')
  } catch (error) {
    if (error instanceof SqlError) return `${error.sqlState} ${error.message}`
    throw error
  }
}

const texts: readonly (readonly [text: string, tokens: string])[] = [
  ['SELECT Éa_1$ "A""b"', 'name select | name Éa_1$ | quoted A"b'],
  ["'it''s' 'a' \n 'b''' 'c'", "string it's | string ab' | string c"],
  [String.raw`E'\n\t\'\\''\x41\x4g\xg\101\18\q\u00e9\U0001F600'`, "string \n\t'\\'A\u0004gxgA\u00018qé😀"],
  [String.raw`U&'\0041\+01F600\\' U&"\0041b" n'\0'`, 'string A😀\\ | quoted Ab | string \\0'],
  [String.raw`E'\u00'`, '22025 invalid Unicode escape'],
  [String.raw`U&'\00g1'`, '42601 invalid Unicode escape'],
  [String.raw`E'\0'`, '22021 invalid byte sequence for encoding "UTF8": 0x00'],
  ["b'01' X'fF'", 'bits b01 | bits xfF'],
  ['$1 $$a$$ $é$ $$ $é$', 'parameter 1 | string a | string  $$ '],
  ['1..2 1.5e-3 .5 1.', 'number 1 | operator .. | number 2 | number 1.5e-3 | number .5 | number 1.'],
  ['1a', '42601 trailing junk after numeric literal at or near "1a"'],
  [
    'a<>-1 +-2 @-b *-- c\n=/* /* */ */!',
    'name a | operator <> | operator - | number 1 | operator + | operator - | number 2 | operator @- | name b | operator * | operator = | operator !',
  ],
  [
    'a::b[1]:=;',
    'name a | operator :: | name b | operator [ | number 1 | operator ] | operator := | operator ;',
  ],
  ["'a", `42601 unterminated quoted string at or near "'a"`],
  ["E'a\\'", `42601 unterminated quoted string at or near "E'a\\'"`],
  ['"a', '42601 unterminated quoted identifier at or near ""a"'],
  ['/* /* */', '42601 unterminated /* comment at or near "/* /* */"'],
  ['""', '42601 zero-length delimited identifier at or near """"'],
  ['{', '42601 syntax error at or near "{"'],
]

for (const [text, tokens] of texts)
  test(`reads ${JSON.stringify(text)}`, () => assert.equal(read(text), tokens))

test('an operator has at most 63 characters', () => {
  assert.equal(read('@'.repeat(63)), `operator ${'@'.repeat(63)}`)
  assert.equal(read('@'.repeat(64)), '42601 operator too long')
  assert.equal(read(`${'@'.repeat(63)}--`), `operator ${'@'.repeat(63)}`)
})

test('a text has at most 20,000 words', () => {
  assert.equal(tokenize('a '.repeat(20_000)).length, 20_001)
  assert.match(read('a '.repeat(20_001)), /^54000 /)
})

test('a text that is longer than any name of a sequence names none', () => {
  assert.equal(nameOfText('a."b"'), 'a.b')
  assert.throws(() => nameOfText(`a${'.a'.repeat(100_000)}`), { sqlState: '42602' })
})
