import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseOptions } from '../../../src/catalogue/options.ts'
import { loadConfig } from '../../../src/node/config.ts'
import { readConfigFile } from '../../../src/node/config-file.ts'

function generatorsOf(text: string): Record<string, unknown> {
  return Object.fromEntries(loadConfig({ readFile: () => text }).config.generators)
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

test('an empty file and a file of comments set nothing', () => {
  for (const text of ['', '# nothing\n', '---\n', 'generators:\n']) {
    const { settings, generators } = readConfigFile('f.yaml', text)
    assert.deepEqual([settings.size, generators.size], [0, 0])
  }
})

const broken: [what: string, text: string, message: RegExp][] = [
  ['YAML that is none', 'engine: x\nlead: [1', /^f\.yaml:2:9: /],
  ['a key that is given twice', 'lead: 1s\nlead: 2s', /^f\.yaml:2:1: .*unique/],
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
