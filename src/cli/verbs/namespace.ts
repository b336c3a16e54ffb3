import type { Command } from 'commander'
import type { NamespaceAnswer, NamespacesAnswer } from '../../operations/namespaces.ts'
import { namespaceOptions, optionWords } from '../../quotas/namespace.ts'
import { addYes, type Confirmed, confirm } from '../confirmation.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { grouped, printAnswer, table } from '../terminal.ts'

type SetOptions = ServerOptions & Readonly<Record<string, string | undefined>>

/** `fahao namespace` */
export function addNamespace(namespace: Command): void {
  namespace
    .description('Sets, lists and drops namespaces: patterns of generator names with an owner and quotas.')
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  fahao namespace set shop --match 'shop:*' --owner team-a --rate 1000 --daily 5000000
  fahao namespace set alice --match '*' --of-user alice --rate 100
  fahao namespace list
  fahao namespace drop shop`,
    )
  addSet(namespace)
  addList(namespace)
  addDrop(namespace)
}

function addSet(namespace: Command): void {
  const command = namespace
    .command('set <name>')
    .summary('create or replace a namespace')
    .description('Creates or replaces a namespace. Limits that are left out do not apply.')
  for (const [option, word] of Object.entries(optionWords)) {
    const { description } = namespaceOptions.shape[option as keyof typeof optionWords].meta() ?? {}
    const flag = `--${flagOf(word)} <${word === 'MATCH' ? 'PATTERN' : limits.includes(word) ? 'N' : 'NAME'}>`
    if (word === 'MATCH') command.requiredOption(flag, description!)
    else command.option(flag, description!)
  }
  addServerOptions(command).action(async (name: string, options: SetOptions) => {
    const given = Object.entries(optionWords).flatMap(([option, word]) => {
      const value = options[word === 'USER' ? 'ofUser' : word.toLowerCase()]
      return value === undefined ? [] : [[option, value]]
    })
    const body = Object.fromEntries(given)
    const answer = await ask<NamespaceAnswer>(options, 'PUT', pathOf(name), { body })
    printAnswer(options, answer, `namespace ${name}: ${limitsText(answer) || 'no limits'}`)
  })
}

function addList(namespace: Command): void {
  const command = namespace
    .command('list')
    .summary('list namespaces, and what one node has counted')
    .description('Lists namespaces with their limits, and what the node at --url has counted.')
  addServerOptions(command).action(async (options: ServerOptions) => {
    const answer = await ask<NamespacesAnswer>(options, 'GET', '/v1/namespaces')
    const { namespaces } = answer
    const none = "no namespaces; set one: fahao namespace set shop --match 'shop:*' --rate 1000"
    const heading = ['NAME', 'MATCH', 'OWNER', 'USER', 'LIMITS', 'ISSUED', 'REFUSED']
    printAnswer(options, answer, namespaces.length === 0 ? none : table(heading, namespaces.map(row)))
  })
}

function addDrop(namespace: Command): void {
  const command = namespace
    .command('drop <name>')
    .summary('drop a namespace')
    .description('Drops a namespace. Its generators stay as they are.')
  addYes(addServerOptions(command)).action(async (name: string, options: ServerOptions & Confirmed) => {
    await confirm(options, `the namespace '${name}' is dropped: its quotas end`)
    await ask<void>(options, 'DELETE', pathOf(name))
    printAnswer(options, { dropped: name }, `dropped namespace ${name}; its generators stay as they are`)
  })
}

/** `--user` would look like the user that sends the request. */
function flagOf(word: string): string {
  return word === 'USER' ? 'of-user' : word.toLowerCase()
}

const limits = ['RATE', 'DAILY', 'GENERATORS', 'LEASES', 'WAITING']

function pathOf(name: string): string {
  return `/v1/namespaces/${encodeURIComponent(name)}`
}

function row(namespace: NamespaceAnswer): string[] {
  const { name, match, owner = '', user = '', here } = namespace
  return [name, match, owner, user, limitsText(namespace), grouped(here.issued), grouped(here.refused)]
}

/** `rate=1000 daily=5000000` */
function limitsText(namespace: NamespaceAnswer): string {
  return Object.entries(optionWords)
    .filter(([, word]) => limits.includes(word))
    .map(([option, word]) => [word.toLowerCase(), namespace[option as keyof typeof optionWords]])
    .filter(([, value]) => value !== undefined)
    .map(([word, value]) => `${word}=${value}`)
    .join(' ')
}
