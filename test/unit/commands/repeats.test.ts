/** Options that a command is given twice. Every command and every option is tried. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { optionNames } from '../../../src/catalogue/generator-options.ts'
import { createCommands } from '../../../src/commands/all.ts'
import type { ArgumentDoc, Command } from '../../../src/commands/command.ts'
import { Desk } from './desk.ts'

/** Every command that runs, by its words. */
function* commands(): Iterable<readonly [words: string[], command: Command]> {
  for (const command of createCommands().all()) {
    if (command.handler) yield [[command.name], command]
    for (const each of command.subcommands ?? []) yield [[command.name, each.name], each]
  }
}

/** Values of options that take no 1. */
const values: Readonly<Record<string, string[]>> = {
  FAMILY: ['on'],
  AUTH: ['ann', 'secret'],
  TYPE: ['normal'],
  SKIPME: ['yes'],
}

/** An option with a value, by its word, and the values that it takes. */
function optionsOf({ name, arguments: all = [] }: Command): Map<string, string[]> {
  const found = new Map<string, string[]>()
  const visit = (argument: ArgumentDoc, isRepeated: boolean) => {
    const repeats = isRepeated || argument.multiple === true
    if (argument.token !== undefined && argument.type !== 'pure-token' && !repeats)
      found.set(argument.token, values[argument.token] ?? ['1'])
    for (const part of argument.arguments ?? []) visit(part, repeats)
  }
  for (const argument of all) visit(argument, false)
  if (name === 'id.create' || name === 'id.alter')
    for (const option of optionNames.map((each) => each.toUpperCase()))
      found.set(option, values[option] ?? ['1'])
  return found
}

/** What stands in front of the options. */
function positional({ name, arguments: all = [] }: Command): string[] {
  if (name === 'hello') return ['3']
  const before = all.filter(
    ({ optional, token, type }) => !optional && token === undefined && type !== 'block',
  )
  return before.map(({ type }) => (type === 'integer' ? '3' : 'x'))
}

describe('an option that is given twice', () => {
  for (const [words, command] of commands())
    for (const [token, given] of optionsOf(command))
      test(`${token} of ${words.join(' ')} is refused`, async () => {
        const option = [token, ...given]
        const request = [...words, ...positional(command), ...option, ...option]
        const desk = new Desk()
        await assert.rejects(
          async () => desk.ask(...request),
          (error: Error) => {
            assert.match(error.message, /is given twice; give it once|syntax error|wrong number of arguments/)
            return true
          },
        )
      })
})
