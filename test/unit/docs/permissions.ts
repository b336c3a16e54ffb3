/** The reference page of permissions: every command, and every operation of HTTP, from their records. */
import { subjectsOf } from '../../../src/commands/access.ts'
import { createCommands } from '../../../src/commands/all.ts'
import type { Command } from '../../../src/commands/command.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import type { RouteAccess } from '../../../src/http/caller.ts'
import type { CompatRoute } from '../../../src/http/compat/api.ts'
import { cosidApi } from '../../../src/http/compat/cosid.ts'
import { idBuilderApi } from '../../../src/http/compat/idbuilder.ts'
import { leafApi } from '../../../src/http/compat/leaf.ts'
import { tinyidApi } from '../../../src/http/compat/tinyid.ts'
import { fakeNode } from '../http/fake-node.ts'

/** Where the page is. */
export const permissionsPage = new URL('../../../docs/reference/permissions.md', import.meta.url)

/** One operation of HTTP, or one route of a compatible API. */
export type HttpRow = {
  readonly method: string
  /** With `{name}`, `{key}` for a generator. */
  readonly path: string
  /** The command whose permission it needs; undefined: no login. */
  readonly command: string | undefined
  readonly namesGenerator: boolean
  /** Of a request that is as the description says. */
  readonly body?: unknown
  readonly query: string
  /** The names of the parameters in its query. */
  readonly parameters?: readonly string[]
}

/** A command that can be sent, with its name in ACL rules. */
export type CommandRow = { readonly name: string; readonly command: Command }

/** Commands that reply with, or are told, names of generators without `keys`. */
const otherNames: Readonly<Record<string, string>> = {
  'id.decode': 'where one is given',
  'id.bounds': 'where one is given',
  'id.encode': 'where one is given',
  'id.list': 'replies those it reaches',
  'id.leases': 'replies those it reaches',
  keys: 'replies those it reaches',
  scan: 'replies those it reaches',
  dbsize: 'counts those it reaches',
  'cluster|countkeysinslot': 'counts those it reaches',
  'id.namespace|list': 'replies those whose pattern it reaches',
  'id.namespace|get': 'replies those whose pattern it reaches',
  'http|metrics': 'replies those it reaches',
  'http|live': 'replies those it reaches',
}

/** What an operation needs to answer, or to end. */
const queries: Readonly<Record<string, string>> = {
  '/v1/decode': '?id=5',
  '/v1/bounds': '?layout=twitter&from=1556928000000',
  '/v1/encode': '?layout=twitter&at=1556928000000',
  '/v1/live': '?ticks=0',
}

/** Every command and subcommand that has a handler. */
export function commandRows(): CommandRow[] {
  return createCommands()
    .all()
    .flatMap((command) => [
      ...(command.handler === undefined ? [] : [{ name: command.name, command }]),
      ...(command.subcommands ?? []).map((each) => ({ name: `${command.name}|${each.name}`, command: each })),
    ])
}

type Described = {
  readonly 'x-fahao-command'?: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly example?: unknown } } }
}

/** Every operation of the OpenAPI document. */
export async function operationRows(): Promise<HttpRow[]> {
  const app = buildHttpApp({ node: fakeNode(), host: '127.0.0.1' })
  const answer = await app.inject({ url: '/openapi.json', headers: { host: 'localhost' } })
  await app.close()
  const { paths } = answer.json() as { paths: Record<string, Record<string, Described>> }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      method: method.toUpperCase(),
      path,
      command: described['x-fahao-command'],
      namesGenerator: /^\/v1\/(?:generators\/{name}|check\/{name}|pools\/{pool})/.test(path),
      body: described.requestBody?.content['application/json'].example,
      query: queries[path] ?? '',
      parameters: (described.parameters ?? []).flatMap((each) => (each.in === 'query' ? [each.name] : [])),
    })),
  )
}

