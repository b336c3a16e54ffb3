import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Lexer, token } from '../../../../src/proxy/sql/lexer.ts'
import type { SessionFacts } from '../../../../src/proxy/sql/session.ts'
import { bytes, session } from './shop.ts'

type Options = Partial<SessionFacts> & {
  readonly executable?: 'read' | 'leave'
  readonly parameters?: boolean
}
const names = Object.fromEntries(Object.entries(token).map(([name, kind]) => [kind, name]))

function lexerOf(text: string, options: Options): Lexer {
  const { executable = 'read', parameters = true } = options
  return new Lexer(bytes(text), session(options), { executable, parameters })
}

/** The tokens that mean something, each as its kind and its text. */
function solids(text: string, options: Options = {}): string[] {
  const lexer = lexerOf(text, options)
  const found: string[] = []
  for (let kind = lexer.solid(); kind !== token.end; kind = lexer.solid()) {
    found.push(`${names[kind]} ${text.slice(lexer.start, lexer.end)}`)
    if (kind === token.broken) break
  }
  return found
}

function all(text: string, options: Options = {}): string[] {
  const lexer = lexerOf(text, options)
  const found: string[] = []
  for (let kind = lexer.next(); kind !== token.end; kind = lexer.next()) {
    assert.ok(lexer.end > lexer.start || kind === token.broken)
    found.push(text.slice(lexer.start, lexer.end))
    if (kind === token.broken) break
  }
  return found
}

const ansi = { sqlMode: 'ANSI_QUOTES' }
const plainBackslash = { sqlMode: 'NO_BACKSLASH_ESCAPES' }
const cases: readonly (readonly [string, readonly string[], Options?])[] = [
  ['a $b _c d1', ['word a', 'word $b', 'word _c', 'word d1']],
  ['\xc3\xa9t\xc3\xa9', ['word \xc3\xa9t\xc3\xa9']],
  [
    '1 12.5 .5 1. 1e3 1.5e-3 1E+2',
    ['1', '12.5', '.5', '1.', '1e3', '1.5e-3', '1E+2'].map((each) => `number ${each}`),
  ],
  ['1a 1e 1e+ 2x', ['word 1a', 'word 1e', 'word 1e', 'mark +', 'word 2x']],
  ['1e5a', ['number 1e5', 'word a']],
  [
    't.1 t.1e5 t.5a',
    ['word t', 'mark .', 'word 1', 'word t', 'mark .', 'word 1e5', 'word t', 'mark .', 'word 5a'],
  ],
  ['0x1F 0b01 0X1F 0b2 0xg', ['bits 0x1F', 'bits 0b01', 'word 0X1F', 'word 0b2', 'word 0xg']],
  ["x'1f' X'' b'01' B'1'", ["bits x'1f'", "bits X''", "bits b'01'", "bits B'1'"]],
  ["x'1g'", ["broken x'1g'"]],
  ["N'a' n'b' N 'c'", ["nationalString N'a'", "nationalString n'b'", 'word N', "string 'c'"]],
  ["_utf8'a'", ['word _utf8', "string 'a'"]],
  [`'it''s' "say ""x""" '"' "'"`, [`string 'it''s'`, `string "say ""x"""`, `string '"'`, `string "'"`]],
  [`'a\\'b' 'c\\\\' "\\""`, [`string 'a\\'b'`, `string 'c\\\\'`, `string "\\""`]],
  [`'a\\' b`, [`string 'a\\'`, 'word b'], plainBackslash],
  ["'a\n;b'", ["string 'a\n;b'"]],
  ['`a``b` `c d`', ['quotedName `a``b`', 'quotedName `c d`']],
  ['`a\\`b', ['quotedName `a\\`', 'word b']],
  ['"a" "b""c"', ['quotedName "a"', 'quotedName "b""c"'], ansi],
  ["'open", ["broken 'open"]],
  ['`open', ['broken `open']],
  ['`nul\0`', ['broken `nul\0`']],
  ['`bad \xe9`', ['broken `bad \xe9`']],
  ['a -- b\nc --d', ['word a', 'word c', 'mark -', 'mark -', 'word d']],
  ['a --\tb', ['word a']],
  ['a --', ['word a']],
  ['1--1 1-- 1', ['number 1', 'mark -', 'mark -', 'number 1', 'number 1']],
  ['a # b\nc', ['word a', 'word c']],
  ["a /* ' */ b /* /* */ c */", ['word a', 'word b', 'word c', 'mark *', 'mark /']],
  ['a /* open', ['word a', 'broken /* open']],
  ['a /*!50000 b */ c', ['word a', 'word b', 'word c']],
  ['a /*! b */ c /*M!100000 d */', ['word a', 'word b', 'word c', 'word d']],
  ['a /*!50000 b */ c', ['word a', 'word c'], { executable: 'leave' }],
  ['a /*!50000 b /* c */ d */ e', ['word a', 'word e'], { executable: 'leave' }],
  ['a /*!50000 b /* c */ d */ e', ['word a', 'word b', 'word d', 'word e']],
  ['a /*! b', ['word a', 'word b', 'broken ']],
  ['/*+ hint */ a', ['word a']],
  [
    '@a @@b @@session.c @`d` @',
    ['variable @a', 'variable @@b', 'variable @@session.c', 'variable @', 'quotedName `d`', 'variable @'],
  ],
  ['? ?a', ['parameter ?', 'mark ?', 'word a']],
  ['?', ['mark ?'], { parameters: false }],
  ['a;b', ['word a', 'mark ;', 'word b']],
  // Characters whose second byte is a backslash or a backquote.
  ["'\xbf\\' a", ["string '\xbf\\'", 'word a'], { charset: 'gbk' }],
  ["'\xbf\\' a'", ["string '\xbf\\' a'"], {}],
  ['`\x81\x60` a', ['quotedName `\x81\x60`', 'word a'], { charset: 'gbk' }],
  ["'\x95\\' a", ["string '\x95\\'", 'word a'], { charset: 'sjis' }],
  ["'\x95\\' a", ["string '\x95\\'", 'word a'], { charset: 'cp932' }],
  ["'\xa5\\' a", ["string '\xa5\\'", 'word a'], { charset: 'big5' }],
  ["'\x81\x30\x81\x30' a", ["string '\x81\x30\x81\x30'", 'word a'], { charset: 'gb18030' }],
  ["'\x8f\xa1\xa1' a", ["string '\x8f\xa1\xa1'", 'word a'], { charset: 'eucjpms' }],
  ["'\xbf\\' a'", ["string '\xbf\\' a'"], { charset: 'euckr' }],
  ['\xc4\x5ca', ['word \xc4\x5ca'], { charset: 'gbk' }],
  // Servers take 0xa0 for a space in latin1, and for a part of a character in others.
  ['a\xa0b \xe9', ['word a', 'word b', 'word \xe9'], { charset: 'latin1' }],
  ['a --\xa0b', ['word a', 'broken --\xa0b'], { charset: 'latin1' }],
  ['a\xa0b', ['word a\xa0b']],
]

