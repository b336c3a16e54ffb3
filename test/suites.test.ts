/** The division of the test files between `npm test` and the rest. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { alone, filesOf, longest, matcher, processesOf } from '../scripts/test-lists.ts'

describe('the lists of test files', () => {
  const files = globSync('test/**/*.test.ts', { cwd: join(import.meta.dirname, '..') }).sort()

  test('name existing files and folders only', () => {
    filesOf('short', files)
    matcher(files, alone)
    matcher(files, longest)
  })

  test('put every file into npm test or into the rest, never into both', () => {
    const both = [...filesOf('short', files), ...filesOf('rest', files)]
    assert.deepEqual(both.sort(), files)
    assert.deepEqual(filesOf('all', files), files)
  })

  test('put the unit tests of a room into one process, and every other file into its own', () => {
    const some = [
      'test/a.test.ts',
      'test/unit/ids/b.test.ts',
      'test/unit/ids/sub/c.test.ts',
      'test/unit/d.test.ts',
    ]
    assert.deepEqual(processesOf(some), [
      { name: 'test/unit/ids', files: [some[1], some[2]] },
      { name: 'test/a.test.ts', files: [some[0]] },
      { name: 'test/unit/d.test.ts', files: [some[3]] },
    ])
    assert.deepEqual(
      processesOf(files)
        .flatMap(({ files }) => files)
        .sort(),
      files,
    )
  })

  test('leave a file that no entry names to the rest', () => {
    const some = ['test/unit/a.test.ts', 'test/integration/new.test.ts']
    assert.deepEqual(filesOf('short', some, ['test/unit']), ['test/unit/a.test.ts'])
    assert.deepEqual(filesOf('rest', some, ['test/unit']), ['test/integration/new.test.ts'])
  })

  test('refuse an entry that matches no file, also one that is the beginning of a name', () => {
    const some = ['test/unit/a.test.ts']
    for (const entry of ['test/unit/b.test.ts', 'test/uni', 'test/unit/'])
      assert.throws(() => filesOf('short', some, ['test/unit', entry]), {
        message: new RegExp(`matches ${entry}:`),
      })
  })
})
