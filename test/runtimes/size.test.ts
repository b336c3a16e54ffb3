/** How much of fahao-client a browser loads: at first, and when a generator needs the rest. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { makeProject, split } from './project.ts'

/**
 * 22 KB at first, and 26 KB more with snowflakes, periods, formats and their check digits, 128 bits, permutations, plain worker ids and
 * the management of generators.
 */
const firstMax = 22 * 1024
const allMax = 47.5 * 1024

test('a browser loads at most 22 KB, minified and gzipped, until a generator needs more', async (t) => {
  const project = await makeProject({ after })
  await split(project, 'page.js', 'split')
  const folder = join(project, 'split')
  const textOf = (name: string) => readFileSync(join(folder, name), 'utf8')
  const sizeOf = (names: Iterable<string>) =>
    [...names].reduce((sum, name) => sum + gzipSync(textOf(name), { level: 9 }).length, 0)
  const first = new Set(['page.js'])
  for (const name of first)
    for (const [, imported] of textOf(name).matchAll(/from"\.\/([^"]+)"/g)) first.add(imported!)
  const all = readdirSync(folder)
  assert.ok(first.size < all.length, 'some of it is loaded later')
  t.diagnostic(`${sizeOf(first)} bytes at first, ${sizeOf(all)} in all`)
  assert.ok(sizeOf(first) <= firstMax, `${sizeOf(first)} bytes at first`)
  assert.ok(sizeOf(all) <= allMax, `${sizeOf(all)} bytes in all`)
})
