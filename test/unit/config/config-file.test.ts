import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { parseOptions } from '../../../src/catalogue/generator-options.ts'
import { readConfigFile } from '../../../src/config/config-file.ts'
import { loadConfig } from '../../../src/config/load-config.ts'

function generatorsOf(text: string): Record<string, unknown> {
  return Object.fromEntries(loadConfig({ readFile: () => text }).config.generators)
}

const numbers = () => {
  let number = 0
  return () => String(number++)
}

/** How many nodes the YAML parser looks at in `work`. */
function looksOf(work: () => void): number {
  const require = createRequire(import.meta.url)
  const identity = require(join(dirname(require.resolve('yaml')), 'nodes/identity.js'))
  const { isScalar } = identity
  let looks = 0
  identity.isScalar = (node: unknown) => {
    looks++
    return isScalar(node)
  }
  try {
    work()
  } finally {
    identity.isScalar = isScalar
  }
  return looks
}

test('big integers lose nothing', () => {
  const generators = generatorsOf(`
generators:
  a: { kind: sequence, start: 9007199254740993, max: 9223372036854775806 }
  b: { kind: sequence, start: '9007199254740993' }
`)
  assert.equal(parseOptions(generators.a).start, 9007199254740993n)
  assert.equal(parseOptions(generators.a).max, 9223372036854775806n)
  assert.equal(parseOptions(generators.b).start, 9007199254740993n)
})

test('small integers are numbers at every depth', () => {
  const generators = generatorsOf(`
generators:
  txn: { kind: timestamp, node: 3, layout: { fields: [{ field: time, bits: 41 }], epoch: 1288834974657 } }
`)
  assert.deepEqual(generators.txn, {
    kind: 'timestamp',
    node: 3,
    layout: { fields: [{ field: 'time', bits: 41 }], epoch: 1288834974657 },
  })
})

test('generators keep their order and any names', () => {
  const generators = generatorsOf(`
generators:
  z: { kind: segment }
  123: { kind: segment }
  __proto__: { kind: segment }
  true: { kind: segment }
`)
  assert.deepEqual(Object.keys(generators).sort(), ['123', '__proto__', 'true', 'z'])
  const { config } = loadConfig({
    readFile: () => 'generators: { z: { kind: segment }, a: { kind: segment } }',
  })
  assert.deepEqual(
    config.generators.map(([name]) => name),
    ['z', 'a'],
  )
})

test('aliases stand for what their anchors name, in any number', () => {
  const names = Array.from({ length: 300 }, (_, at) => `g${at}`)
  const generators = generatorsOf(
    `generators:\n  g: &g { kind: segment, start: &s 5 }\n  h: { kind: sequence, start: *s }\n${names.map((name) => `  ${name}: *g\n`).join('')}`,
  )
  assert.deepEqual(generators.h, { kind: 'sequence', start: 5 })
  for (const name of names) assert.deepEqual(generators[name], { kind: 'segment', start: 5 })
})

