/** The house rules that a machine can hold. Each is shown to hold, and to notice a file that breaks it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import {
  crumbs,
  leftOpen,
  longFiles,
  machineClocks,
  nodeGlobals,
  otherTestNames,
  undocumentedExports,
  unrunTests,
  unusedFiles,
  unwantedSyntax,
  vagueNames,
} from './tidy/code.ts'
import { circles, forbiddenImports, misdrawnRooms } from './tidy/layers.ts'
import {
  bannedWordsUsed,
  brokenLinks,
  foreignPlaces,
  incompleteLock,
  mergeConflicts,
  missingNames,
  readmeDifferences,
} from './tidy/prose.ts'
import { importsOf, readSource, type Tree } from './tidy/source.ts'
import { differingVersions, looseWorkflows, missingCommands } from './tidy/workflows.ts'

type Rule = {
  readonly name: string
  readonly findings: (tree: Tree) => string[]
  /** Each breaks the rule, by itself. */
  readonly breaking: readonly Readonly<Record<string, string>>[]
  /** Each looks like it, and keeps it. */
  readonly keeping?: readonly Readonly<Record<string, string>>[]
}

const root = join(import.meta.dirname, '..')
const entries = { 'src/index.ts': '', 'src/ids.ts': '', 'src/cli/fahao.ts': '', 'client/src/index.ts': '' }
// Words that must not stand in this file either.
const [later, skip, hidden, pronoun, figure] = [
  ['TO', 'DO'],
  ['.sk', 'ip'],
  ['/wo', 'rk/x'],
  ['No', 'body'],
  ['in ha', 'nd'],
].map((halves) => halves.join(''))

