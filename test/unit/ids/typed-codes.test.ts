/**
 * 10,000 codes of each format, each typed with one error: which are caught, which repaired, and which are taken for another id.
 * The table of docs/start/codes-for-people.md has these figures.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { compileFormat } from '../../../src/ids/format.ts'

const codes = 10_000
/** Characters that people take for one another. */
const likeness = ['0Oo', '1Il', '2Zz', '5Ss', '8B', 'UVuv']
const errors = ['swap', 'case', 'look-alike', 'missing'] as const
type Kind = (typeof errors)[number]

/** Numbers below `below`, the same in each run: mulberry32. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** A text with one error of this kind; undefined where this text can have none. */
function mistyped(text: string, kind: Kind, next: (below: number) => number): string | undefined {
  const places = [...text].flatMap((char, at) => {
    if (char === '-') return []
    if (kind === 'missing') return [text.slice(0, at) + text.slice(at + 1)]
    if (kind === 'swap') {
      const after = text[at + 1] === '-' ? at + 2 : at + 1
      if (after >= text.length || text[after] === char) return []
      return [text.slice(0, at) + text[after] + text.slice(at + 1, after) + char + text.slice(after + 1)]
    }
    const others =
      kind === 'case'
        ? [char.toLowerCase(), char.toUpperCase()]
        : [...(likeness.find((each) => each.includes(char)) ?? '')]
    return others
      .filter((other) => other !== char)
      .map((other) => text.slice(0, at) + other + text.slice(at + 1))
  })
  return places.length === 0 ? undefined : places[next(places.length)]
}

/** How many errors of each kind are caught, repaired, and taken for another id. */
function outcomes(template: string): Record<Kind, [caught: number, repaired: number, another: number]> {
  const format = compileFormat(template)
  const next = numbers(31)
  const most = format.maxId < 2n ** 48n ? format.maxId : 2n ** 48n
  const counts = { swap: [0, 0, 0], case: [0, 0, 0], 'look-alike': [0, 0, 0], missing: [0, 0, 0] }
  for (let code = 0; code < codes; ) {
    const id = (BigInt(next(2 ** 31)) * 2n ** 31n + BigInt(next(2 ** 31))) % most
    const kind = errors[code % errors.length]!
    const typed = mistyped(format.format(id), kind, next)
    // Digits alone have no other case.
    if (typed === undefined && kind !== 'case') continue
    code++
    if (typed === undefined) continue
    let read: bigint | undefined
    try {
      read = format.parse(typed)
    } catch {}
    counts[kind][read === undefined ? 0 : read === id ? 1 : 2]!++
  }
  return counts as ReturnType<typeof outcomes>
}

const page = readFileSync(new URL('../../../docs/start/codes-for-people.md', import.meta.url), 'utf8')

test('the table of the recipe says what becomes of mistyped codes', () => {
  const rows = [...page.matchAll(/^\| `(\{id[^`]*)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$/gm)]
  assert.equal(rows.length, 8)
  for (const [, template = '', ...told] of rows) {
    const counts = Object.values(outcomes(template))
    const sums = [0, 1, 2].map((outcome) => counts.reduce((sum, each) => sum + each[outcome]!, 0))
    assert.deepEqual(
      told,
      sums.map((sum) => sum.toLocaleString('en-US')),
      template,
    )
  }
  const taken = rows.slice(0, 3).map((row) => row[4])
  assert.deepEqual(taken, ['0', '0', '0'], 'the formats that the page recommends take no code for another')
})

test('the formats of the recipe are read without hyphens, with spaces, and with hyphens elsewhere', () => {
  const templates = [...page.matchAll(/\{id:[^`'\n]*group=4\}[^`'\n]*/g)].map(([template]) => template)
  assert.equal(templates.length, 6)
  const next = numbers(13)
  for (const template of templates) {
    const format = compileFormat(template)
    for (let code = 0; code < 100; code++) {
      const id = (BigInt(next(2 ** 31)) * 2n ** 31n + BigInt(next(2 ** 31))) % (format.maxId + 1n)
      const text = format.format(id)
      assert.equal(format.parse(text.replaceAll('-', '')), id, template)
      assert.equal(format.parse(text.replaceAll('-', ' ')), id, template)
      const [head, tail] = [text.slice(0, 6), text.slice(6)].map((part) => part.replaceAll('-', ''))
      assert.equal(format.parse(`${head}-${tail}`), id, template)
    }
  }
})
