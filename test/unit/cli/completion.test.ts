/** The completion of bash, in a real bash. Those of zsh and fish are in test/integration/completion.test.ts. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { program } from '../../../src/cli/main.ts'
import { completions } from '../../../src/cli/verbs/completion.ts'

const root = await program(() => true)
const script = completions.bash!(root)

/** What bash offers for the last of these words. */
function offered(...words: readonly string[]): string[] {
  const ask = `compopt() { echo "$*"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fahao; printf '%s\\n' "\${COMPREPLY[@]}"`
  const printed = execFileSync('bash', ['--norc', '-c', `${script}${ask}`, 'bash', 'fahao', ...words], {
    encoding: 'utf8',
  })
  return printed.split('\n').filter((line) => line !== '')
}

describe('the completion of bash', () => {
  test('offers every verb, and the verbs of a verb', () => {
    assert.deepEqual(
      offered('').filter((word) => !word.startsWith('-')),
      root.commands.map((command) => command.name()),
    )
    assert.deepEqual(offered('se'), ['serve'])
    assert.deepEqual(offered('user', 're'), ['remove', 'recover'])
  })

  test('offers the flags of the verb of the line, also behind other flags', () => {
    assert.deepEqual(offered('serve', '--resp-idle'), ['--resp-idle-timeout'])
    assert.deepEqual(offered('token', 'create', '--label', 'x', '--exp'), ['--expires'])
    assert.deepEqual(offered('decode', '--help'), ['--help'])
    assert.deepEqual(offered('next', '--log-level'), [])
  })

  test('offers the words that a flag takes, from settings and from options of generators', () => {
    assert.deepEqual(offered('serve', '--log-level', ''), [
      'trace',
      'debug',
      'info',
      'warn',
      'error',
      'fatal',
      'silent',
    ])
    assert.deepEqual(offered('serve', '--log-level', '=', 'd'), ['debug'])
    assert.deepEqual(offered('serve', '--log-level', '='), offered('serve', '--log-level', ''))
    assert.deepEqual(offered('serve', '--http', ''), ['off'])
    assert.deepEqual(offered('create', 'order', '--kind', 's'), ['sequence', 'segment', 'snowflake'])
    assert.deepEqual(offered('completion', 'b'), ['bash'])
  })

  test('leaves files to bash, and offers nothing for other values', () => {
    for (const words of [
      ['serve', '--config', ''],
      ['proxy', '--ca', '/e'],
      ['backup', ''],
    ])
      assert.deepEqual(offered(...words), ['-o default'], words.join(' '))
    assert.deepEqual(offered('serve', '--engine', ''), [])
    assert.deepEqual(offered('backup', '--js'), ['--json'])
  })
})
