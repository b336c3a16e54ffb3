/** ID.WORKER: plain worker ids for generators in other processes. */
import { FahaoError } from '../base/errors.ts'
import type { WorkersPage } from '../leasing/pool-view.ts'
import type { ClaimOptions, PlainLease } from '../leasing/pools.ts'
import { type Arguments, givenTwice, notInteger, syntaxError } from './arguments.ts'
import { type Command, MapReply } from './command.ts'
import { listedMax, pageArguments, pageOption } from './id-lease.ts'
import { container } from './usage.ts'

const common = { group: 'id', keys: [1, 1, 1] } as const
const leasing = { ...common, permission: 'issue', flags: ['write'], anyNode: true } as const
const pool = { name: 'pool', type: 'key' } as const
const lease = { name: 'lease', type: 'string' } as const
const ttl = { name: 'ms', type: 'integer', token: 'TTL', optional: true } as const
const seen = { name: 'unix-ms', type: 'integer', token: 'SEEN', optional: true } as const
const leaseReply =
  'A map: worker, lease, ttlMs, restMs, lastSeenMs (−1: no holder has reported a time), nowUs.'

/** ID.WORKER and its subcommands. */
export const workerCommand: Command = container({
  group: 'id',
  flags: [],
  permission: 'issue',
  name: 'id.worker',
  summary: 'A container for commands about plain worker ids.',
  subcommands: [
    {
      ...leasing,
      name: 'claim',
      arity: -5,
      summary: 'Claims the lowest free worker id of a pool.',
      reply: leaseReply,
      notes:
        'The holder may use the id for ttlMs from when it SENT the request, and longer if it renews. OWNER names the holder, in 1 to 256 bytes without control and format characters: a repeated claim, also on another node, gets the same id with a new lease, and ends the lease before. Ids are below SIZE (default 1024, at most 65536). TTL: default 60000, 1000 to 366 days. REST: for how long the id goes to no other owner after the lease (default: TTL). STABLE: the id is kept for this owner until it claims without STABLE. `EXHAUSTED` if no id is free; the message says when one is. A pool exists once an id of it was claimed.',
      arguments: [
        pool,
        { name: 'owner', type: 'string', token: 'OWNER' },
        { name: 'n', type: 'integer', token: 'SIZE', optional: true },
        ttl,
        { name: 'ms', type: 'integer', token: 'REST', optional: true },
        { ...seen },
        { name: 'stable', type: 'pure-token', token: 'STABLE', optional: true },
      ],
      async handler({ server, session }, args) {
        const { OWNER: owner, ...options } = readOptions(args, 1, claimWords)
        if (typeof owner !== 'string') throw new FahaoError('ERR', 'OWNER is missing; name the holder')
        const given: ClaimOptions = { owner, ...optionsOf(options) }
        return replyOf(await server.pools.claim(args.text(0), session.access.user, given))
      },
    },
    {
      ...leasing,
      name: 'renew',
      arity: -4,
      summary: 'Extends the lease of a plain worker id.',
      reply: leaseReply,
      notes:
        'To now and TTL, by default as long as before; never shortens it. SEEN: the newest time that the holder has used, in Unix ms of its own clock, at most a day ahead of the clock of the service. `NOLEASE`: the id is not the holder’s any more.',
      arguments: [pool, lease, ttl, seen],
      async handler({ server }, args) {
        const [name, text] = [args.text(0), args.text(1)]
        return replyOf(await server.pools.renew(name, text, optionsOf(readOptions(args, 2, ['TTL', 'SEEN']))))
      },
    },
    {
      ...leasing,
      name: 'return',
      arity: -4,
      summary: 'Ends the lease of a plain worker id. The id rests before another owner gets it.',
      reply: '1, or 0 where there is no such lease.',
      arguments: [pool, lease, seen],
      async handler({ server }, args) {
        const [name, text] = [args.text(0), args.text(1)]
        const { seenMs } = optionsOf(readOptions(args, 2, ['SEEN']))
        return (await server.pools.giveBack(name, text, seenMs)) ? 1 : 0
      },
    },
    {
      ...common,
      permission: 'read',
      flags: ['readonly'],
      name: 'list',
      arity: -3,
      summary: 'Lists the worker ids of a pool that were claimed.',
      reply:
        'An array of maps in the order of the ids: worker, state, owner, user, sinceUs, untilUs, stable (1 or 0), lastSeenMs.',
      notes: `\`held\`: under a lease; \`resting\`: no owner but its own gets it yet; \`kept\`: only its own owner ever does (STABLE); \`free\`. An id that has been free for a day may be missing. For the next page, give the last worker id as AFTER; a page with fewer than COUNT (default and maximum ${listedMax}) is the last.`,
      arguments: [pool, ...pageArguments],
      async handler({ server }, args) {
        let page: WorkersPage = { limit: listedMax }
        for (const [token, value] of args.options(1)) page = { ...page, ...pageOption(args, token, value) }
        const workers = await server.pools.list(args.text(0), page)
        await server.turns.take(workers.length * listedWork)
        return workers.map(
          ({ stable, ...worker }) => new MapReply([...Object.entries(worker), ['stable', stable ? 1 : 0]]),
        )
      },
    },
  ],
})

/** The time to list a worker id of a pool, as the bytes of a reply that take as long. */
export const listedWork = 256

function replyOf(lease: PlainLease): MapReply {
  return new MapReply(Object.entries(lease))
}

const claimWords = ['OWNER', 'SIZE', 'TTL', 'REST', 'SEEN', 'STABLE'] as const
type Word = (typeof claimWords)[number]
type Given = { readonly [Key in Word]?: string | number | true }

/** The options from `from` on: each word once, STABLE alone, the others with a value. ERR. */
function readOptions(args: Arguments, from: number, words: readonly Word[]): Given {
  const given: Partial<Record<Word, string | number | true>> = {}
  for (let index = from; index < args.length; index++) {
    const word = words.find((each) => each === args.token(index))
    if (word === undefined) throw syntaxError()
    if (given[word] !== undefined) throw givenTwice(word)
    if (word === 'STABLE') {
      given[word] = true
      continue
    }
    if (++index === args.length) throw syntaxError()
    given[word] = word === 'OWNER' ? args.text(index) : wholeNumber(args, index)
  }
  return given
}

function wholeNumber(args: Arguments, index: number): number {
  const value = Number(args.integer(index))
  if (!Number.isSafeInteger(value) || value < 0) throw notInteger()
  return value
}

function optionsOf({ SIZE, TTL, REST, SEEN, STABLE }: Given): Omit<ClaimOptions, 'owner'> {
  const [size, ttlMs, restMs, seenMs] = [SIZE, TTL, REST, SEEN].map((value) => value as number | undefined)
  return { size, ttlMs, restMs, seenMs, stable: STABLE === true }
}
