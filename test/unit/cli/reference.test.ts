import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Command, Option } from 'commander'
import { exitCodes } from '../../../src/cli/exit-codes.ts'
import { program } from '../../../src/cli/main.ts'
import { settings } from '../../../src/config/config-schema.ts'

const root = await program(() => true)

const page = readFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8')
const sections = new Map(
  page.split(/^## /m).map((part) => [part.slice(0, part.indexOf('\n')), part.replaceAll('\n', ' ')]),
)
const settingFlags = new Set(settings.map(({ name }) => `--${name}`))

/** Options that another page describes. */
function isElsewhere(command: Command, { long, helpGroupHeading }: Option): boolean {
  if (['serve', 'proxy', 'config'].includes(command.name())) return settingFlags.has(long!)
  return (
    command.name() === 'alter' && helpGroupHeading === 'Generator:' && !['--floor', '--force'].includes(long!)
  )
}

describe('the reference of the command line', () => {
  for (const command of root.commands) {
    test(`describes ${command.name()} and its options as the program does`, () => {
      const section = sections.get(`fahao ${command.name()}`)
      assert.ok(section, 'it has no section')
      assert.ok(section.includes(command.description().split('\n')[0]!))
      for (const option of command.options) {
        if (isElsewhere(command, option)) continue
        const row = `| \`${option.flags}\` | ${option.description} |`
        assert.ok(section.includes(row.replaceAll(/(?<=\S)\|(?=\S)/g, '\\|')), `missing: ${row}`)
      }
    })
  }

  test('describes no verb that does not exist', () => {
    const verbs = [...sections.keys()].filter((title) => title.startsWith('fahao '))
    assert.deepEqual(
      verbs,
      root.commands.map((command) => `fahao ${command.name()}`),
    )
  })

  test('explains every exit code', () => {
    const rows = Object.values(exitCodes).map(({ code, meaning }) => `| ${code} | ${meaning} |`)
    assert.ok(sections.get('Exit codes')!.includes(rows.join(' ')))
  })
})
