/** SET and SETNX: create a sequence that starts above a number, or move one there. For migrations and restores. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Catalogue, Generator } from '../catalogue/catalogue.ts'
import { refuseJump } from '../catalogue/floor.ts'
import { max63 } from '../ids/limits.ts'
import { existing } from '../operations/drawing.ts'
import { type Arguments, syntaxError } from './arguments.ts'
import { type Command, ok, oneOf, type Reply } from './command.ts'
import type { CommandContext } from './context.ts'

const key = { name: 'key', type: 'key' } as const
const value = { name: 'value', type: 'integer' } as const
const common = {
  keys: [1, 1, 1],
  permission: 'manage',
  change: { event: 'set' },
  group: 'string',
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
    name: 'set',
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
    async handler({ catalogue }, args) {
      const newest = newestAt(args)
      const options = optionsOf(args)
      return (await set(catalogue, args.text(0), newest, options)) ? ok : null
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
    handler: setIfAbsent,
  },
]

type SetOptions = { readonly condition?: 'NX' | 'XX'; readonly force?: boolean }

async function setIfAbsent({ catalogue }: CommandContext, args: Arguments): Promise<Reply> {
  return (await set(catalogue, args.text(0), newestAt(args), { condition: 'NX' })) ? 1 : 0
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

/** Carries SET out. Returns whether it created or moved the sequence. */
async function set(catalogue: Catalogue, name: string, newest: bigint, options: SetOptions) {
  const { condition, force = false } = options
  if (!(await catalogue.exists(name))) {
    if (condition === 'XX') return false
    if (await created(catalogue, name, newest, force)) return true
  }
  if (condition === 'NX') return false
  const generator = await existing(catalogue, name)
  refuseKind(generator, newest)
  await generator.moveTo(newest, { force })
  return true
}

/** False if another client has created it first. */
async function created(catalogue: Catalogue, name: string, newest: bigint, force: boolean): Promise<boolean> {
  if (newest === max63) throw new FahaoError('ERR', 'increment or decrement would overflow')
  if (!force) refuseJump(name, 0n, newest, max63)
  try {
    await catalogue.create(name, { kind: 'sequence', start: newest + 1n })
    return true
  } catch (error) {
    if (hasCode(error, 'EXISTS')) return false
    throw error
  }
}

function refuseKind({ kind, name }: Generator, newest: bigint): void {
  if (kind === 'sequence') return
  const why =
    kind === 'segment'
      ? `each node issues from its own range; use ID.ALTER ${name} FLOOR ${newest + 1n}`
      : 'its ids follow the clock and are above every earlier one already'
  throw new FahaoError('WRONGTYPE', `'${name}' is a ${kind}: ${why}`)
}
