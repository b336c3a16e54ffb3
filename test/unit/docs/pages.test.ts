/** What pages written by hand name must exist, under that name. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { optionNames } from '../../../src/catalogue/generator-options.ts'
import { settings } from '../../../src/config/config-schema.ts'

function page(path: string): string {
  return readFileSync(join(import.meta.dirname, '../../../docs', path), 'utf8')
}

function namesIn(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, name]) => name!))]
}

test('the page about generators lists every option of one, and no other', () => {
  const table = page('concepts/generators.md').split('\n## Options\n')[1]!.split('\n## ')[0]!
  assert.deepEqual(namesIn(table, /^\| `(\w+)` \|/gm).sort(), [...optionNames].sort())
})

test('the page about limits names settings that exist', () => {
  const named = namesIn(page('operating/limits.md'), /\| `([a-z-]+)` \|/g)
  assert.ok(named.length > 5)
  assert.deepEqual(
    named.filter((name) => !settings.some((setting) => setting.name === name)),
    [],
  )
})
