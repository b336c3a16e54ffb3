/** Lists of what a caller may name: which generators they have, what they read of the store, and in which parts. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Access } from '../../../src/auth/access.ts'
import { compareBytes } from '../../../src/base/byte-order.ts'
import { globMatches } from '../../../src/base/glob.ts'
import type { Turns } from '../../../src/base/turns.ts'
import type { Catalogue } from '../../../src/catalogue/catalogue.ts'
import { type ListRequest, listedParts } from '../../../src/catalogue/generator-lists.ts'
import type { StoredRecord } from '../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../src/engine/memory/engine.ts'
import { startNode } from './node.ts'

/** Keeps the work of each part. */
class CountedTurns implements Turns {
  readonly parts: number[] = []

  async take(bytes: number): Promise<void> {
    this.parts.push(bytes)
  }
}

class CountedEngine extends MemoryEngine {
  listed: StoredRecord[] = []

  override async list(...args: Parameters<MemoryEngine['list']>): Promise<StoredRecord[]> {
    const records = await super.list(...args)
    this.listed.push(...records)
    return records
  }
}

async function namesOf(
  catalogue: Catalogue,
  request: ListRequest,
  turns: Turns = new CountedTurns(),
): Promise<string[]> {
  const names: string[] = []
  for await (const part of listedParts(catalogue, turns, request)) names.push(...part.map(({ name }) => name))
  return names
}

async function nodeWith(names: Iterable<string>) {
  let engine: CountedEngine | undefined
  const node = await startNode({ reach: (store) => (engine = new CountedEngine(store)) })
  for (const name of names) await node.catalogue.define(name, { kind: 'sequence' })
  engine!.listed = []
  return { catalogue: node.catalogue, engine: engine! }
}

function numbered(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(5, '0')}`)
}

describe('a list of generators', () => {
  test('has the live ones that the caller may name and the pattern matches, each once, in byte order', async () => {
    const name = fc.stringMatching(/^[ab:é😀]{1,4}$/u)
    const pattern = fc.stringMatching(/^[ab:é😀]{0,2}[*?]?[ab]?$/u)
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(name, { maxLength: 20 }),
        fc.array(pattern, { maxLength: 4 }),
        fc.option(pattern, { nil: undefined }),
        fc.option(name, { nil: undefined }),
        fc.nat({ max: 3 }),
        async (names, patterns, asked, after, dropped) => {
          const { catalogue } = await nodeWith(names)
          for (const each of names.slice(0, dropped)) await catalogue.drop(each)
          const access = new Access('reader', new Set(), patterns)
          const listed = await namesOf(catalogue, { access, pattern: asked, after })
          const expected = names
            .slice(dropped)
            .filter((each) => access.reaches(each) && globMatches(asked ?? '*', each))
            .filter((each) => after === undefined || compareBytes(each, after) > 0)
          assert.deepEqual(listed, expected.sort(compareBytes))
        },
      ),
      { numRuns: 200 },
    )
  })

  test('is the same in parts of any size', async () => {
    const { catalogue } = await nodeWith(['a', 'ab', 'b', 'b:1', 'b:2', 'c', 'd:1', 'd:2', 'e'])
    const access = new Access('reader', new Set(), ['b*', 'd:2', 'a', 'zz'])
    for (let looks = 1; looks < 8; looks++) {
      const names: string[] = []
      for (let after: string | undefined, more = true; more; ) {
        const { found, next } = await catalogue.page({ ranges: access.ranges, after, looks })
        names.push(...found.map(({ name }) => name))
        after = next
        more = next !== undefined
      }
      assert.deepEqual(names, ['a', 'b', 'b:1', 'b:2', 'd:2'], `${looks} at a time`)
    }
  })

  test('reads no name that begins as none of the caller’s names', async () => {
    const { catalogue, engine } = await nodeWith([...numbered(500, 'g'), ...numbered(3, 'n:'), 'nearby', 'z'])
    const access = new Access('reader', new Set(), ['n:*', 'z'])
    assert.deepEqual(await namesOf(catalogue, { access }), [...numbered(3, 'n:'), 'z'])
    assert.equal(engine.listed.length, 4)
  })

  test('is read in parts, whose work grows neither with the names nor with the patterns', async () => {
    const { catalogue, engine } = await nodeWith(numbered(1000, 'n'))
    const long = Array.from({ length: 200 }, (_, index) => `n${'*0'.repeat(200)}${index}`)
    for (const patterns of [['*'], [...long, 'n*']]) {
      const turns = new CountedTurns()
      engine.listed = []
      const access = new Access('reader', new Set(), patterns)
      assert.equal((await namesOf(catalogue, { access }, turns)).length, 1000)
      assert.ok(Math.max(...turns.parts) <= Math.max(49_152, 2 * access.work), `${Math.max(...turns.parts)}`)
      assert.ok(turns.parts.length >= 5, `${turns.parts.length} parts`)
    }
  })

  test('ends with the connection of its client', async () => {
    const { catalogue } = await nodeWith(['a'])
    const access = new Access('reader', new Set(), ['*'])
    await assert.rejects(namesOf(catalogue, { access, signal: AbortSignal.abort() }), { name: 'AbortError' })
  })
})
