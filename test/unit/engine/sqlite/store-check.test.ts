/** Damage of a store that is too large to be checked as a whole when it is opened. */
import assert from 'node:assert/strict'
import { closeSync, copyFileSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../../../src/base/clock.ts'
import type { LogEvent } from '../../../../src/base/events.ts'
import { openSqlite } from '../../../../src/engine/sqlite/engine.ts'
import { Store } from '../../../../src/engine/sqlite/store.ts'
import { engineOptions } from '../../../conformance/store-under-test.ts'
import { atEnd } from '../../../launch/lifetime.ts'
import { temporaryFolder } from '../../../launch/places.ts'

const names = Array.from({ length: 20_000 }, (_, index) => `counter/${`${index}`.padStart(6, '0')}`)
const pageBytes = 4096
const folder = temporaryFolder({ after })
/** 20,000 counters on their own pages, and records that make the file large. */
const sound = join(folder, 'sound.db')

before(async () => {
  const engine = await openSqlite(sound, engineOptions())
  await engine.close()
  const database = new DatabaseSync(sound)
  database.exec(`BEGIN;
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${names.length})
      INSERT INTO counters SELECT printf('counter/%06d', n), n, 0, 1, 1 FROM numbers;
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < 2200)
      INSERT INTO records SELECT printf('record/%06d', n), printf('%.32000c', 'x'), n + 1 FROM numbers;
    UPDATE state SET revision = 2200;
    COMMIT`)
  database.close()
})

/** The numbers of the pages that hold some counters, and nothing but counters, in the order of these. */
function leaves(): { readonly page: number; readonly first: string }[] {
  const descriptor = openSync(sound, 'r')
  const found: { page: number; first: string }[] = []
  const bytes = Buffer.alloc(pageBytes)
  for (
    let page = 1;
    readSync(descriptor, bytes, 0, pageBytes, (page - 1) * pageBytes) === pageBytes;
    page++
  ) {
    // A page of rows, of a table without row numbers, has type 10, the number of its rows, and where each begins.
    if (page === 1 || bytes[0] !== 10 || bytes.readUInt16BE(3) < 10) continue
    const cell = bytes.readUInt16BE(8)
    const first = /counter\/\d{6}/.exec(bytes.toString('latin1', cell, cell + 40))?.[0]
    if (first !== undefined) found.push({ page, first })
  }
  return found.sort((a, b) => (a.first < b.first ? -1 : 1))
}

/** A copy in which one page has the bytes of another one, or zeros. */
function damaged(page: number, by: number | undefined): string {
  const file = join(folder, 'damaged.db')
  for (const suffix of ['', '-wal', '-shm', '-witness']) rmSync(`${file}${suffix}`, { force: true })
  copyFileSync(sound, file)
  const descriptor = openSync(file, 'r+')
  const bytes = Buffer.alloc(pageBytes)
  if (by !== undefined) readSync(descriptor, bytes, 0, pageBytes, (by - 1) * pageBytes)
  writeSync(descriptor, bytes, 0, pageBytes, (page - 1) * pageBytes)
  closeSync(descriptor)
  return file
}

function openStore(file: string): Store {
  return new Store({ file, busyTimeoutMs: 1000, clock: systemClock })
}

function counter(store: Store, name: string) {
  return store.run([{ op: 'counter', args: [name] }], 1).outcomes[0]!
}

describe('a large store', () => {
  test('that is sound is read to its end in parts, and answers meanwhile', () => {
    const store = openStore(sound)
    let parts = 0
    while (store.check()) {
      parts++
      assert.ok('value' in counter(store, names[parts * 100]!))
      assert.ok('value' in counter(store, `nothing/${parts}`))
    }
    assert.ok(parts >= names.length / 4000)
    assert.equal(store.trouble, undefined)
    store.close()
  })

  for (const bytes of ['the bytes of a later page', 'the bytes of an earlier page', 'zeros'] as const) {
    test(`with ${bytes} in the place of a page: no counter of it reads as absent`, () => {
      const pages = leaves()
      const at = pages.length >> 1
      const other = {
        'the bytes of a later page': at + 9,
        'the bytes of an earlier page': at - 9,
        zeros: -1,
      }[bytes]
      const file = damaged(pages[at]!.page, pages[other]?.page)
      const lost = names.filter((name) => name >= pages[at]!.first && name < pages[at + 1]!.first)
      for (const name of [lost[0]!, lost[lost.length >> 1]!, lost.at(-1)!]) {
        const store = openStore(file)
        const outcome = counter(store, name)
        // The row above a page is in the page above it, and is found.
        if ('value' in outcome)
          assert.equal((outcome.value as { bound: bigint }).bound, BigInt(Number(name.slice(8)) + 1))
        else assert.match(outcome.message, /is damaged/)
        assert.ok(!('value' in counter(store, lost[1]!)), 'a damaged store is not read again')
        store.close()
        const other = openStore(file)
        const [reserved] = other.run(
          [{ op: 'reserve', args: [name, undefined, 1n, 0n, 1_000_000n, 0n, 1n] }],
          1,
        ).outcomes
        if ('value' in reserved!)
          assert.equal((reserved.value as { start: bigint }).start, BigInt(Number(name.slice(8)) + 1))
        else assert.match(reserved!.message, /is damaged/)
        other.close()
      }
    })

    test(`with ${bytes} in the place of a page: the check finds it, and nothing is read any more`, () => {
      const pages = leaves()
      const by = { 'the bytes of a later page': 9, 'the bytes of an earlier page': -9, zeros: 1000 }[bytes]
      // The first part of the check ends in one of these.
      for (let at = 20; at < 30; at++) {
        const store = openStore(damaged(pages[at]!.page, pages[at + by]?.page))
        while (store.check());
        assert.match(store.trouble ?? `page ${at} was not found`, /is damaged.*fahao restore/)
        assert.match((counter(store, names[0]!) as { message: string }).message, /is damaged/)
        store.close()
      }
    })
  }

  test('that is damaged is down without a call, and says why', async (t) => {
    const pages = leaves()
    const { promise, resolve } = Promise.withResolvers<string>()
    const onEvent = ({ level, message }: LogEvent) => {
      if (level === 'error') resolve(message)
    }
    // The thread of a store keeps no process alive.
    const alive = setInterval(() => {}, 60_000)
    t.after(() => clearInterval(alive))
    const engine = await openSqlite(damaged(pages[5]!.page, pages[50]!.page), { ...engineOptions(), onEvent })
    atEnd(t, () => engine.close())
    assert.match(await promise, /is damaged.*fahao restore/)
    assert.equal(engine.status().state, 'down')
    await assert.rejects(engine.counter(names[0]!), { code: 'UNAVAILABLE', message: /is damaged/ })
  })

  test('lists all that it has, before it was read', () => {
    const store = openStore(sound)
    const { outcomes } = store.run([{ op: 'list', args: ['record/', '', 10_000] }], 1)
    assert.equal((outcomes[0] as { value: unknown[] }).value.length, 2200)
    store.close()
  })

  test('is checked as a whole before an advance', () => {
    const pages = leaves()
    const store = openStore(damaged(pages.at(-20)!.page, pages[9]!.page))
    const { outcomes } = store.run([{ op: 'advance', args: [10n, [], new Map(), false] }], 1)
    assert.match((outcomes[0] as { message: string }).message, /is damaged/)
    store.close()
  })
})
