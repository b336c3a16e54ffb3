import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const entry = join(import.meta.dirname, '..', '..', '..', 'src', 'cli', 'fahao.ts')

/** Runs the entry in a process that believes to be this Node. */
function runOn(version: string): { code: number; stderr: string } {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, entry, '--version']
  try {
    execFileSync(process.execPath, args, { stdio: 'pipe' })
    return { code: 0, stderr: '' }
  } catch (error) {
    const { status, stderr } = error as { status: number; stderr: Buffer }
    return { code: status, stderr: String(stderr) }
  }
}

test('a Node that is too old gets one line of error, before any newer file is loaded', () => {
  for (const version of ['20.20.2', '22.17.1', '18.0.0']) {
    const { code, stderr } = runOn(version)
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`^fahao needs Node 22\\.18 or later, and this is Node ${version}.*\\n$`))
  }
})

test('a Node that is new enough runs the program', () => {
  for (const version of ['22.18.0', '24.0.0', '30.0.0']) assert.equal(runOn(version).code, 0)
})
