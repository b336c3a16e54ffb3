import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Command } from 'commander'
import { exitCodes } from '../../../src/cli/exit-codes.ts'
import { program } from '../../../src/cli/main.ts'
import { fahaoExamples } from './examples.ts'

const all = () => program(() => true)
const root = await all()

/** The printed help, with the text after it. */
function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

/** Throws if the parser refuses these arguments; runs no verb. */
async function parse(args: readonly string[]): Promise<void> {
  const root = await all()
  const silence = (command: Command) => {
    command.configureOutput({ writeErr: () => {} })
    // `proxy` runs by itself, and also has verbs.
    if (command.commands.length === 0 || command.name() === 'proxy') command.action(() => {})
    command.commands.forEach(silence)
  }
  root.commands.forEach(silence)
  root.parse(args, { from: 'user' })
}

describe('the help', () => {
  test('of the program names every verb, the steps to a first id, and the exit codes', () => {
    const text = helpOf(root)
    for (const command of root.commands) assert.match(text, new RegExp(`^ {2}${command.name()} .*\\w`, 'm'))
    assert.match(text, /fahao serve/)
    assert.match(text, /fahao next order/)
    for (const { code, meaning } of Object.values(exitCodes)) assert.ok(text.includes(`${code}  ${meaning}`))
  })

  for (const command of root.commands.flatMap((verb) => [verb, ...verb.commands])) {
    const name = command.parent === root ? command.name() : `${command.parent!.name()} ${command.name()}`
    test(`of ${name} describes the verb and each option`, () => {
      const text = helpOf(command)
      assert.match(text, /\.\n/)
      for (const option of command.options) {
        assert.ok(option.description !== '', `${option.flags} is not described`)
        assert.ok(text.includes(option.long!))
      }
    })
  }

  test('of flags fits a terminal of 80 columns', () => {
    for (const command of root.commands) {
      const lines = helpOf(command)
        .split(/^Examples?:$/m)[0]!
        .split('\n')
      assert.deepEqual(
        lines.filter((line) => line.length > 80),
        [],
        command.name(),
      )
    }
  })

  test('shows examples that the parser takes', async () => {
    const examples = [root, ...root.commands].flatMap((command) => fahaoExamples(helpOf(command)))
    assert.ok(examples.length > 15)
    for (const args of examples) await assert.doesNotReject(parse(args), args.join(' '))
  })

  test('of every verb that creates or changes something has an example', () => {
    for (const name of [
      'serve',
      'create',
      'alter',
      'next',
      'advance',
      'decode',
      'check',
      'bounds',
      'encode',
      'advise',
      'backup',
      'restore',
      'import',
    ]) {
      const command = root.commands.find((each) => each.name() === name)
      assert.ok(command, `there is no ${name}`)
      assert.ok(
        fahaoExamples(helpOf(command)).some(([verb]) => verb === name),
        `${name} has no example`,
      )
    }
  })
})

test('the parser of examples rejects wrong ones', async () => {
  await assert.rejects(parse(['next']))
  await assert.rejects(parse(['next', 'order', '--cuont', '1']))
  assert.deepEqual(fahaoExamples("  fahao a 'b c' --d   e\n  curl x\n  fahao f | g\n  fahao h > i"), [
    ['a', 'b c', '--d'],
    ['f'],
    ['h'],
  ])
})
