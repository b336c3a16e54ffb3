import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createCommands } from '../../../src/commands/all.ts'
import type { Command } from '../../../src/commands/command.ts'
import { referencePage, renderCommandReference } from './reference.ts'

test('the reference page agrees with the records', async () => {
  assert.equal(
    await readFile(referencePage, 'utf8'),
    renderCommandReference(),
    'docs/reference/commands.md is out of date: run `npm run docs`',
  )
})

test('every record is complete and consistent', () => {
  const check = (command: Command, words: number) => {
    const where = `${command.name} (${words} words)`
    assert.match(command.name, /^[a-z.-]+$/, where)
    assert.match(command.summary, /\.$/, where)
    assert.match(command.reply, /\.$/, where)
    assert.ok(command.handler !== undefined || command.subcommands !== undefined, where)
    assert.ok(Math.abs(command.arity) >= words, where)
    assert.ok(command.keys === undefined || (command.keys[0] > 0 && command.keys[2] > 0), where)
    assert.ok(!(command.flags.includes('write') && command.flags.includes('readonly')), where)
    for (const subcommand of command.subcommands ?? []) check(subcommand, words + 1)
  }
  for (const command of createCommands().all()) check(command, 1)
})

test('a command that names generators asks for a permission on them', () => {
  for (const command of createCommands().all()) {
    if (command.keys !== undefined) assert.notEqual(command.permission, 'connection', command.name)
  }
})
