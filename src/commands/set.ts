/** SET and SETNX: create a sequence that starts above a number, or move one there. For migrations and restores. */
import { FahaoError } from '../base/errors.ts'
import { max63 } from '../ids/limits.ts'
import { moveOperation } from '../operations/newest.ts'
import { type Arguments, syntaxError } from './arguments.ts'
import { type Command, ok, oneOf } from './command.ts'
import { type CommandContext, operationContext } from './context.ts'
import { changesOne } from './generator-names.ts'
import { factsOf } from './grammar.ts'

const key = { name: 'key', type: 'key' } as const
const value = { name: 'value', type: 'integer' } as const
const common = {
  ...factsOf(moveOperation),
  keys: [1, 1, 1],
  group: 'string',
  overlaps: changesOne,
} as const

/** Options of Redis's SET that do not apply to a generator, and why. */
const impossible: ReadonlyMap<string, string> = new Map([
  ...['EX', 'PX', 'EXAT', 'PXAT', 'KEEPTTL'].map((word) => [word, 'generators do not expire'] as const),
  ['GET', 'ask with GET first, a generator moves forward only'],
])

/** SET, SETNX. */
export const setCommands: readonly Command[] = [
  {
    ...common,
    arity: -3,
    flags: ['write'],
    summary: 'Creates a sequence, or moves one forward, so that its next id is the first above a number.',
    reply: '`OK`; nil if NX or XX prevented it.',
    notes:
      'After `SET key n` the next `INCR` gives n + increment. An n below the newest id is an error that states that id. On a `segment` use `ID.ALTER key FLOOR n`; kinds made of the clock cannot be set. A move that gives up more than 2^40 ids, or more than half of what is left below MAX, is refused without FORCE: there is no way back.',
    arguments: [
      key,
      value,
      { ...oneOf('condition', 'NX', 'XX'), optional: true },
      { name: 'force', type: 'pure-token', token: 'FORCE', optional: true },
    ],
    async handler(context, args) {
      const newest = newestAt(args)
      const options = optionsOf(args)
      return (await moved(context, args, { newest, ...options })) ? ok : null
    },
  },
  // Programs that count with INCR in Redis send it first, to create the counter with its start.
  {
    ...common,
    name: 'setnx',
    arity: 3,
    flags: ['write', 'fast'],
    summary: 'Creates a sequence whose next id is the first above a number, unless the name is taken.',
    reply: '1 when it was created, else 0.',
    arguments: [key, value],
    handler: async (context, args) =>
      (await moved(context, args, { newest: newestAt(args), condition: 'NX' })) ? 1 : 0,
  },
]

type SetOptions = { readonly condition?: 'NX' | 'XX'; readonly force?: boolean }

function moved(context: CommandContext, args: Arguments, move: SetOptions & { readonly newest: bigint }) {
  return moveOperation.run(operationContext(context), { name: args.text(0), ...move })
}

function newestAt(args: Arguments): bigint {
  const newest = args.integer(1)
  if (newest < 0n) throw new FahaoError('ERR', `value must be 0 to ${max63}: ids are not negative`)
  return newest
}

function optionsOf(args: Arguments): SetOptions {
  let options: SetOptions = {}
  for (let index = 2; index < args.length; index++) {
    const token = args.token(index)
    const why = impossible.get(token)
    if (why !== undefined) throw new FahaoError('ERR', `syntax error: SET takes no ${token} here, ${why}`)
    if (token === 'FORCE' && options.force === undefined) options = { ...options, force: true }
    else if ((token === 'NX' || token === 'XX') && options.condition === undefined)
      options = { ...options, condition: token }
    else throw syntaxError()
  }
  return options
}
