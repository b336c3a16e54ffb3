/** The completions of zsh and fish, by these shells. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { program } from '../../src/cli/main.ts'
import { completions } from '../../src/cli/verbs/completion.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'

const root = await program(() => true)

/** What zsh's functions of completion are told, a word a line, in place of its line editor. */
const told = `compdef() { }
_describe() { print -rl -- \${known%%:*} }
_files() { print -r -- FILES }
compadd() { shift; print -rl -- $@ }
compset() { }
`

/** What a shell offers for the last of these words. */
const offers: Readonly<
  Record<string, (context: TestContext, words: readonly string[]) => Promise<readonly string[]>>
> = {
  async zsh(_, words) {
    const line = `words=("$@"); CURRENT=$#; _fahao`
    const script = `${told}${completions.zsh!(root)}\n${line}`
    return linesOf(await runProgram(['zsh', '-f', '-c', script, 'zsh', 'fahao', ...words]))
  },
  async fish(context, words) {
    const file = join(temporaryFolder(context), 'fahao.fish')
    writeFileSync(file, completions.fish!(root))
    const line = `source ${file}; complete -C '${['fahao', ...words].join(' ')}'`
    return linesOf(await runProgram(['fish', '--no-config', '-c', line], { cwd: temporaryFolder(context) }))
  },
}

function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.split('\t')[0] || [])
}

for (const [shell, offered] of Object.entries(offers)) {
  describe(`the completion of ${shell}`, () => {
    test('offers verbs, verbs of verbs, and flags of the verb of the line', async (context) => {
      const verbs = await offered(context, [''])
      for (const name of root.commands.map((command) => command.name())) assert.ok(verbs.includes(name), name)
      assert.ok((await offered(context, ['user', ''])).includes('recover'))
      assert.ok((await offered(context, ['serve', '--http', 'off', '--'])).includes('--resp-idle-timeout'))
      assert.ok(!(await offered(context, ['next', '--'])).includes('--resp-idle-timeout'))
    })

    test('offers the words that a flag takes', async (context) => {
      assert.deepEqual(
        (await offered(context, ['create', 'order', '--kind', ''])).toSorted(),
        ['sequence', 'segment', 'timestamp', 'snowflake'].toSorted(),
      )
      assert.ok((await offered(context, ['completion', ''])).includes('fish'))
    })
  })
}

test('zsh and fish leave files to their own completion', async (context) => {
  assert.deepEqual(await offers.zsh!(context, ['serve', '--config', '']), ['FILES'])
  assert.deepEqual(await offers.zsh!(context, ['backup', '']), ['FILES'])
  assert.ok((await offers.fish!(context, ['serve', '--config', '/et'])).includes('/etc/'))
  assert.ok((await offers.fish!(context, ['backup', '/et'])).includes('/etc/'))
})
