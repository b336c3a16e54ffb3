import type { Command } from 'commander'
import type { AuditAnswer } from '../../operations/audit.ts'
import { wholeNumber } from '../exit-codes.ts'
import { addServerOptions, ask, type ServerOptions } from '../server-api.ts'
import { printAnswer, table } from '../terminal.ts'

type AuditOptions = ServerOptions & {
  readonly ofUser?: string
  readonly event?: string
  readonly object?: string
  readonly since?: string
  readonly limit: string
}

type Entry = AuditAnswer['entries'][number]

const pageMax = 1000

/** `fahao audit` */
export function addAudit(command: Command): void {
  command.description(
    'Shows the audit trail of the store, newest first: changes, logins, and refused requests, each with its user and address.',
  )
  addServerOptions(command)
    .option('--of-user <NAME>', 'only this user')
    .option('--event <EVENT>', 'only this event, such as create, drop, login-failed or denied')
    .option('--object <PATTERN>', 'only generators, users or commands that match, such as order:*')
    .option('--since <MOMENT>', 'only the time since then: 2026-11-22T00:00:00Z, or 24h for the last day')
    .option('--limit <N>', 'how many entries at most', '100')
    .addHelpText(
      'after',
      `
Examples:
  fahao audit --since 24h
  fahao audit --event drop --object 'order*'
  fahao audit --event denied --json | jq '.entries[].user'`,
    )
    .action(async (options: AuditOptions) => {
      const entries = await allEntries(options)
      const none = 'no entries'
      const lines = entries.length === 0 ? none : table(heading, entries.map(row))
      printAnswer(options, { entries }, lines)
    })
}

async function allEntries(options: AuditOptions): Promise<Entry[]> {
  const { ofUser: user, event, object, since } = options
  const limit = Number(wholeNumber(options.limit, '--limit'))
  const all: Entry[] = []
  let after: string | undefined
  do {
    const size = String(Math.min(limit - all.length, pageMax))
    const query = { user, event, object, since, after, limit: size }
    const page = await ask<AuditAnswer>(options, 'GET', '/v1/audit', { query })
    all.push(...page.entries)
    after = page.next ?? undefined
  } while (after !== undefined && all.length < limit)
  return all
}

const heading = ['TIME', 'EVENT', 'OBJECT', 'USER', 'FROM', 'COUNT', 'NODE', 'DETAIL']

function row({ time, event, object, user, address, door, count, node, detail }: Entry): string[] {
  return [time, event, object, user, `${door} ${address}`.trimEnd(), String(count), node, detail ?? '']
}
