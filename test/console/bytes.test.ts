/** What a browser gets of the console: few bytes, none of another host, nothing inline. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'

const folder = join(import.meta.dirname, '../../dist/console')
const packages = join(import.meta.dirname, '../../node_modules')
const firstPaintMax = 100_000
const docsMax = 500_000

describe('the built console', () => {
  const files = readdirSync(folder)
  /** Swagger UI names many, and a browser test sees that it asks none. */
  const ours = files.filter((file) => !file.startsWith('viewer-'))
  const textOf = (file: string) => readFileSync(join(folder, file), 'utf8')

  const sizeOf = (names: readonly string[]) =>
    names.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file)), { level: 9 }).length, 0)
  /** What a page loads, by its document. */
  const filesOf = (page: string) => [
    page,
    ...files.filter((file) => textOf(page).includes(`"/console/${file}"`)),
  ]

  test('is two documents, their code and their styles, which are named after what they contain', () => {
    assert.deepEqual(files.map((file) => file.replace(/-[0-9a-f]{10}\./, '-HASH.')).sort(), [
      'console-HASH.css',
      'console-HASH.js',
      'docs-HASH.js',
      'docs.html',
      'index.html',
      'viewer-HASH.css',
      'viewer-HASH.js',
    ])
    assert.deepEqual([...new Set(['index.html', 'docs.html'].flatMap(filesOf))].sort(), files.toSorted())
    assert.equal(filesOf('index.html').length, 3)
  })

  test('is painted first with less than 100 KB, compressed', () => {
    const total = sizeOf(filesOf('index.html'))
    assert.ok(total < firstPaintMax, `${total} bytes`)
  })

  test('shows the API with less than 500 KB, compressed: Swagger UI as its authors have built it', () => {
    const total = sizeOf(filesOf('docs.html'))
    assert.ok(total < docsMax, `${total} bytes`)
    const built = (file: string) => readFileSync(join(packages, 'swagger-ui-dist', file), 'utf8')
    const viewer = textOf(files.find((file) => /^viewer-.*js$/.test(file))!)
    assert.ok(built('swagger-ui-bundle.js').startsWith(viewer.trimEnd()))
    assert.doesNotMatch(viewer, /scarf/i)
    // What counts installations is replaced by a package without a script of its installation.
    const { name, scripts } = JSON.parse(
      readFileSync(join(packages, 'swagger-ui-dist/node_modules/@scarf/scarf/package.json'), 'utf8'),
    )
    assert.deepEqual([name, scripts?.postinstall], ['nanoid', undefined])
  })

  test('names no other host', () => {
    // Names of XML, and the address of a server on the same machine, which are never asked.
    const harmless = /^http:\/\/(?:www\.w3\.org\/|127\.0\.0\.1:7380)/
    const named = ours.flatMap(
      (file) => textOf(file).match(/(?:https?:)?\/\/[\w-]+\.[\w.-]+[^\s"'`]*/g) ?? [],
    )
    assert.deepEqual(
      named.filter((url) => !harmless.test(url)),
      [],
    )
  })

  test('needs no inline script, no inline style, and no eval', () => {
    for (const file of ours) {
      if (file.endsWith('.html'))
        assert.doesNotMatch(textOf(file), /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/, file)
      if (file.endsWith('.js'))
        assert.doesNotMatch(textOf(file), /\beval\(|new Function\(|\.innerHTML\s*\+?=\s*`/, file)
    }
  })
})
