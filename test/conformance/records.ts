/** Records: conditional writes and removals, versions, lists in byte order. */
import assert from 'node:assert/strict'
import type { StoredRecord } from '../../src/engine/engine.ts'
import { oddNames } from './counters.ts'
import type { Declare } from './describeEngine.ts'
import { FaultyEngine } from './faulty-engine.ts'

/** Declares the tests of records. */
export function recordTests(declare: Declare): void {
  declare(
    'a record is read as it was written, and is absent before its creation and after its removal',
    async ({ open }) => {
      const engine = await open()
      assert.equal(await engine.read('a'), undefined)
      const written = await engine.write('a', 'one', undefined)
      assert.deepEqual([written?.key, written?.value], ['a', 'one'])
      assert.deepEqual(await engine.read('a'), written)
      assert.equal(await engine.remove('a', written!.version), true)
      assert.equal(await engine.read('a'), undefined)
    },
  )

  declare('a value is stored exactly', async ({ open }) => {
    const engine = await open()
    const values = [
      '',
      ' ',
      'a\r\nb\t',
      '\u53d1\u53f7 \u{1f600} o\u0308 \u{10ffff}',
      '\'"\\%_`;--',
      '0',
      'x'.repeat(32_768),
    ]
    for (const [index, value] of values.entries()) {
      await engine.write(String(index), value, undefined)
      assert.equal((await engine.read(String(index)))?.value, value)
    }
  })

  declare('exactly one of many concurrent writes creates a record', async ({ open }) => {
    const engines = [await open(), await open()]
    const tries = Array.from({ length: 40 }, (_, index) =>
      engines[index % 2]!.write('a', `by ${index}`, undefined),
    )
    const winners = (await Promise.all(tries)).filter((record) => record !== undefined)
    assert.equal(winners.length, 1)
    assert.deepEqual(await engines[0]!.read('a'), winners[0])
    assert.deepEqual(await engines[1]!.read('a'), winners[0])
  })

  declare('exactly one of many writes under one version succeeds', async ({ open }) => {
    const engines = [await open(), await open()]
    let record = (await engines[0]!.write('a', '0', undefined))!
    for (let round = 0; round < 10; round++) {
      const tries = Array.from({ length: 10 }, (_, index) =>
        engines[index % 2]!.write('a', `${round}.${index}`, record.version),
      )
      const winners = (await Promise.all(tries)).filter((each) => each !== undefined)
      assert.equal(winners.length, 1)
      assert.ok(winners[0]!.version > record.version)
      record = winners[0]!
    }
    assert.deepEqual(await engines[1]!.read('a'), record)
  })

  declare('a write or removal under another version changes nothing', async ({ open }) => {
    const engine = await open()
    const old = (await engine.write('a', 'old', undefined))!
    const now = (await engine.write('a', 'now', old.version))!
    assert.equal(await engine.write('a', 'x', old.version), undefined)
    assert.equal(await engine.write('a', 'x', undefined), undefined)
    assert.equal(await engine.write('a', 'x', now.version + 1n), undefined)
    assert.equal(await engine.write('b', 'x', 1n), undefined)
    assert.equal(await engine.write('b', 'x', 0n), undefined)
    assert.equal(await engine.remove('a', old.version), false)
    assert.equal(await engine.remove('b', 1n), false)
    assert.deepEqual(await engine.read('a'), now)
    assert.equal(await engine.read('b'), undefined)
  })

  declare('rewriting the same value makes a new version', async ({ open }) => {
    const engine = await open()
    const one = (await engine.write('a', 'same', undefined))!
    const two = (await engine.write('a', 'same', one.version))!
    assert.ok(two.version > one.version)
    assert.equal(await engine.write('a', 'same', one.version), undefined)
  })

  declare('versions of a key grow across its removal', async ({ open }) => {
    const engine = await open()
    const seen: bigint[] = []
    for (let life = 0; life < 5; life++) {
      const record = (await engine.write('a', 'same', undefined))!
      seen.push(record.version)
      assert.equal(await engine.remove('a', record.version), true)
      assert.equal(await engine.write('a', 'x', record.version), undefined)
      assert.equal(await engine.remove('a', record.version), false)
    }
    assert.deepEqual(
      seen,
      [...new Set(seen)].sort((a, b) => (a < b ? -1 : 1)),
    )
  })

  declare('exactly one of many removals of one version succeeds', async ({ open }) => {
    const engines = [await open(), await open()]
    const record = (await engines[0]!.write('a', 'x', undefined))!
    const told = await Promise.all(
      Array.from({ length: 20 }, (_, index) => engines[index % 2]!.remove('a', record.version)),
    )
    assert.equal(told.filter(Boolean).length, 1)
  })

  declare('keys are compared as bytes, and listed in the order of their bytes', async ({ open }) => {
    const engine = await open()
    for (const name of oddNames) {
      assert.ok(await engine.write(`k/${name}`, name, undefined), `${JSON.stringify(name)} was there`)
    }
    const inOrder = oddNames.map((name) => `k/${name}`).sort(compareBytes)
    assert.deepEqual(keys(await engine.list('k/')), inOrder)
    for (const name of oddNames) assert.equal((await engine.read(`k/${name}`))?.value, name)
  })

  declare('pages of any size contain every record once, in order', async ({ open }) => {
    const engine = await open()
    await Promise.all(oddNames.map((name) => engine.write(`k/${name}`, name, undefined)))
    const whole = keys(await engine.list('k/'))
    assert.equal(whole.length, oddNames.length)
    for (const limit of [1, 2, 7, oddNames.length, 1000]) {
      const paged: string[] = []
      for (let more = true; more; ) {
        const after = paged.at(-1)
        const page = await engine.list('k/', { limit, ...(after === undefined ? {} : { after }) })
        assert.ok(page.length <= limit)
        paged.push(...keys(page))
        more = page.length === limit
      }
      assert.deepEqual(paged, whole)
    }
  })

  declare(
    'a page goes on after a key that is not there, and from before or behind the prefix',
    async ({ open }) => {
      const engine = await open()
      for (const key of ['k/a', 'k/c', 'l']) await engine.write(key, '', undefined)
      assert.deepEqual(keys(await engine.list('k/', { after: 'k/b' })), ['k/c'])
      assert.deepEqual(keys(await engine.list('k/', { after: 'a' })), ['k/a', 'k/c'])
      assert.deepEqual(keys(await engine.list('k/', { after: 'k/c' })), [])
      assert.deepEqual(keys(await engine.list('k/', { after: 'z' })), [])
    },
  )

  declare('a prefix is bytes too: no pattern, no case folding', async ({ open }) => {
    const engine = await open()
    const all = [
      'a',
      'a%',
      'a%b',
      'a_',
      'aa',
      'A',
      'ab',
      'a\u{10ffff}',
      'a\u{10ffff}b',
      'b',
      '\u53d1',
      '\u53d1\u53f7',
    ]
    for (const key of all) await engine.write(key, '', undefined)
    for (const prefix of ['', 'a', 'a%', 'a_', 'A', 'a\u{10ffff}', '\u53d1', 'z', '\u{10ffff}']) {
      const wanted = all.filter((key) => key.startsWith(prefix)).sort(compareBytes)
      assert.deepEqual(keys(await engine.list(prefix)), wanted, `prefix ${JSON.stringify(prefix)}`)
    }
  })

  declare('a removed record is in no list, and its key can be used again', async ({ open }) => {
    const engine = await open()
    const record = (await engine.write('k/a', 'x', undefined))!
    await engine.write('k/b', 'x', undefined)
    await engine.remove('k/a', record.version)
    assert.deepEqual(keys(await engine.list('k/')), ['k/b'])
    assert.ok(await engine.write('k/a', 'y', undefined))
    assert.deepEqual(keys(await engine.list('k/')), ['k/a', 'k/b'])
  })

  declare('a list contains values and versions as `read` returns them', async ({ open }) => {
    const engine = await open()
    const written = [await engine.write('k/a', 'x', undefined), await engine.write('k/b', 'y', undefined)]
    assert.deepEqual(await engine.list('k/'), written)
    assert.deepEqual(await engine.list('k/', { limit: 0 }), [])
  })

  declare('after a lost answer, a read shows whose write it was', async ({ open }) => {
    const faulty = new FaultyEngine(await open())
    faulty.next('write', 'lose-reply')
    await assert.rejects(faulty.write('a', 'mine', undefined), { code: 'UNKNOWN' })
    const stored = await faulty.read('a')
    assert.equal(stored?.value, 'mine')
    faulty.next('write', 'late')
    await assert.rejects(faulty.write('a', 'late', stored!.version), { code: 'UNKNOWN' })
    const settled = await faulty.write('a', 'settled', stored!.version)
    await faulty.deliver()
    assert.deepEqual(await faulty.read('a'), settled)
  })
}

function keys(records: readonly StoredRecord[]): string[] {
  return records.map(({ key }) => key)
}

function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
