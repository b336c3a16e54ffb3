import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStores, sameDatabase } from '../../../src/legacy/import/stores.ts'

test('two URLs name one database by host, port and name, under any user and options', () => {
  const from = 'mysql://a:x@db/ids?schema=leaf'
  for (const same of ['mysql://b@db/ids', 'mariadb://a:x@db:3306/ids?pool=2', 'mysql://a@DB/ids'])
    assert.equal(sameDatabase(from, same), true, same)
  for (const other of ['mysql://a@db/other', 'mysql://a@db:3307/ids', 'mysql://a@db2/ids', 'sqlite:./ids'])
    assert.equal(sameDatabase(from, other), false, other)
  assert.equal(sameDatabase('postgres://a@db/ids', 'postgresql://a@db:5432/ids'), true)
  assert.equal(sameDatabase('postgres://a@db/ids', 'mysql://a@db/ids'), false)
})

test('rows do not move to a table of an old service', async () => {
  const url = 'mysql://a@127.0.0.1:1/ids?schema=leaf'
  await assert.rejects(openStores(url, url, true), { code: 'CONFIG', message: /--into/ })
})
