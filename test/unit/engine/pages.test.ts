import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from '../../../src/engine/engine.ts'
import { everyPage, listAll } from '../../../src/engine/pages.ts'

test('pages are read after the last item of the page before, up to the first that is not full', async () => {
  const asked: (number | undefined)[] = []
  const read = async (last = 0) => {
    asked.push(last)
    return [1, 2, 3, 4].filter((each) => each > last).slice(0, 2)
  }
  const pages: (readonly number[])[] = []
  for await (const page of everyPage(2, read)) pages.push(page)
  assert.deepEqual(pages, [[1, 2], [3, 4], []])
  assert.deepEqual(asked, [0, 2, 4])
})

test('a list of all records contains the records of every page', async () => {
  const keys = Array.from({ length: 2500 }, (_, index) => `k${String(index).padStart(4, '0')}`)
  const list = async (_prefix: string, { after = '', limit }: Page = {}) => {
    const page = keys.filter((key) => key > after).slice(0, limit)
    return page.map((key) => ({ key, value: '', version: 1n }))
  }
  assert.deepEqual(
    (await listAll({ list }, 'k')).map(({ key }) => key),
    keys,
  )
})
