/** Redis's commands about keys in general: listing generators, and dropping them. */
import { FahaoError } from '../base/errors.ts'
import { checkName } from '../catalogue/name-rules.ts'
import type { Arguments } from './arguments.ts'
import { isServedHere } from './cluster-table.ts'
import { type Command, type Reply, SimpleString } from './command.ts'
import type { CommandContext } from './context.ts'
import { checkOneSlot } from './cross-slot.ts'
import { everyGenerator, namesInTurns } from './generator-names.ts'
import { NamesCount } from './names-count.ts'
import { changeEach } from './recording.ts'
import { Scan } from './scan.ts'

const key = { name: 'key', type: 'key' } as const
const keys = { ...key, multiple: true } as const
const reading = { permission: 'read', group: 'generic', flags: ['readonly'] } as const
const readingOne = { ...reading, flags: ['readonly', 'fast'], keys: [1, 1, 1] } as const
const ownSlots =
  'In a cluster only names whose slots CLUSTER SLOTS gives to this node count, as in Redis Cluster; ID.LIST has all.'
const none = Object.freeze(new SimpleString('none'))
const string = Object.freeze(new SimpleString('string'))

/** The most names that KEYS returns. */
const keysMax = 10_000

/** EXISTS, DEL, UNLINK, TYPE, TTL, PTTL, KEYS, SCAN, DBSIZE. SCAN remembers cursors: one list per server. */
export function genericCommands(): readonly Command[] {
  const scan = new Scan()
  const count = new NamesCount()
  return [
    {
      ...readingOne,
      name: 'exists',
      arity: -2,
      keys: [1, -1, 1],
      summary: 'Counts which of these generators exist.',
      reply: 'An integer; a name given twice counts twice.',
      notes: 'Creates nothing, also where `--auto-create` matches.',
      arguments: [keys],
      handler: exists,
    },
    drops('del', 'Drops generators.'),
    // Sent instead of DEL by tools that delete keys in bulk, such as RedisInsight and Spring Data Redis.
    drops('unlink', 'Drops generators, as DEL does.'),
    {
      ...readingOne,
      name: 'type',
      arity: 2,
      summary: 'Returns the type of a key in Redis’s terms; ID.INFO returns the kind.',
      reply: '`string`, or `none`.',
      arguments: [key],
      handler: async ({ catalogue }, args) => ((await catalogue.exists(args.text(0))) ? string : none),
    },
    // Sent by tools that show keys, such as RedisInsight, and by Spring Data Redis's getExpire.
    lifetime('ttl'),
    lifetime('pttl'),
    {
      ...reading,
      name: 'keys',
      arity: 2,
      summary: 'Names the generators that match a pattern.',
      reply: 'An array of names in byte order.',
      notes: `\`LIMIT\` if more than ${keysMax} names match: SCAN and ID.LIST have them in pages. ${ownSlots}`,
      arguments: [{ name: 'pattern', type: 'pattern' }],
      handler: namesMatching,
    },
    {
      ...reading,
      name: 'scan',
      arity: -2,
      summary: 'Names the generators a page at a time.',
      reply: 'An array: the next cursor, `0` at the end; and an array of names.',
      notes: `Names come in byte order; one that is there from start to end comes exactly once. COUNT is how many of the names that the user may name a call looks at (default 10, at most 1000). A cursor works after a restart; it becomes invalid only if it is old and the name that it stands for has been dropped. ${ownSlots}`,
      arguments: [
        { name: 'cursor', type: 'integer' },
        { name: 'pattern', type: 'pattern', token: 'MATCH', optional: true },
        { name: 'count', type: 'integer', token: 'COUNT', optional: true },
        { name: 'type', type: 'string', token: 'TYPE', optional: true },
      ],
      handler: (context, args) => scan.page(context, args),
    },
    {
      ...reading,
      group: 'server',
      name: 'dbsize',
      arity: 1,
      summary: 'Counts the generators.',
      reply: 'An integer.',
      notes: `Reads every name that the user may name; a count that takes over a second is answered again for twenty times as long. ${ownSlots}`,
      handler: (context) => count.of(context),
    },
  ]
}

function drops(name: string, summary: string): Command {
  return {
    name,
    arity: -2,
    flags: ['write'],
    keys: [1, -1, 1],
    permission: 'manage',
    change: { event: 'drop' },
    group: 'generic',
    summary,
    reply: 'An integer: how many there were.',
    notes: 'The bound of a dropped name is kept: created again, it continues above every id it has issued.',
    arguments: [keys],
    handler: dropEach,
  }
}

function lifetime(name: string): Command {
  return {
    ...readingOne,
    name,
    arity: 2,
    summary: 'Returns that a generator does not expire.',
    reply: '-1, or -2 where there is no such generator.',
    arguments: [key],
    handler: async ({ catalogue }, args) => ((await catalogue.exists(args.text(0))) ? -1 : -2),
  }
}

async function exists(context: CommandContext, args: Arguments): Promise<Reply> {
  const { catalogue } = context
  let count = 0
  for await (const name of namesInTurns(context, args)) if (await catalogue.exists(name)) count++
  return count
}

async function dropEach(context: CommandContext, args: Arguments): Promise<Reply> {
  const { catalogue } = context
  const names = args.texts()
  checkOneSlot(context, names)
  // All before the first: a wrong name means that nothing was dropped.
  for (const name of names) checkName(name)
  return changeEach(names, (name) => catalogue.drop(name))
}

async function namesMatching(context: CommandContext, args: Arguments): Promise<Reply> {
  const found: string[] = []
  const isOwn = isServedHere(context)
  for await (const part of everyGenerator(context, { pattern: args.pattern(0) })) {
    for (const { name } of part) if (isOwn(name)) found.push(name)
    if (found.length > keysMax) {
      throw new FahaoError(
        'LIMIT',
        `more than ${keysMax} names match; list them in pages, with SCAN or ID.LIST`,
      )
    }
  }
  return found
}
