import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CheckDigits, type CheckName, checkNames } from '../../../src/ids/check-digit.ts'
import { compileFormat } from '../../../src/ids/format.ts'

const capitals = { isSmall: false }

test('every system gives the check digits that are published for it', () => {
  const published: [name: CheckName, text: string, check: string][] = [
    ['luhn', '7992739871', '3'],
    ['luhn', '7894', '9'],
    ['damm', '572', '4'],
    ['verhoeff', '236', '3'],
    ['verhoeff', '1234', '0'],
    ['verhoeff', '12345', '1'],
    ['mod10r', '21000000000313947143000901', '7'],
    ['mod97', '99991234567890121414', '90'],
    ['mod97', '4354111611551114', '31'],
    ['mod97', '22181321402534321446701611', '35'],
    ['mod97', '539007547034RF', '18'],
    ['mod11-2', '0794', '0'],
    ['mod11-2', '079', 'X'],
    ['mod11-2', '000000021825009', '7'],
    ['mod37-2', 'G123489654321', 'Y'],
    ['mod11-10', '79462', '3'],
    ['mod11-10', '00200667308', '5'],
    ['mod37-36', 'A12425GABC1234002', 'M'],
  ]
  for (const [name, text, check] of published)
    assert.equal(new CheckDigits(name, capitals).of(text), check, `${name} ${text}`)
  assert.deepEqual([...new Set(published.map(([name]) => name))], checkNames)
})

test('stored formats keep the texts that they have written', () => {
  const values = { node: 7, unixUs: Date.UTC(2026, 10, 21, 17, 30, 5, 42) * 1000 }
  for (const [template, text] of [
    ['{id}{check:luhn}-2026', '1844679-2026'],
    ['{id}{check:damm}-2026', '1844676-2026'],
    ['coupon_{id:8}{check:luhn}', 'coupon_001844679'],
    ['9{id:6}5{check:damm}77', '91844675977'],
    ['{date:yyyyMMdd}{id:6}{node:2}{check:damm}{date:HH}', '2026112118446707917'],
  ] as const)
    assert.equal(compileFormat(template).format(184467n, values), text, template)
})

test('references of payments are those that their standards give as examples', () => {
  const creditor = compileFormat('RF{check:mod97}{id:12}')
  assert.equal(creditor.format(539007547034n), 'RF18539007547034')
  assert.equal(creditor.parse('rf18539007547034'), 539007547034n)
  assert.throws(() => creditor.parse('RF17539007547034'), /the check digits '17' are wrong/)
  const grouped = compileFormat('RF{check:mod97}-{id:12:group=4}')
  assert.equal(grouped.format(539007547034n), 'RF18-5390-0754-7034')
  const swiss = compileFormat('210000000{id:17}{check:mod10r}')
  assert.equal(swiss.format(313947143000901n), '210000000003139471430009017')
  assert.equal(compileFormat('{id:16}{check:mod11-2}').parse('0000000021825009' + '7'), 21825009n)
})

test('check digits in front cover what stands behind them, and then what stands before them', () => {
  for (const name of checkNames) {
    const check = new CheckDigits(name, capitals)
    const format = compileFormat(`A1{check:${name}}-{id:6}Z9`)
    const text = format.format(4711n)
    assert.equal(text, `A1${check.of('004711Z9A1')}-004711Z9`)
    assert.equal(format.parse(text), 4711n)
  }
})

test('check digits are written in the case of the id, and read in any', () => {
  const small = compileFormat('{id:6:base36}{check:mod37-36}')
  const capital = compileFormat('{id:6:crockford}{check:mod37-36}')
  for (let id = 0n; id < 400n; id++) {
    assert.match(small.format(id), /^[0-9a-z]+$/)
    assert.equal(small.parse(small.format(id).toUpperCase()), id)
    assert.equal(capital.parse(capital.format(id).toLowerCase()), id)
  }
  // The digits of 18, of which some are typed as letters, and the check digit 2 as well.
  assert.equal(compileFormat('{id:8}{check:luhn}').parse('OOOOOOl8Z'), 18n)
})

/** What a system is said to catch in the digits of its own. */
const catches: Readonly<Record<CheckName, { readonly swaps: boolean }>> = {
  luhn: { swaps: false },
  damm: { swaps: true },
  verhoeff: { swaps: true },
  mod10r: { swaps: false },
  mod97: { swaps: true },
  'mod11-2': { swaps: true },
  'mod37-2': { swaps: true },
  'mod11-10': { swaps: false },
  'mod37-36': { swaps: false },
}

test('every system catches every wrong character, and the swaps that it is said to catch', () => {
  for (const name of checkNames) {
    const check = new CheckDigits(name, capitals)
    // A letter that mod97 takes for two digits can stand for another remainder than itself.
    const digits =
      check.hasLetters && name !== 'mod97' ? '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ' : '0123456789'
    for (let seed = 1; seed < 40; seed++) {
      const text = Array.from(
        { length: 9 },
        (_, at) => digits[(seed * 7919 + at * at * 104_729) % digits.length],
      )
      const right = check.of(text.join(''))
      for (let at = 0; at < text.length; at++) {
        for (const digit of digits)
          if (digit !== text[at]) assert.notEqual(check.of(text.with(at, digit).join('')), right, name)
        const next = text[at + 1]
        if (!catches[name].swaps || next === undefined || next === text[at]) continue
        const swapped = text.with(at, next).with(at + 1, text[at])
        assert.notEqual(check.of(swapped.join('')), right, `${name} ${text.join('')} ${at}`)
      }
    }
  }
})
