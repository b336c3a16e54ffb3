/**
 * Redis's string commands that have a meaning for a generator. INCR and INCRBY issue ids, GET and MGET return the newest
 * one. Of a generator in use most are answered without their handlers: see `resp/in-place.ts`.
 */
import { FahaoError } from '../base/errors.ts'
import type { Catalogue, Generator } from '../catalogue/catalogue.ts'
import { blockOperation, checkContiguous, checkedCount } from '../operations/drawing.ts'
import { newestHere, newestId, newestOperation } from '../operations/newest.ts'
import type { Arguments } from './arguments.ts'
import { type Command, Issued, type Reply } from './command.ts'
import type { CommandContext } from './context.ts'
import { drawIntegers } from './drawing.ts'
import { namesInTurns } from './generator-names.ts'
import { factsOf } from './grammar.ts'

const key = { name: 'key', type: 'key' } as const
/** GET and MGET are not `readonly`: libraries that read from replicas would send them to a node that does not lead. */
const common = { flags: ['write', 'fast'], keys: [1, 1, 1], group: 'string' } as const

/** MGET of at most this many names answers in one turn of the event loop, if all of their generators are open here. */
const atOnceMax = 64

/** INCR, INCRBY, GET, MGET. */
export const stringCommands: readonly Command[] = [
  {
    ...common,
    name: 'incr',
    arity: 2,
    permission: 'issue',
    summary: 'Issues the next id of a generator.',
    reply: 'An integer: the id. On a generator with a format, the raw id.',
    notes:
      'An unknown generator is an error, unless `--auto-create` matches its name. An id past 2^53−1 is an integer only for a library that is known to read it exactly, by the name that it sends in `CLIENT SETINFO`; a RESP3 big number for one that is known to read those; and for any other client `UNSAFE`, which uses up no id: use `ID.NEXT`.',
    arguments: [key],
    handler: (context, args) => increment(context, args.text(0)),
    overlaps: () => true,
  },
  {
    ...common,
    ...factsOf(blockOperation),
    arity: 3,
    summary: 'Issues a contiguous block of ids and returns the last of them.',
    reply: 'An integer: the last id of the block; `INCRBY key 10` → 20 means 11 to 20.',
    notes:
      'With an increment of 1 it is INCR and works on every generator. More needs ordered ids one apart; elsewhere `WRONGTYPE` points to `ID.NEXT … COUNT`. The block comes from one range; ids before it that are too few are dropped. Ids are never taken back, so the increment is at least 1.',
    arguments: [key, { name: 'increment', type: 'integer' }],
    handler: incrementBy,
    overlaps: () => true,
  },
  {
    ...common,
    ...factsOf(newestOperation),
    arity: 2,
    summary: 'Returns the newest id issued by this node or a predecessor of it.',
    reply: 'The raw id as a string, exact in any language; nil when there is none, or no such generator.',
    notes:
      'After a crash it is the last id that can have been issued. For a sequence on an engine that many nodes share it is the newest of all nodes. COMMAND marks it `write`, so that libraries that read from replicas send it to the leader.',
    arguments: [key],
    handler: ({ catalogue }, args) => newestText(catalogue, args.text(0)),
  },
  {
    ...common,
    name: 'mget',
    arity: -2,
    keys: [1, -1, 1],
    permission: 'read',
    summary: 'GET for several generators.',
    reply: 'An array of strings and nils, in the order of the keys.',
    arguments: [{ ...key, multiple: true }],
    handler: newestOfEach,
  },
]

async function increment(context: CommandContext, name: string): Promise<Reply> {
  const draw = (generator: Generator) => drawIntegers(context, generator, 1)
  return new Issued((await context.catalogue.whenOpen(name, draw)).first)
}

async function incrementBy(context: CommandContext, args: Arguments): Promise<Reply> {
  const name = args.text(0)
  const wanted = args.integer(1)
  if (wanted < 1n) {
    throw new FahaoError('ERR', 'increment must be at least 1: ids are issued, and never taken back')
  }
  if (wanted === 1n) return increment(context, name)
  const count = checkedCount(wanted, context.server.incrByMax, 'increment')
  const run = await context.catalogue.whenOpen(name, (generator) => {
    checkContiguous(generator, count)
    return drawIntegers(context, generator, count)
  })
  return new Issued(run.at(count - 1))
}

function newestText(catalogue: Catalogue, name: string): string | null | Promise<string | null> {
  const here = newestHere(catalogue, name)
  return here === undefined ? newestId(catalogue, name).then(textOf) : textOf(here.id)
}

function textOf(id: bigint | undefined): string | null {
  return id?.toString() ?? null
}

function newestOfEach(context: CommandContext, args: Arguments): Reply | Promise<Reply> {
  if (args.length > atOnceMax || context.server.cluster !== undefined) return newestInTurns(context, args)
  const replies = args.texts().map((name) => newestHere(context.catalogue, name))
  return replies.includes(undefined) ? newestInTurns(context, args) : replies.map((here) => textOf(here!.id))
}

async function newestInTurns(context: CommandContext, args: Arguments): Promise<Reply> {
  const { catalogue } = context
  const replies: (string | null)[] = []
  for await (const name of namesInTurns(context, args)) replies.push(await newestText(catalogue, name))
  return replies
}
