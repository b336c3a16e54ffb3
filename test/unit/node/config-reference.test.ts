import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { settings } from '../../../src/node/config-schema.ts'

const page = readFileSync(new URL('../../../docs/reference/configuration.md', import.meta.url), 'utf8')

test('the reference page has a table for each group, with the settings as the schema has them', () => {
  for (const group of new Set(settings.map(({ group }) => group))) {
    const section = page.split(/^## /m).find((part) => part.startsWith(`${group}\n`))
    const rows = section?.split('\n').filter((line) => line.startsWith('| `'))
    const expected = settings
      .filter((setting) => setting.group === group)
      .map(({ name, type, defaultText, meaning }) => {
        const cells = [`\`${name}\``, code(type.takes ?? 'on|off'), code(defaultText), meaning]
        return `| ${cells.join(' | ')} |`
      })
    assert.deepEqual(rows, expected)
  }
})

test('every setting has a unique name, in all spellings', () => {
  for (const spelling of ['name', 'variable'] as const) {
    assert.equal(new Set(settings.map((setting) => setting[spelling])).size, settings.length)
  }
})

function code(text: string): string {
  return text === '' ? '' : `\`${text.replaceAll('|', '\\|')}\``
}

test('every setting has an effect: some file reads it', () => {
  const folder = new URL('../../../src/', import.meta.url)
  const files = globSync('**/*.ts', { cwd: folder }).filter((path) => path !== 'node/config-schema.ts')
  const code = files.map((path) => readFileSync(new URL(path, folder), 'utf8')).join('\n')
  const isRead = (key: string) =>
    new RegExp(`\\bconfig\\.${key}\\b|\\{[^{}]*\\b${key}\\b[^{}]*\\} = (?:node\\.)?config\\b`).test(code)
  const unread = settings.map(({ key }) => key).filter((key) => !isRead(key))
  assert.deepEqual(unread, [])
})
