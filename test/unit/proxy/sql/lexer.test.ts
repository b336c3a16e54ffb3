/** Tokens, as every server reads them; `unsure` where servers differ. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Lexer, parametersMax, token } from '../../../../src/proxy/sql/lexer.ts'
import type { SessionFacts } from '../../../../src/proxy/sql/session.ts'
import { bytes, session } from './shop.ts'

const names = Object.entries(token)

/** Each token as `kind text`; the last one is `unsure` or left out. */
function tokens(text: string, facts: Partial<SessionFacts> = {}): string[] {
  const lexer = new Lexer(bytes(text), session(facts), true)
  const found: string[] = []
  for (lexer.step(); lexer.kind !== token.end; lexer.step()) {
    const name = names.find(([, kind]) => kind === lexer.kind)![0]
    if (lexer.kind === token.unsure) return [...found, name]
    found.push(`${name} ${text.slice(lexer.start, lexer.end)}`)
  }
  return found
}

type Case = readonly [text: string, expected: readonly string[], facts?: Partial<SessionFacts>]
const [ansi, plain, latin1] = [
  { sqlMode: 'ANSI_QUOTES' },
  { sqlMode: 'NO_BACKSLASH_ESCAPES' },
  { charset: 'latin1' },
]
const long = 'x'.repeat(200)

const cases: Record<string, readonly Case[]> = {
  'names and words': [
    ['insert $x', ['word insert', 'unsure']],
    ['a$1 _b', ['word a$1', 'word _b']],
    ['`a``b` `c', ['quotedName `a``b`', 'unsure']],
    ['"a""b"', ['quotedName "a""b"'], ansi],
    ['\xc3\xa9', ['word \xc3\xa9']],
    ['\xe9', ['unsure'], latin1],
    ['`\xc3\xa9`', ['quotedName `\xc3\xa9`']],
    ['`\xc3`', ['unsure']],
    ['`\xe9`', ['unsure'], latin1],
    ['`a\0`', ['unsure']],
  ],
  strings: [
    ["'it''s' 'a\\'b'", ["string 'it''s'", "string 'a\\'b'"]],
    ["'a\\' b", ["string 'a\\'", 'word b'], plain],
    ['"a\'"', ['string "a\'"']],
    ["'open", ['unsure']],
    ["'\xe9\xff'", ["string '\xe9\xff'"]],
    [`'${long}\\'${long}'' ${long}' x`, [`string '${long}\\'${long}'' ${long}'`, 'word x']],
    [`'${long}\\' x`, [`string '${long}\\'`, 'word x'], plain],
    [`'${long}\\\\' x`, [`string '${long}\\\\'`, 'word x']],
  ],
  'numbers, variables and parameters': [
    // Servers read these as 1.0 ON, 1e5 ON.
    ...['1.0ON', '1.ON', '.5AS', '1e5ON', '12e5ON', '1e+5ON'].map(
      (text) => [text, ['unsure']] as [string, string[]],
    ),
    ['1 .5 1.5e-3 0x1F 1a', ['number 1', 'number .5', 'number 1.5e-3', 'number 0x1F', 'number 1a']],
    ['1-2', ['number 1', 'mark -', 'number 2']],
    ['@a @@x.y @`b`', ['variable @a', 'variable @@x.y', 'variable @', 'quotedName `b`']],
    ['(?,?)', ['mark (', 'parameter ?', 'mark ,', 'parameter ?', 'mark )']],
    ['?a', ['unsure']],
  ],
  comments: [
    ['a/* b */c -- d\n#e\ng--1', ['word a', 'word c', 'word g', 'mark -', 'mark -', 'number 1']],
    ['a -- b\0\nc', ['word a', 'unsure']],
    ['/*! a */', ['unsure']],
    ['/*M! a */', ['unsure']],
    ['/*+ a */ b', ['word b']],
    ["/*+ ' */ b", ['unsure']],
    ['/* a', ['unsure']],
    ['/*/ a */ b', ['word b']],
  ],
  'bytes that servers take for the end of a text': [
    ['a \0 b', ['word a', 'unsure']],
    ['a \x1a b', ['word a', 'unsure']],
  ],
}

for (const [what, each] of Object.entries(cases))
  describe(what, () => {
    for (const [text, expected, facts] of each)
      test(`of ${JSON.stringify(text.slice(0, 40))}${facts ? `, ${Object.values(facts)}` : ''}`, () =>
        assert.deepEqual(tokens(text, facts), expected))
  })

test('reads no more parameters than servers accept', () => {
  assert.equal(tokens('?,'.repeat(parametersMax)).at(-1), 'mark ,')
  assert.equal(tokens('?,'.repeat(parametersMax + 1)).at(-1), 'unsure')
})
