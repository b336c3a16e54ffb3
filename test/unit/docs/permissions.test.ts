import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { subjectsOf } from '../../../src/commands/access.ts'
import { createCommands } from '../../../src/commands/all.ts'
import { compatRows, operationRows, permissionsPage, renderPermissions } from './permissions.ts'

test('the page about permissions agrees with the records', async () => {
  assert.equal(
    await readFile(permissionsPage, 'utf8'),
    await renderPermissions(),
    'docs/reference/permissions.md is out of date: run `npm run docs`',
  )
})

test('every route of HTTP stands for a command that rules can name, or is one of those that need no login', async () => {
  const names = new Set(subjectsOf(createCommands().all()).map(({ name }) => name))
  const rows = [...(await operationRows()), ...compatRows()]
  for (const { command, path } of rows) if (command !== undefined) assert.ok(names.has(command), path)
  assert.deepEqual(
    rows.filter(({ command }) => command === undefined).map(({ path }) => path),
    [
      '/healthz',
      '/readyz',
      '/openapi.json',
      '/docs',
      '/console',
      '/',
      '/tinyid/id/nextId',
      '/tinyid/id/nextIdSimple',
      '/tinyid/id/nextSegmentId',
      '/tinyid/id/nextSegmentIdSimple',
    ],
  )
})
