/** Keys of records and counters that contain names: no name, whatever slashes it has, reaches what another one has stored. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { define } from '../../../src/catalogue/definition.ts'
import { sectionCounter } from '../../../src/catalogue/families/family-records.ts'
import { checkName, nameBytesMax } from '../../../src/catalogue/name-rules.ts'
import { drawOnce, oncePrefix } from '../../../src/catalogue/once.ts'
import { generatorKey, newCounter } from '../../../src/catalogue/stored-generator.ts'
import { max63 } from '../../../src/ids/limits.ts'
import { closeKey, headKey, ledgerPrefix, pageKey } from '../../../src/issuing/ledger/ledger-records.ts'
import { momentCounter } from '../../../src/issuing/past-moments.ts'
import { periodCounters } from '../../../src/issuing/period-counters.ts'
import { plainIdOf, plainWorkerKey, poolPrefix } from '../../../src/issuing/plain-worker-records.ts'
import { Dice } from '../dice.ts'

const keyBytesMax = 300
const numbers = [0n, 1n, 31n, max63]
/** Of these, and of slashes, the keys below consist. */
const parts = ['a', 'b', '', '0', '1', 'p', 'head', 'close', 'counters', 'generators', 'periods', 'moments']
const longest = 'é'.repeat(nameBytesMax / 2)

/** What is stored of a name. */
function keysOf(name: string): { counters: string[]; records: string[] } {
  const counters = [generatorKey(name), ...numbers.map((number) => newCounter(name, number))]
  const prefix = ledgerPrefix(name)
  return {
    counters: [
      ...counters,
      ...counters.flatMap((counter) => periodCounters(counter, { keep: 366 }).slice(-3)),
      ...counters.flatMap((counter) => periodCounters(counter, { keep: 0 })),
      ...numbers.map((number) => momentCounter(name, number)),
      ...[0, 1, 9999].map((slot) => sectionCounter(name, slot)),
    ],
    records: [
      generatorKey(name),
      headKey(prefix),
      ...numbers.flatMap((number) => [pageKey(prefix, number), closeKey(prefix, number)]),
      ...[0, 1, 4_294_967_295].map((id) => plainWorkerKey(name, id)),
    ],
  }
}

/** The record in which a draw with a key looks for its ids. */
async function onceRecord(name: string, user: string, key: string): Promise<string> {
  const asked: string[] = []
  const read = async (record: string) => {
    asked.push(record)
    throw new FahaoError('UNAVAILABLE', 'it is only watched')
  }
  const generator = {
    name,
    definition: define({ kind: 'sequence' }, 0),
    formKey: undefined,
    format: undefined,
  }
  const drawing = { values: undefined, commits: false, draw: () => assert.fail('nothing is drawn') }
  const engine = { read, write: () => assert.fail('nothing is written') }
  await assert.rejects(drawOnce({ engine }, generator, drawing, 1, { key, user }), { code: 'UNAVAILABLE' })
  return asked[0]!
}

/** Names that continue each other, and that look like parts of keys. */
function names(): string[] {
  const dice = new Dice(1)
  const found = new Set(['a', longest])
  for (let tries = 0; tries < 400; tries++)
    found.add(Array.from({ length: 1 + dice.below(5) }, () => dice.of(parts)).join('/'))
  for (const key of Object.values(keysOf('a')).flat()) found.add(key.slice(key.lastIndexOf('/a') + 1))
  return [...found].filter((name) => isName(name))
}

function isName(name: string): boolean {
  try {
    checkName(name)
    return true
  } catch {
    return false
  }
}

describe('stored keys', () => {
  const all = names()

  test('no two names share a counter or a record', () => {
    for (const kind of ['counters', 'records'] as const) {
      const owners = new Map<string, string>()
      for (const name of all)
        for (const key of new Set(keysOf(name)[kind])) {
          assert.equal(owners.get(key), undefined, `${key} of ${name}`)
          owners.set(key, name)
        }
    }
  })

  test('what begins with the prefix of a ledger or a pool is of that one', () => {
    const records = all.flatMap((name) => keysOf(name).records.map((key) => ({ name, key })))
    for (const owner of all) {
      const ledger = ledgerPrefix(owner)
      const pool = `${poolPrefix}${owner}/`
      for (const { name, key } of records) {
        const isOwn = key.startsWith(ledger) || (key.startsWith(pool) && plainIdOf(owner, key) !== undefined)
        assert.ok(!isOwn || name === owner, `${key} of ${name} is taken for one of ${owner}`)
      }
    }
  })

  test('no two requests share the record of a key', async () => {
    const records = new Set<string>()
    const words = ['a', '1', '1 a', 'a 1']
    for (const name of all.slice(0, 100))
      for (const user of words)
        for (const key of words) {
          const record = await onceRecord(name, user, key)
          assert.ok(record.startsWith(`${oncePrefix}${name}/`))
          assert.ok(Buffer.byteLength(record) <= keyBytesMax)
          records.add(record)
        }
    assert.equal(records.size, Math.min(all.length, 100) * words.length ** 2)
  })

  test('the key of the longest name is one for every engine', () => {
    for (const key of Object.values(keysOf(longest)).flat())
      assert.ok(Buffer.byteLength(key) <= keyBytesMax, `${Buffer.byteLength(key)} bytes: ${key}`)
  })
})