const rules: readonly Rule[] = [
  {
    name: 'architecture.md draws every room in its storey, and says what each imports',
    findings: misdrawnRooms,
    breaking: [{ 'docs/internals/architecture.md': '```\nids/\n```\n' }],
  },
  {
    name: 'each layer imports only what stands above it, and the client only what is pure',
    findings: forbiddenImports,
    breaking: [
      { 'src/base/a.ts': "import { x } from '../ids/x.ts'" },
      { 'src/base/a.ts': "import { x } from 'node:fs'" },
      { 'src/ids/a.ts': "import { x } from 'node:crypto'" },
      { 'src/ids/a.ts': "const x = await import('zod')" },
      { 'src/ids/a.ts': "export { x } from '../engine/x.ts'" },
      { 'src/engine/a.ts': "import type { x } from '../issuing/x.ts'" },
      { 'src/engine/memory/a.ts': "import { x } from '../sqlite/x.ts'" },
      { 'src/engine/memory/a.ts': "import { x } from '../open.ts'" },
      { 'src/engine/engine.ts': "import { x } from './memory/x.ts'" },
      { 'src/issuing/a.ts': "import '../catalogue/x.ts'" },
      { 'src/node/a.ts': "import { x } from '../resp/x.ts'" },
      { 'src/resp/a.ts': "import { x } from '../http/x.ts'" },
      { 'src/http/native/a.ts': "import { x } from '../../resp/x.ts'" },
      { 'src/cli/a.ts': "import { x } from '../index.ts'" },
      { 'src/cli/a.ts': "import { x } from '../../test/x.ts'" },
      { 'src/cli/a.ts': "import { x } from '../node/x.js'" },
      { 'src/extra/a.ts': "import { x } from '../base/x.ts'" },
      { 'src/ids.ts': "export { x } from './issuing/x.ts'" },
      { 'src/ids.ts': "import { x } from 'zod'" },
      { 'src/index.ts': "export { x } from './cli/x.ts'" },
      { 'src/extra.ts': "export { x } from './base/x.ts'" },
      { 'src/cli/a.ts': "import { x } from '../../client/src/x.ts'" },
      { 'client/src/a.ts': "import { x } from '../../src/issuing/x.ts'" },
      { 'client/src/a.ts': "import { x } from '../../src/ids.ts'" },
      { 'client/src/a.ts': "import { x } from 'node:fs'" },
      { 'client/src/a.ts': "const x = await import('redis')" },
    ],
    keeping: [
      { 'client/src/a.ts': "import { x } from '../../src/ids/x.ts'\nimport { y } from './y.ts'" },
      { 'client/src/resp-link.ts': "const x = await import('redis')" },
      { 'src/engine/mysql/a.ts': "import { x } from '../sql/x.ts'" },
      { 'src/ids.ts': "import { x } from './ids/x.ts'" },
      { 'src/engine/open.ts': "const x = await import('./mysql/x.ts')" },
      { 'src/cli/a.ts': "import { x } from '../http/x.ts'\nimport { y } from '../resp/y.ts'" },
      { 'src/base/a.ts': "const page = `import { x } from 'node:fs'` // import 'node:fs'" },
    ],
  },
  {
    name: 'no files of the packages import each other in a circle, of types too',
    findings: circles,
    breaking: [
      { 'src/base/a.ts': "import type { x } from './b.ts'", 'src/base/b.ts': "import { y } from './a.ts'" },
      {
        'src/ids/a.ts': "import { x } from '../base/b.ts'",
        'src/base/b.ts': "import { x } from './c.ts'",
        'src/base/c.ts': "import type { y } from '../ids/a.ts'",
      },
    ],
    keeping: [
      { 'src/base/a.ts': "import { x } from './b.ts'", 'src/base/b.ts': "import { y } from './c.ts'" },
      { 'src/base/a.ts': "// import { x } from './b.ts'", 'src/base/b.ts': "import { y } from './a.ts'" },
    ],
  },
  {
    name: 'no file of the packages is longer than 400 lines',
    findings: longFiles,
    breaking: [
      { 'src/base/a.ts': 'const x = 1\n'.repeat(401) },
      { 'client/src/a.ts': 'const x = 1\n'.repeat(401) },
    ],
    keeping: [{ 'src/base/a.ts': 'const x = 1\n'.repeat(400) }],
  },
  {
    name: 'a file of the packages with fewer than 25 lines has several importers',
    findings: crumbs,
    breaking: [
      { 'src/base/a.ts': 'const x = 1\n'.repeat(24), 'src/base/b.ts': "import { x } from './a.ts'" },
    ],
    keeping: [
      { 'src/base/a.ts': 'const x = 1\n'.repeat(25), 'src/base/b.ts': "import { x } from './a.ts'" },
      { 'src/base/a.ts': '', 'src/base/b.ts': "import './a.ts'", 'src/base/c.ts': "import './a.ts'" },
    ],
  },
  {
    name: 'every file of the packages is reached from the library, from fahao/ids, from the command line, from the client or from its hooks',
    findings: unusedFiles,
    breaking: [
      { ...entries, 'client/src/a.ts': '' },
      { ...entries, 'client/src/orm/missing-ids.ts': '' },
      { ...entries, 'src/base/a.ts': '' },
      { 'src/index.ts': '', 'src/ids.ts': '' },
    ],
    keeping: [
      {
        ...entries,
        'src/index.ts': "new Worker(new URL('./base/w.ts', import.meta.url))",
        'src/base/w.ts': '',
      },
      { ...entries, 'src/index.ts': "import './a.ts'", 'src/a.ts': "await import('./b.ts')", 'src/b.ts': '' },
    ],
  },
  {
    name: 'every export of the packages has a doc comment and is named',
    findings: undocumentedExports,
    breaking: [
      { 'src/base/a.ts': 'export const x = 1' },
      { 'src/base/a.ts': '/* plain */\nexport function x() {}' },
      { 'src/base/a.ts': '/** Of the file. */\nimport x\n\nexport type X = 1' },
      { 'src/base/a.ts': "export * from './b.ts'" },
      { 'src/base/a.ts': 'const x = 1\nexport { x }' },
    ],
    keeping: [
      { 'src/base/a.ts': '/** One. */\nexport const x = 1\n\n/** Two. */\nexport async function y() {}' },
      { 'src/base/a.ts': "export { x } from './b.ts'\nexport type { y } from './c.ts'" },
      { 'src/base/a.ts': '/** f. */\nexport function f(a: 1): void\nexport function f(a: 2): void' },
    ],
  },
  {
    name: "only base/clock.ts touches the machine's clocks, timers and randomness",
    findings: machineClocks,
    breaking: [
      'Date.now()',
      'Math.random()',
      'performance.now()',
      'setTimeout(f, 1)',
      'setInterval(f, 1)',
      'new Date()',
      'process.hrtime.bigint()',
      "import { setTimeout as f } from 'node:timers/promises'",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: code, as a file would have it
      'const text = `${Date.now()}`',
    ].map((code) => ({ 'src/node/a.ts': code })),
    keeping: [
      { 'src/base/clock.ts': 'Date.now()' },
      { 'src/node/a.ts': "// Date.now()\nconst x = 'Date.now()'\nnew Date(timeMs)\nclearTimeout(x)" },
      { 'src/node/a.ts': "const quote = /['\"`]/\nconst x = 'Date.now()'" },
    ],
  },
  {
    name: 'base, ids and the client use nothing that only node has',
    findings: nodeGlobals,
    breaking: [
      { 'client/src/a.ts': 'Buffer.from(x)' },
      { 'src/ids/a.ts': 'Buffer.from(x)' },
      { 'src/base/a.ts': 'process.exit(1)' },
    ],
    keeping: [{ 'src/ids/a.ts': 'type X = { process: 1 }\nx.process()' }, { 'src/node/a.ts': 'process.pid' }],
  },
  {
    name: 'no default exports, enums, namespaces or using',
    findings: unwantedSyntax,
    breaking: [
      { 'src/base/a.ts': 'export default 1' },
      { 'test/a.ts': 'enum Kind { a }' },
      { 'src/base/a.ts': 'declare namespace X { }' },
      { 'test/a.ts': 'await using x = await open()' },
    ],
    keeping: [{ 'src/base/a.ts': "const enumeration = z.enum(['a'])\n// an enum x { }" }],
  },
  {
    name: 'no file is named for nothing in particular',
    findings: vagueNames,
    breaking: ['src/base/utils.ts', 'test/helpers/a.ts', 'src/node/lease-manager.ts', 'bench/common.ts'].map(
      (path) => ({
        [path]: '',
      }),
    ),
    keeping: [{ 'src/commands/commonwealth.ts': '' }],
  },
  {
    name: 'nothing is left open in the code',
    findings: leftOpen,
    breaking: [{ 'src/base/a.ts': `// ${later}: later` }],
  },
  {
    name: 'every test runs',
    findings: unrunTests,
    breaking: [
      { 'test/a.test.ts': `test${skip}('x', () => {})` },
      { 'test/a.test.ts': "test('x', { timeout: 1, skip: true }, () => {})" },
      { 'test/a.test.ts': "describe('x', { only: true }, () => {})" },
      { 'test/a.test.ts': `test('x', (t) => t${skip}())` },
    ],
    keeping: [{ 'test/a.test.ts': "test('--skip moves on', () => restore({ skip: 1n }))" }],
  },
  {
    name: 'a test is `test`, and a group of tests `describe`',
    findings: otherTestNames,
    breaking: [
      { 'test/a.test.ts': "import { describe, it } from 'node:test'" },
      { 'test/a.ts': "import { suite } from 'node:test'" },
    ],
    keeping: [{ 'test/a.test.ts': "import { after, describe, type TestContext, test } from 'node:test'" }],
  },
  {
    name: 'text uses the words of the glossary, and names its subjects',
    findings: bannedWordsUsed,
    breaking: [
      { 'src/base/a.ts': `// ${pronoun} leads.` },
      { 'src/base/a.ts': `const message = 'ids ${figure}'` },
      { 'CONTRIBUTING.md': `ids ${figure}` },
      { 'test/a.test.ts': `test('${pronoun} answers', () => {})` },
    ],
    keeping: [
      { 'src/base/a.ts': '// No node leads. By hand, at the stockade, in a handler.' },
      { 'CONTRIBUTING.md': 'Buffered ids; the hand-over of a shard; an amendment' },
    ],
  },
  {
    name: 'the project speaks of itself alone',
    findings: foreignPlaces,
    breaking: [
      { 'README.md': `See ${hidden}` },
      { 'src/base/a.ts': `// https://registry${'.'}example.org/` },
      { 'a.json': `https://www.npm${'js'}.com/` },
    ],
    keeping: [{ 'README.md': 'the npm registry, test/work/x' }],
  },
  {
    name: 'no merge is left undecided',
    findings: mergeConflicts,
    breaking: ['<', '=', '>', '|'].map((mark) => ({
      'CHANGELOG.md': `- a\n${mark.repeat(7)}${mark === '=' ? '' : ' main'}\n- b`,
    })),
    keeping: [{ 'CHANGELOG.md': `Title\n${'='.repeat(8)}\n- a ${'>'.repeat(7)} b` }],
  },
  {
    name: 'both READMEs have the same headings and the same code',
    findings: readmeDifferences,
    breaking: [
      { 'README.md': '# a' },
      { 'README.md': '# a\n## b', 'README.zh-CN.md': '# a\n### b' },
      { 'README.md': '```sh\na\n```', 'README.zh-CN.md': '```sh\nb\n```' },
      { 'README.md': '```sh\na\n```', 'README.zh-CN.md': '' },
    ],
    keeping: [
      {
        'README.md': '# a\n```sh\n# one\nnpm start  # two\n```\n## b',
        'README.zh-CN.md': '# 一\n```sh\n# 壹\nnpm start  # 贰\n```\n## 二',
      },
    ],
  },
  {
    name: 'relative links lead to a file, and to a heading in it',
    findings: brokenLinks,
    breaking: [
      { 'README.md': '[a](docs/a.md)' },
      { 'README.md': '[a](#nowhere)\n# Somewhere' },
      { 'README.md': '[a](docs/a.md#two)', 'docs/a.md': '# One' },
      { 'docs/a.md': '[a]: ../none.md' },
    ],
    keeping: [
      {
        'README.md': '[a](docs/a.md#it-is-two-2) [b](docs) [c](https://x.org/y)',
        'docs/a.md': '# It is: `two` 2',
      },
      { 'README.zh-CN.md': '[a](#如何-开始)\n## 如何 开始\n```md\n[x](none.md)\n```' },
    ],
  },
  {
    name: 'files and members that the internals and comments name exist',
    findings: missingNames,
    breaking: [
      { 'docs/internals/a.md': 'The queue (`buffers/wait-queue.ts`) is first in, first out.' },
      { 'CONTRIBUTING.md': '| a.ts | b |', 'src/ba.ts': '' },
      { 'src/a.ts': '/** As in `b.ts`. */' },
      { 'src/a.ts': '/** Runs in `#serve`. */\nserve()' },
    ],
    keeping: [
      { 'src/a.ts': '/** `#serve`, as in `a.ts`. */\nthis.#serve("b.ts ")' },
      { 'docs/internals/a.md': 'See `ids/run.ts`, run.ts (`src/ids/run.ts`).', 'src/ids/run.ts': '' },
      { 'docs/concepts/a.md': 'Write `main.ts`.' },
    ],
  },
  {
    name: 'workflows and pages name scripts that exist',
    findings: missingCommands,
    breaking: [
      { 'docs/a.md': 'Run `npm run nothing`.' },
      { '.github/workflows/a.yml': 'run: npm run --silent nothing' },
      { '.github/workflows/a.yml': 'run: bash .ci/none' },
      { '.devcontainer/devcontainer.json': '"onCreateCommand": "sh scripts/none.sh"' },
    ],
    keeping: [
      {
        'package.json': '{"scripts":{"test:rest":"x"}}',
        'scripts/a.sh': '',
        '.github/workflows/a.yml': 'run: npm run --silent test:rest\nrun: sh scripts/a.sh',
        'docs/a.md': 'npm run test:rest.',
      },
    ],
  },
  {
    name: 'workflows pin what they use, and say what they may do',
    findings: looseWorkflows,
    breaking: [
      { '.github/workflows/a.yml': 'permissions: {}\nuses: a/b@v1' },
      { '.github/workflows/a.yml': `permissions: {}\nuses: a/b@${'0'.repeat(40)}` },
      { '.github/workflows/a.yml': 'on: push' },
    ],
    keeping: [
      { '.github/workflows/a.yml': `permissions: {}\nuses: a/b/c@${'0'.repeat(40)} # v1.2.3\nuses: ./a.yml` },
    ],
  },
  {
    name: 'both packages have the same version',
    findings: differingVersions,
    breaking: [{ 'package.json': '{"version":"1.0.0"}', 'client/package.json': '{"version":"1.0.1"}' }],
    keeping: [
      {
        'package.json': '{"version":"1.0.0"}',
        'client/package.json': '{"version":"1.0.0"}',
        'package-lock.json': '{"packages":{"":{"version":"1.0.0"},"client":{"version":"1.0.0"}}}',
      },
    ],
  },
  {
    name: 'the lock file serves every platform',
    findings: incompleteLock,
    breaking: [{ 'package-lock.json': '{"packages":{"node_modules/a":{"optionalDependencies":{"b":"1"}}}}' }],
    keeping: [
      {
        'package-lock.json':
          '{"packages":{"node_modules/a":{"optionalDependencies":{"b":"1"}},"node_modules/b":{}}}',
      },
    ],
  },
]

