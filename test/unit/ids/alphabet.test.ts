import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Alphabet, alphabets } from '../../../src/ids/alphabet.ts'
import { checkNames } from '../../../src/ids/check-digit.ts'
import { compileFormat } from '../../../src/ids/format.ts'

const max63 = 2n ** 63n - 1n
const anyDigits = fc
  .shuffledSubarray([...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_'], {
    minLength: 2,
    maxLength: 62,
  })
  .map((digits) => digits.join(''))
const anyId = fc.oneof(fc.bigInt(0n, max63), fc.bigInt(0n, 5000n))

test('an alphabet reads the numbers that it writes', () => {
  fc.assert(
    fc.property(
      fc.oneof(anyDigits, fc.constantFrom(...[...alphabets.values()].map((it) => it.digits))),
      anyId,
      (digits, id) => {
        const alphabet = new Alphabet('own', digits)
        const text = alphabet.write(id)
        let value = 0n
        for (const digit of text) value = value * BigInt(digits.length) + BigInt(digits.indexOf(digit))
        assert.equal(value, id)
        assert.equal(alphabet.read(text), id)
        assert.ok(text.length === 1 || text[0] !== digits[0])
      },
    ),
  )
})

const alike = ['0O', '1IL', '2Z', '5S', '8B', 'UV']

test('a character that is no digit is read as the only one that it can be taken for', () => {
  const chars = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_.']
  fc.assert(
    fc.property(anyDigits, (digits) => {
      const alphabet = new Alphabet('own', digits)
      for (const char of chars) {
        const read = alphabet.read(char)
        if (digits.includes(char)) assert.equal(read, BigInt(digits.indexOf(char)))
        else if (read !== undefined) {
          const meant = digits[Number(read)]!
          const group = alike.find((each) => each.includes(char.toUpperCase())) ?? char.toUpperCase()
          assert.ok(group.includes(meant.toUpperCase()), `${char} as ${meant}`)
          const others = [...digits].filter((each) => group.includes(each.toUpperCase()))
          const isCase = !alphabet.mixesCases && meant.toUpperCase() === char.toUpperCase()
          assert.ok(isCase || others.length === 1, `${char} in ${digits}`)
        }
      }
    }),
  )
  const codes = compileFormat('{id:8:alphabet=23456789BCDFGHJKMNPQRTVWXY}')
  assert.equal(codes.parse('zzzzzzzu'), codes.parse('2222222V'))
  assert.throws(() => codes.parse('2222222O'), /is no id of 23456789BCDFGHJKMNPQRTVWXY/)
  assert.throws(() => compileFormat('{id:2:base36}{id}'))
})

const anyTemplate = fc
  .record({
    digits: fc.oneof(
      anyDigits.map((digits) => `alphabet=${digits}`),
      fc.constantFrom('base10', 'base16', 'base36', 'base62', 'crockford'),
    ),
    width: fc.constantFrom('', '3', '8', '13', '64'),
    group: fc.constantFrom('', ':group=1', ':group=3', ':group=4'),
    literals: fc.array(fc.constantFrom('', 'x', 'A7-', '号', '"'), { minLength: 3, maxLength: 3 }),
    check: fc.constantFrom(...checkNames, undefined),
    isFirst: fc.boolean(),
  })
  .map(({ digits, width, group, literals: [a, b, c], check, isFirst }) => {
    const id = `{id:${width}:${digits}${digits.includes('-') ? '' : group}}`
    if (check === undefined) return `${a}${id}${b}`
    return isFirst ? `${a}{check:${check}}${b}${id}${c}` : `${a}${id}${b}{check:${check}}${c}`
  })
  .filter((template) => {
    try {
      return compileFormat(template) !== undefined
    } catch {
      return false
    }
  })

test('every format reads back its texts, in the other case too unless cases matter', () => {
  fc.assert(
    fc.property(anyTemplate, anyId, anyId, (template, from, other) => {
      const format = compileFormat(template)
      const [a, b] = [from % (format.maxId + 1n), other % (format.maxId + 1n)]
      const [textA, textB] = [format.format(a), format.format(b)]
      assert.equal(format.parse(textA), a)
      assert.equal(textA === textB, a === b)
      const { caseMatters, charactersMin, charactersMax, isAscii, sortsLikeIds, signs } = format.column(
        format.maxId,
      )
      assert.equal(caseMatters, format.mixesCases)
      const length = [...textA].length
      assert.ok(length >= charactersMin && length <= charactersMax)
      assert.equal([...format.format(format.maxId)].length, charactersMax)
      assert.equal([...format.format(0n)].length, charactersMin)
      assert.equal(/^\p{ASCII}*$/u.test(textA), isAscii)
      assert.ok(signs.length >= 2)
      if (sortsLikeIds) assert.equal(textA < textB, a < b)
      if (caseMatters) return
      assert.equal(textA.toLowerCase() === textB.toLowerCase(), a === b)
      assert.equal(format.parse(textA.toLowerCase()), a)
      assert.equal(format.parse(textA.toUpperCase()), a)
    }),
    { numRuns: 1500 },
  )
})

test('an id in groups is read with hyphens, with spaces and without', () => {
  const format = compileFormat('{id:8:crockford:group=4}')
  const text = format.format(668_503_069_688n)
  assert.match(text, /^[0-9A-Z]{4}-[0-9A-Z]{4}$/)
  for (const typed of [text, text.replace('-', ''), text.replace('-', ' '), `${text[0]}-${text.slice(1)}`])
    assert.equal(format.parse(typed), 668_503_069_688n)
  for (const typed of [`-${text}`, `${text}-`, text.replace('-', '--'), text.slice(0, -1), `${text}0`])
    assert.throws(() => format.parse(typed), { code: 'ERR' })
  assert.equal(compileFormat('{id::group=3}').format(1_234_567n), '123-456-7')
  assert.equal(compileFormat('{id:7:crockford:group=4}{check:mod37-36}').format(1n).length, 9)
})
