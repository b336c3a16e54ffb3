import type { Command } from 'commander'
import type { CreatedTokenAnswer, TokensAnswer } from '../../operations/tokens.ts'
import { addYes, type Confirmed, confirm } from '../confirmation.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { printAnswer, table } from '../terminal.ts'
import { addRules } from './user.ts'

type CreateOptions = ServerOptions & {
  readonly ofUser?: string
  readonly label?: string
  readonly expires?: string
}

/** `fahao token` */
export function addToken(token: Command): void {
  token
    .description('Creates, lists and revokes tokens: credentials of a user that expire.')
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  fahao token create --user alice --label 'build server' --expires 30d '~order*' +id.next
  fahao token list --user admin --of-user alice
  fahao token revoke 0123456789abcdef --user alice`,
    )
  addCreate(token)
  addList(token)
  addRevoke(token)
}

function addCreate(token: Command): void {
  const command = addRules(token.command('create'))
    .summary('create a token')
    .description(
      'Creates a token and prints it, this once. Rules narrow it: patterns ~order* and commands +@issue; without rules it permits all that its user may do.',
    )
    .option('--of-user <NAME>', 'the user whose token it is (default: the one that logs in)')
    .option('--label <TEXT>', 'what it is for')
    .option('--expires <DURATION>', 'after how long it expires: from 1s to 3650d, or never (default 90d)')
  addServerOptions(command).action(async (rules: string[] | undefined = [], options: CreateOptions) => {
    const { ofUser, label, expires } = options
    const given = { user: ofUser, label, expires, rules }
    const answer = await ask<CreatedTokenAnswer>(options, 'POST', '/v1/tokens', { body: given })
    printAnswer(options, answer, answer.token)
  })
}

function addList(token: Command): void {
  const command = token
    .command('list')
    .summary('list tokens')
    .description('Lists tokens without their secrets: your own, or those of all users for an administrator.')
    .option('--of-user <NAME>', 'only of this user')
  addServerOptions(command).action(async (options: CreateOptions) => {
    const query = { user: options.ofUser }
    const answer = await ask<TokensAnswer>(options, 'GET', '/v1/tokens', { query })
    const lines = answer.tokens.length === 0 ? 'no tokens' : table(heading, answer.tokens.map(row))
    printAnswer(options, answer, lines)
  })
}

function addRevoke(token: Command): void {
  const command = token
    .command('revoke <id>')
    .summary('revoke a token')
    .description(
      'Revokes a token, by its id or by its whole text: it is refused on every node within a second.',
    )
  addYes(addServerOptions(command)).action(async (given: string, options: ServerOptions & Confirmed) => {
    // The secret of a token belongs into no URL.
    const id = /^fahao_([^_]+)_/.exec(given)?.[1] ?? given
    await confirm(options, `the token ${id} is revoked: programs that use it are refused`)
    await ask<void>(options, 'DELETE', `/v1/tokens/${encodeURIComponent(id)}`)
    printAnswer(options, { revoked: id }, `revoked token ${id}`)
  })
}

const heading = ['ID', 'USER', 'LABEL', 'EXPIRES', 'VALID', 'RULES']

function row({ id, user, label, expires, valid, rules }: TokensAnswer['tokens'][number]): string[] {
  return [id, user, label, expires ?? 'never', valid ? 'yes' : 'no', rules.join(' ')]
}