test('a name takes as much work in a file of many as in a file of few', () => {
  const workOf = (names: number) =>
    looksOf(() =>
      generatorsOf(
        `generators:\n${'  g#: *g\n'.repeat(names - 1)}`
          .replace('*g', '&g { kind: segment }')
          .replaceAll(/#/g, numbers()),
      ),
    )
  const few = workOf(100)
  assert.ok(few > 0)
  assert.ok(workOf(1000) < 2 * 10 * few)
})

test('an empty file and a file of comments set nothing', () => {
  for (const text of ['', '# nothing\n', '---\n', 'generators:\n']) {
    const { settings, generators } = readConfigFile('f.yaml', text)
    assert.deepEqual([settings.size, generators.size], [0, 0])
  }
})

const broken: [what: string, text: string, message: RegExp][] = [
  ['YAML that is none', 'engine: x\nlead: [1', /^f\.yaml:2:9: /],
  ['a key that is given twice', 'lead: 1s\nlead: 2s', /^f\.yaml:2:1: 'lead' is given twice; give it once/],
  [
    'a value with a colon',
    'engine: memory:\nlead: 1s',
    /^f\.yaml:1:9: .*; put a value with a colon into quotes: 'memory:'$/,
  ],
  ['a value with colons', 'format: a: b # c', /^f\.yaml:1:9: .*into quotes: 'a: b'$/],
  ['such a value in braces', 'generators: { x: { format: a: } }', /^f\.yaml:1:28: .*into quotes: 'a:'$/],
  [
    'a name that is given twice, as a number and as a text',
    "generators:\n  1: { kind: sequence }\n  '1': { kind: segment }",
    /^f\.yaml:3:3: '1' is given twice; give it once/,
  ],
  [
    'an option that is given twice',
    'generators:\n  a: { kind: sequence, kind: segment }',
    /^f\.yaml:2:24: 'kind' is given twice; give it once/,
  ],
  [
    'an alias for the value that it is in',
    'lead: 1s\nresp: &a [*a]',
    /^f\.yaml:2:11: \*a stands for the value that it is part of; write that value out/,
  ],
  ['such an alias further in', 'generators: &a\n  b: { kind: [{ x: *a }] }', /^f\.yaml:2:20: \*a stands for/],
  ['an alias without an anchor', 'lead: *a\nresp: &a off', /^f\.yaml:1:7: .*\ba\b/],
  [
    'a value that aliases make long',
    [
      'a: &a0 [x, x, x]',
      ...Array.from({ length: 12 }, (_, at) => `b${at}: &a${at + 1} [*a${at}, *a${at}]`),
    ].join('\n'),
    /^f\.yaml:\d+:\d+: a value has at most 4000 parts; /,
  ],
  [
    'a value that aliases make deep',
    ['a: &a0 [x]', ...Array.from({ length: 40 }, (_, at) => `b${at}: &a${at + 1} [*a${at}]`)].join('\n'),
    /^f\.yaml:\d+:\d+: a value has at most 32 levels/,
  ],
  ['a deep value', `lead: ${'['.repeat(40)}${']'.repeat(40)}`, /^f\.yaml:1:7: a value has at most 32 levels/],
  [
    'a value too deep for the parser',
    `lead: ${'['.repeat(50_000)}${']'.repeat(50_000)}`,
    /^f\.yaml:1:\d+: a value has at most 32 levels/,
  ],
  ['a tag that means nothing here', 'lead: !span 1s', /^f\.yaml:1:7: .*!span/],
  ['a list instead of settings', '- engine', /^f\.yaml:1:1: settings are written as/],
  [
    'generators that are a list',
    'lead: 1s\ngenerators:\n  - order',
    /^f\.yaml:2:1: generators are written as/,
  ],
  [
    'an unknown kind',
    'generators:\n  a: { kind: segment }\n  b: { kind: serial }',
    /^f\.yaml:3:3: generator 'b': .*kind/,
  ],
  [
    'an unknown option',
    'generators:\n  b: { kind: segment, stepp: 1 }',
    /^f\.yaml:2:3: generator 'b': .*'stepp'/,
  ],
  ['a generator that is no map', 'generators:\n  order: sequence', /^f\.yaml:2:3: generator 'order': /],
]
for (const [what, text, message] of broken) {
  test(`${what} is refused with line and column`, () => {
    assert.throws(
      () => loadConfig({ flags: { config: 'f.yaml' }, readFile: () => text }),
      (error: Error) => message.test(error.message) && !error.message.includes('\n'),
    )
  })
}

test('the example file is valid, and shows every kind', () => {
  const text = readFileSync(new URL('../../../examples/fahao.yaml', import.meta.url), 'utf8')
  const kinds = Object.values(generatorsOf(text)).map((options) => (options as { kind: string }).kind)
  assert.deepEqual(new Set(kinds), new Set(['sequence', 'segment', 'timestamp', 'snowflake']))
  // What is commented out is right as well.
  loadConfig({ readFile: () => text.replaceAll(/^# (?=[a-z-]+: +\S| {2}- |[a-z-]+: +#)/gm, '') })
})
