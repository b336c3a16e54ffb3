/** What is given twice on the command line. Every verb and every option is tried. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Command, CommanderError } from 'commander'
import { program } from '../../../src/cli/main.ts'
import { settings } from '../../../src/config/config-schema.ts'

const all = () => program(() => true)
const root = await all()

/** Every verb that can be run, by its words. */
function verbs(): readonly (readonly string[])[] {
  const wordsOf = (command: Command, before: readonly string[]): (readonly string[])[] => {
    const words = [...before, command.name()]
    const inner = command.commands.flatMap((each) => wordsOf(each, words))
    // `proxy` can be run, and has a verb of its own.
    return inner.length === 0 || command.name() === 'proxy' ? [words, ...inner] : inner
  }
  return root.commands.flatMap((verb) => wordsOf(verb, []))
}

function verbOf(root: Command, words: readonly string[]): Command {
  return words.reduce((command, word) => command.commands.find((each) => each.name() === word)!, root)
}

/** Parses arguments of a verb and runs nothing. Returns what the parser prints, or '' where it accepts them. */
function refusalOf(root: Command, words: readonly string[], args: readonly string[]): string {
  let printed = ''
  const verb = verbOf(root, words)
  verb.configureOutput({ writeErr: (part) => (printed += part) }).action(() => {})
  // Missing arguments are not what is tried.
  for (const each of verb.registeredArguments) each.required = false
  for (const option of verb.options) option.mandatory = false
  try {
    root.parse([...words, ...args], { from: 'user' })
    return ''
  } catch (error) {
    assert.ok(error instanceof CommanderError)
    return printed
  }
}

/** Two values that the option accepts. */
function valuesOf({ argChoices, long }: Command['options'][number]): [string, string] {
  if (long === '--max-id') return ['order=1', 'user=2']
  return [argChoices?.[0] ?? '1', argChoices?.[1] ?? '2']
}

describe('an option that is given twice', () => {
  for (const words of verbs())
    test(`of ${words.join(' ')} is refused, unless it takes a list`, async () => {
      const lists = settings.filter(({ type }) => type.list).map(({ name }) => `--${name}`)
      // Nodes of one service.
      if (words[0] === 'proxy') lists.push('--url')
      // One for each generator.
      if (words[0] === 'import') lists.push('--max-id')
      const own = await all()
      for (const option of verbOf(own, words).options) {
        const flag = option.long!
        const [value, other] = valuesOf(option)
        if (option.isBoolean()) continue
        assert.equal(refusalOf(own, words, [flag, value]), '', flag)
        const refusal = refusalOf(own, words, [flag, value, flag, other])
        if (lists.includes(flag)) assert.equal(refusal, '', flag)
        else
          assert.match(
            refusal,
            new RegExp(`^error: option '.*${flag} .*' is given twice; give it once`),
            flag,
          )
      }
    })

  test('once by its short name and once by its whole one is refused', async () => {
    for (const [short, whole] of [
      ['--listen', '--mysql-proxy'],
      ['--url', '--proxy-url'],
      ['--user', '--mysql-proxy-user'],
    ] as const) {
      const root = await all()
      let printed = ''
      verbOf(root, ['proxy']).configureOutput({ writeErr: (part) => (printed += part) })
      await assert.rejects(
        root.parseAsync(['proxy', short, '1', whole, '2'], { from: 'user' }),
        CommanderError,
      )
      assert.match(printed, new RegExp(`^error: ${short} and ${whole} are one option, which is given twice`))
    }
  })
})
