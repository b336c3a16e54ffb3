import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { settings } from '../../../src/config/config-schema.ts'
import { proxyListener } from '../../../src/config/mysql-proxy-settings.ts'
import { postgresListener } from '../../../src/config/postgres-settings.ts'
import { respListener } from '../../../src/config/resp-settings.ts'

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

const listeners = { resp: respListener, postgres: postgresListener, proxy: proxyListener }
const source = new URL('../../../src/', import.meta.url)

/** The code of these files of src, but for the schema. */
function codeOf(pattern: string): string {
  const files = globSync(pattern, { cwd: source }).filter((path) => path !== 'config/config-schema.ts')
  return files.map((path) => readFileSync(new URL(path, source), 'utf8')).join('\n')
}

test('every setting has an effect: some file reads it', () => {
  const code = codeOf('**/*.ts')
  const limits = new Set<string>(Object.values(listeners).flatMap(({ settings }) => Object.keys(settings)))
  const isRead = (key: string) =>
    new RegExp(`\\bconfig\\.${key}\\b|\\{[^{}]*\\b${key}\\b[^{}]*\\} = (?:node\\.)?config\\b`).test(code)
  const unread = settings.map(({ key }) => key).filter((key) => !limits.has(key) && !isRead(key))
  assert.deepEqual(unread, [])
})

for (const [room, { defaults }] of Object.entries(listeners)) {
  test(`the limits of ${room} in the configuration reach its server`, () => {
    assert.match(codeOf('cli/**/*.ts'), new RegExp(`limits: ${room}Listener\\.limits\\(config\\)`))
  })

  test(`every limit of ${room} has an effect: its server or the kit of listeners reads it`, () => {
    const code = codeOf(`{${room},listening,commands}/**/*.ts`)
    const unread = Object.keys(defaults).filter((name) => !new RegExp(`\\b${name}\\b`).test(code))
    assert.deepEqual(unread, [])
  })
}