describe('the house rules', () => {
  const repository = readRepository()
  for (const { name, findings, breaking, keeping = [] } of rules) {
    test(name, () => {
      for (const files of breaking) {
        assert.notDeepEqual(
          findings(new Map(Object.entries(files))),
          [],
          `not noticed: ${JSON.stringify(files)}`,
        )
      }
      for (const files of keeping) {
        assert.deepEqual(
          findings(new Map(Object.entries(files))),
          [],
          `taken for a breach: ${JSON.stringify(files)}`,
        )
      }
      const found = findings(repository)
      assert.ok(found.length === 0, `\n${found.join('\n')}`)
    })
  }

  test('the reader of sources tells code from strings, comments and regular expressions', () => {
    const source = readSource(
      // biome-ignore lint/suspicious/noTemplateCurlyInString: code, as a file would have it
      "const a = /'/ // it's\nimport { b } from './b.ts'\nconst c = `${d('}')} import 'e'`",
    )
    assert.deepEqual(importsOf(source), ['./b.ts'])
    assert.equal(source.code.length, source.text.length)
    assert.match(source.code, /d\( +\)/)
  })
})

/** What git knows of, or would: nothing that is ignored. */
function readRepository(): Tree {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 } as const
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    options,
  )
  const removed = execFileSync('git', ['ls-files', '-z', '--deleted'], options)
  const gone = new Set(removed.split('\0'))
  const paths = listed.split('\0').filter((path) => path !== '' && !gone.has(path))
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}
