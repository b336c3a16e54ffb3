/**
 * The README, docs/start and the page about clients of Redis, run as a reader runs them: each block of shell, TypeScript and
 * JavaScript that needs nothing but Node and Debian's packages. A block that cannot run has `<!-- not run: REASON -->` before it.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { inScope } from '../launch/lifetime.ts'
import { blocksOf, chaptersOf, shellParts, shownBy, uselessMarks } from './blocks.ts'
import { runChapter } from './run.ts'

const repository = join(import.meta.dirname, '..', '..')
const paths = [
  'README.md',
  ...globSync('docs/start/**/*.md', { cwd: repository }).sort(),
  'docs/reference/redis-clients.md',
]
const read = (path: string) => readFileSync(join(repository, path), 'utf8')

for (const path of paths) {
  const page = read(path)
  const chapters = chaptersOf(page)
  if (chapters.length === 0) continue
  describe(path, () => {
    for (const { title, blocks } of chapters)
      test(`${title.replace(/^#+ /, '')}: ${blocks.length} of its blocks work as they stand`, () =>
        inScope((scope) => runChapter(scope, blocks, blocksOf(page))))
  })
}

test('every mark that excludes a block from this test has a reason and stands before such a block', () => {
  const useless = [...paths, 'README.zh-CN.md'].flatMap((path) =>
    uselessMarks(read(path)).map((each) => `${path} ${each}`),
  )
  assert.deepEqual(useless, [])
})

test('the README in Chinese excludes the same blocks, and shows the same output', () => {
  const [english, chinese] = ['README.md', 'README.zh-CN.md'].map((path) =>
    blocksOf(read(path)).map(({ mark, text }) => [mark, ...text.split('\n').map(shownBy)]),
  )
  assert.deepEqual(chinese, english)
})

describe('the parts of a block', () => {
  test('are servers and the commands between them, each with its continued lines', () => {
    assert.deepEqual(
      shellParts('a\n# remark\nnpm start  # first\nb \\\n  c\nd\nX=1 npx fahao serve --http off &\n'),
      [
        { commands: ['a'] },
        { server: 'npm start' },
        { commands: ['b \\\n  c', 'd'] },
        { server: 'X=1 npx fahao serve --http off' },
      ],
    )
  })

  test('show numbers and JSON exactly, and the digits of a quoted text as an example', () => {
    const shows = (line: string, output: string) => shownBy(line)?.test(output)
    assert.equal(shows('INCR order   # (integer) 11: you own 2 to 11', '11'), true)
    assert.equal(shows('INCR order   # (integer) 11: you own 2 to 11', '111'), false)
    assert.equal(shows('curl   # {"ids":["2"]}', '{"ids":["3"]}'), false)
    assert.equal(shows("await x.nextText() // 'sms_17', say", 'sms_4'), true)
    assert.equal(shows("await x.nextText() // 'sms_17', say", 'smt_4'), false)
    assert.equal(
      shows('console.log(x) // NOGENERATOR none; create it with: …', 'NOGENERATOR none; create it with: b'),
      true,
    )
    assert.equal(shownBy('await x.nextBatch(3) // bigint[]'), undefined)
  })
})