describe('the lexer', () => {
  for (const [text, expected, options = {}] of cases)
    it(`reads ${JSON.stringify(text)} ${options.charset ?? options.sqlMode ?? ''}`, () => {
      assert.deepEqual(solids(text, options), expected)
    })

  const most = 65_536
  for (const [name, open, close] of [
    ['word', '', ''],
    ['variable', '@', ''],
    ['variable', '@@a.', ''],
    ['quotedName', '`', '`'],
  ] as const)
    it(`reads a name that begins with ${open}a, unless it is longer than 64 KiB`, () => {
      const [longest, longer] = [0, 1].map(
        (more) => `${open}${'a'.repeat(most + more - open.length - close.length)}${close}`,
      )
      assert.deepEqual(solids(`${longest} b`), [`${name} ${longest}`, 'word b'])
      assert.deepEqual(solids(`${longer} b`), [`broken ${longer} b`])
    })

  const options = fc.record({
    charset: fc.constantFrom(
      'utf8mb4',
      'latin1',
      'gbk',
      'sjis',
      'big5',
      'gb18030',
      'ujis',
      'euckr',
      'ascii',
      'unheard',
    ),
    sqlMode: fc.constantFrom('', 'ANSI_QUOTES', 'NO_BACKSLASH_ESCAPES', 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'),
    executable: fc.constantFrom('read' as const, 'leave' as const),
    parameters: fc.boolean(),
  })
  const pieces = fc.array(
    fc.oneof(
      fc.constantFrom(
        'a',
        "'",
        '"',
        '`',
        '\\',
        '/*',
        '*/',
        '/*!',
        '--',
        ' ',
        '\n',
        '#',
        '@',
        '.',
        '0',
        '1e',
        '0x',
        "x'",
        ';',
        '?',
        '\xbf',
      ),
      fc.string({
        unit: fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
        maxLength: 3,
      }),
    ),
  )

  it('divides any bytes into tokens that are the bytes again, one after the other', () => {
    fc.assert(
      fc.property(pieces, options, (parts, reading) => {
        const text = parts.join('')
        assert.equal(all(text, reading).join(''), text)
      }),
      { numRuns: 2000 },
    )
  })
})
