/** What keeps a release from being made. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { notesOf, type Repository, refusals, withSection } from '../scripts/release/readiness.ts'

const ready: Repository = {
  manifests: {
    'package.json': { name: 'fahao', version: '0.2.0' },
    'client/package.json': { name: 'fahao-client', version: '0.2.0' },
  },
  changelog:
    '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-27\n\n- Ids.\n\n## [0.1.0] - 2026-01-02\n\n- More.\n',
  changes: '',
  tags: ['v0.2.0'],
}
const client = { name: 'fahao-client', version: '0.1.9' }
const noSection = ready.changelog.replace('[0.2.0]', '[0.2.0-rc.1]')

describe('a release', () => {
  test('is made of a tagged commit with a section in the changelog', () => {
    assert.deepEqual(refusals(ready, { dryRun: false }), [])
  })

  const faults: readonly (readonly [what: string, fault: Partial<Repository>, reason: RegExp])[] = [
    ['with changes that are not committed', { changes: ' M a.ts' }, /commit them/],
    [
      'of packages with different versions',
      { manifests: { ...ready.manifests, 'client/package.json': client } },
      /fahao is 0\.2\.0, fahao-client is 0\.1\.9: .*--set/,
    ],
    ['without a section in the changelog', { changelog: noSection }, /no section \[0\.2\.0\]/],
  ]
  for (const [what, fault, reason] of faults)
    test(`${what} is refused, and not even tried`, () => {
      for (const dryRun of [false, true]) {
        const reasons = refusals({ ...ready, ...fault }, { dryRun })
        assert.equal(reasons.length, 1)
        assert.match(reasons[0]!, reason)
      }
    })

  test('without a tag is refused, but can be tried', () => {
    assert.match(refusals({ ...ready, tags: [] }, { dryRun: false })[0]!, /has no tag v0\.2\.0/)
    assert.deepEqual(refusals({ ...ready, tags: [] }, { dryRun: true }), [])
  })

  test('of what is still called unreleased can be tried', () => {
    const changelog = '# Changelog\n\n## [Unreleased]\n\n- Ids.\n'
    assert.deepEqual(refusals({ ...ready, changelog, tags: [] }, { dryRun: true }), [])
    assert.equal(refusals({ ...ready, changelog }, { dryRun: false }).length, 1)
  })
})

describe('a changelog', () => {
  test('gets a section for a version of what was unreleased, once', () => {
    const changelog = '# Changelog\n\n## [Unreleased]\n\n- Ids.\n\n## [0.1.0] - 2026-01-02\n\n- More.\n'
    const dated = withSection(changelog, '0.2.0', '2026-11-27')
    assert.match(dated, /## \[Unreleased\]\n\n## \[0\.2\.0\] - 2026-11-27\n\n- Ids\.\n\n## \[0\.1\.0\]/)
    assert.equal(notesOf(dated, '0.2.0'), '- Ids.')
    assert.equal(notesOf(dated, 'Unreleased'), undefined)
    assert.equal(withSection(dated, '0.2.0', '2026-11-28'), dated)
    assert.throws(() => withSection(dated, '0.3.0', '2026-11-28'), /nothing below \[Unreleased\]/)
  })
})
