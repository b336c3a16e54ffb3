/** What a start loads: every command and every server pays for it. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const source = join(import.meta.dirname, '../../../src')

/** Prints the files and the parts of Node that are loaded once `modules` are. */
const listed = `
  import { registerHooks } from 'node:module'
  const files = []
  registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) })
  for (const path of process.argv.slice(1)) await import(path)
  console.log(JSON.stringify([...files, ...process.moduleLoadList]))`

async function loadedWith(...modules: readonly string[]): Promise<readonly string[]> {
  const paths = modules.map((path) => join(source, path))
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    listed,
    ...paths,
  ])
  return JSON.parse(stdout)
}

test('a server loads no protocol that is off, and no fetch', async () => {
  const loaded = await loadedWith('cli/main.ts', 'cli/run-server.ts')
  for (const wanted of [/\/src\/resp\/server\.ts/, /\/src\/http\/app\.ts/, /^NativeModule http$/])
    assert.ok(loaded.some((each) => wanted.test(each)))
  const needless = /\/src\/(?:postgres|proxy)\/|undici/
  assert.deepEqual(
    loaded.filter((each) => needless.test(each)),
    [],
  )
})
