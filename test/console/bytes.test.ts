/** What a browser gets of the console: few bytes, none of another host, nothing inline. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'

const folder = join(import.meta.dirname, '../../dist/console')
const firstPaintMax = 100_000

describe('the built console', () => {
  const files = readdirSync(folder)
  const textOf = (file: string) => readFileSync(join(folder, file), 'utf8')

  test('is a document, its code and its style, which are named after what they contain', () => {
    assert.deepEqual(files.map((file) => file.replace(/-[0-9a-f]{10}\./, '-HASH.')).sort(), [
      'console-HASH.css',
      'console-HASH.js',
      'index.html',
    ])
    for (const file of files.filter((each) => each !== 'index.html'))
      assert.ok(textOf('index.html').includes(`"/console/${file}"`), file)
  })

  test('is painted first with less than 100 KB, compressed', () => {
    const bytes = files.map((file) => gzipSync(textOf(file)).length)
    const total = bytes.reduce((sum, each) => sum + each, 0)
    assert.ok(total < firstPaintMax, `${total} bytes`)
  })

  test('names no other host', () => {
    // Names of XML, and the address of a server on the same machine, which are never asked.
    const harmless = /^http:\/\/(?:www\.w3\.org\/|127\.0\.0\.1:7380)/
    const named = files.flatMap(
      (file) => textOf(file).match(/(?:https?:)?\/\/[\w-]+\.[\w.-]+[^\s"'`]*/g) ?? [],
    )
    assert.deepEqual(
      named.filter((url) => !harmless.test(url)),
      [],
    )
  })

  test('needs no inline script, no inline style, and no eval', () => {
    const document = textOf('index.html')
    assert.doesNotMatch(document, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
    const code = textOf(files.find((file) => file.endsWith('.js'))!)
    assert.doesNotMatch(code, /\beval\(|new Function\(|\.innerHTML\s*\+?=\s*`/)
  })
})