/** Every route of the compatible APIs. */
export function compatRows(): HttpRow[] {
  const apis = [leafApi, idBuilderApi, tinyidApi, cosidApi].map((api) => api(fakeNode()))
  const rows = apis.flatMap(({ routes }) => routes.map(compatRow))
  for (const { close } of apis) close?.()
  return rows
}

function compatRow({ methods, path, access }: CompatRoute): HttpRow {
  const query = path.startsWith('/id-builder') ? '?code={name}' : ''
  return { method: methods[0]!, path, ...demanded(access), query }
}

function demanded(access: RouteAccess): Pick<HttpRow, 'command' | 'namesGenerator'> {
  if (access === 'open') return { command: undefined, namesGenerator: false }
  return { command: access.command, namesGenerator: access.name !== undefined }
}

const head = `# Permissions

What each request demands of its user. A category is a word for rules: \`+@issue\`, \`-@admin\`; so is the name of a command:
\`+incr\`, \`-client|kill\`. A new user begins with \`-@all +@connection\`, and no pattern.

- **No login.** \`AUTH\`, \`HELLO\`, \`RESET\` and \`QUIT\` are the only commands that need none. Any other gets \`NOAUTH\`, HTTP 401.
- **Command.** A user without the category or the command gets \`NOPERM\`, HTTP 403, that names the command.
- **Generator.** A user whose patterns do not match a name in the request gets \`NOPERM No permissions to access a key\`, whether
  or not there is such a generator. Where a reply has names, those that no pattern matches are left out.
- **When.** All of it is checked before the request runs: one that is refused uses up no id and changes nothing. In a transaction
  each request is checked when it is queued, and again when EXEC runs it.
- **Auto-create.** \`INCR\` of a name that matches the operator's \`auto-create\` creates the generator for a user with \`@issue\`
  whose patterns match the name: the rule is the operator's permission. Without such a rule, only \`@manage\` creates generators.
- **Keys of scrambled ids.** \`ID.LEASE\` of a scrambled generator replies its key, and only to users with the permission
  \`lease|scrambled\`, which is in \`@admin\` and \`@dangerous\`. For others nothing is leased of it.
- **Namespaces** are shown to a user whose patterns match the namespace's pattern, read as a name.

<!-- Written by \`npm run docs\` from the records in src/. -->
`

/** The page. */
export async function renderPermissions(): Promise<string> {
  const commands = commandRows()
  const categories = new Map(subjectsOf(createCommands().all()).map((each) => [each.name, each.categories]))
  const categoriesOf = (name: string) =>
    (categories.get(name) ?? []).map((category) => `\`@${category}\``).join(' ')
  const commandTable = commands.map(({ name, command }) => [
    `\`${name.replace('|', ' ').toUpperCase()}\``,
    categoriesOf(name),
    command.keys === undefined ? (otherNames[name] ?? 'no') : 'yes',
    command.flags.includes('no_auth') ? 'no' : 'yes',
  ])
  const httpTable = (rows: readonly HttpRow[], open: string) =>
    rows.map(({ method, path, command, namesGenerator }) => [
      `\`${method} ${path}\``,
      command === undefined ? open : `\`${command}\``,
      command === undefined ? '' : categoriesOf(command),
      namesGenerator ? 'yes' : (otherNames[command ?? ''] ?? 'no'),
      command === undefined ? 'no' : 'yes',
    ])
  const httpColumns = ['operation', 'permission of', 'categories', 'names generators', 'login']
  return `${[
    head.trimEnd(),
    '## Commands',
    table(['command', 'categories', 'names generators', 'login'], commandTable),
    '## HTTP',
    'The document at `/openapi.json` has the same as `x-fahao-command`.',
    table(httpColumns, httpTable(await operationRows(), '')),
    '## Compatible APIs',
    'A route of `GET` also stands for the other methods that it accepts.',
    table(httpColumns, httpTable(compatRows(), "tinyid's own token")),
  ].join('\n\n')}\n`
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    line(columns),
    `|${'---|'.repeat(columns.length)}`,
    ...rows.map((row) => line(row.map(escaped))),
  ].join('\n')
}

/** A bar would end the cell. */
function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|')
}
