import type { Command } from 'commander'
import type { UserAnswer, UsersAnswer } from '../../operations/users.ts'
import { addConfigOptions, configOf } from '../config-options.ts'
import { addYes, type Confirmed, confirm } from '../confirmation.ts'
import { askNewPassword, authorizationOf, passwordFromStdin } from '../credentials.ts'
import { UsageError } from '../exit-codes.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { printAnswer, table } from '../terminal.ts'

type SetOptions = ServerOptions & { readonly password?: true; readonly passwordStdin?: true }

/** `fahao user` */
export function addUser(user: Command): void {
  user
    .description(
      'Lists, shows, sets and removes users: `list`, `show`, `set`, `remove`; lets an administrator in again: `recover`.',
    )
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  fahao user set alice on '~order*' +@issue --password
  fahao user set bob -@admin
  fahao user list --user admin
  fahao user remove alice`,
    )
  addList(user)
  addShow(user)
  addSet(user)
  addRemove(user)
  addRecover(user)
}

function addList(user: Command): void {
  const command = user.command('list').summary('list users').description('Lists all users and their rules.')
  addServerOptions(command).action(async (options: ServerOptions) => {
    const answer = await ask<UsersAnswer>(options, 'GET', '/v1/users')
    printAnswer(options, answer, table(heading, answer.users.map(row)))
  })
}

function addShow(user: Command): void {
  const command = user
    .command('show <name>')
    .summary('show a user')
    .description('Shows a user and its rules.')
  addServerOptions(command).action(async (name: string, options: ServerOptions) => {
    const answer = await ask<UserAnswer>(options, 'GET', pathOf(name))
    printAnswer(options, answer, table(heading, [row(answer)]))
  })
}

function addSet(user: Command): void {
  const command = addRules(user.command('set <name>'))
    .summary('create or change a user')
    .description(
      'Creates a user, or changes it by the rules of ACL SETUSER: on, off, ~pattern, +command, -@category, reset and so on.',
    )
    .option('--password', 'ask for a new password on the terminal')
    .option('--password-stdin', 'read a new password from stdin')
  addServerOptions(command).action(
    async (name: string, rules: string[] | undefined = [], options: SetOptions) => {
      // Arguments are visible to every user of the machine.
      if (rules.some((rule) => /^[><]/.test(rule)))
        throw new UsageError('a password is no argument; give --password or --password-stdin')
      // The first question is the password of the caller.
      await authorizationOf(options)
      const password = options.password
        ? await askNewPassword(name)
        : options.passwordStdin && (await passwordFromStdin())
      const body = { rules: [...rules, ...(password === undefined ? [] : [`>${password}`])] }
      const answer = await ask<UserAnswer>(options, 'PUT', pathOf(name), { body })
      printAnswer(options, answer, table(heading, [row(answer)]))
    },
  )
}

function addRemove(user: Command): void {
  const command = user
    .command('remove <name>')
    .summary('remove a user')
    .description('Removes a user. Its connections end, and its tokens are void.')
  addYes(addServerOptions(command)).action(async (name: string, options: ServerOptions & Confirmed) => {
    await confirm(options, `the user '${name}' is removed: its connections end, and its tokens are void`)
    await ask<void>(options, 'DELETE', pathOf(name))
    printAnswer(options, { removed: name }, `removed user ${name}; its tokens are void`)
  })
}

function addRecover(user: Command): void {
  const command = user
    .command('recover')
    .summary('let an administrator in again')
    .description(
      'Gives the user admin a new password and every permission, in the store of --engine and without a login: for the case that no administrator can log in any more. Servers that run take it over at once.',
    )
    .option('--password-stdin', 'read the password from stdin instead of asking for it')
    .option('--json', 'print JSON, for scripts')
  addConfigOptions(command, ['engine']).action(async (options: { passwordStdin?: true; json?: true }) => {
    const { config } = configOf(command)
    const password = options.passwordStdin ? await passwordFromStdin() : await askNewPassword('admin')
    // Imported here, so that other verbs start without the server's code.
    const { recoverAdmin } = await import('../recover-admin.ts')
    await recoverAdmin(config, password)
    printAnswer(options, { user: 'admin' }, 'user admin has the new password and every permission')
  })
}

const heading = ['NAME', 'STATE', 'PASSWORDS', 'PATTERNS', 'COMMANDS']

function row({ name, enabled, nopass, passwords, patterns, commands }: UserAnswer): string[] {
  const state = enabled ? 'on' : 'off'
  return [
    name,
    state,
    nopass ? 'nopass' : String(passwords),
    patterns.map((pattern) => `~${pattern}`).join(' '),
    commands.join(' '),
  ]
}

function pathOf(name: string): string {
  return `/v1/users/${encodeURIComponent(name)}`
}

/** Adds the argument `[rules...]`. A rule may begin with a minus sign, as an option does; with two it may not. */
export function addRules(command: Command): Command {
  return command
    .allowUnknownOption()
    .argument('[rules...]', 'rules, from left to right', (rule: string, before: readonly string[] = []) => {
      if (rule.startsWith('--')) throw new UsageError(`unknown option '${rule}'; --help lists the options`)
      return [...before, rule]
    })
}
