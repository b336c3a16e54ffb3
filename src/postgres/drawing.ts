/**
 * Draws ids as whole numbers, and remembers them for currval. Permissions and semantics are those of `nextOperation`.
 *
 * Invariants
 *  1. Each call of nextval in each row gets an id of its own, in the order of rows and columns.
 *  2. The ids of one generator for one statement come from one request: all or none.
 */
import { hasCode } from '../base/errors.ts'
import { Run } from '../ids/run.ts'
import { nextOperation } from '../operations/drawing.ts'
import type { IssuedIds } from '../operations/issued-texts.ts'
import { unknownRelation } from './errors.ts'
import { nameOfText } from './query/quoting.ts'
import { moveSequence } from './sequence-moves.ts'
import type { Session } from './session.ts'
import { SqlError } from './sql-error.ts'
import { booleanOf, integerOf } from './wire-values.ts'

/** Filled and emptied within one call. */
const taken = new Run()

/**
 * Takes the next id of a generator that is in use, without a promise; undefined: `draw` has to draw it. Throws QUOTA. The
 * result is valid until the session draws from the generator again.
 */
export function takeOne({ caller, drawn }: Session, name: string): Run | undefined {
  const generator = caller.catalogue.find(name)
  if (generator === undefined || generator.definition.format !== undefined) return undefined
  if (!caller.takeOne(name, taken)) return undefined
  const newest = drawn.of(name)
  newest.hi = taken.hi
  newest.lo = taken.lo
  return newest
}

/** Draws ids, all or none, in the order of their issue. */
async function draw(session: Session, name: string, count: number): Promise<IssuedIds> {
  const { caller } = session
  const { definition } = await caller.open(name).catch((error) => {
    throw hasCode(error, 'NOGENERATOR') ? unknownRelation(name) : error
  })
  if (definition.format !== undefined) throw formatted(name)
  const ids = await caller.run(nextOperation, { name, count: BigInt(count) })
  session.drawn.of(name).setOne(BigInt(ids.at(count - 1)))
  return ids
}

function formatted(name: string): SqlError {
  return new SqlError(
    '42809',
    `"${name}" issues texts by its format, and nextval gives whole numbers; ask for them with SELECT fahao_next`,
  )
}

/** The ids of a list of calls in rows. */
export type DrawnRows = {
  /** About how much memory they take, in bytes. */
  readonly heldBytes: number
  /** The id of a call in a row; null: its name is NULL. Fast in ascending order. */
  at(row: number, call: number): string | null
}

/** Draws an id for each name in each row; undefined: NULL. */
export async function drawRows(
  session: Session,
  names: readonly (string | undefined)[],
  rows: number,
): Promise<DrawnRows> {
  const uses = new Map<string, number>()
  /** How often the name at each place stands before it. */
  const places = names.map((name) => {
    if (name === undefined) return 0
    const before = uses.get(name) ?? 0
    uses.set(name, before + 1)
    return before
  })
  const drawn = new Map<string, IssuedIds>()
  for (const [name, count] of uses) drawn.set(name, await draw(session, name, rows * count))
  // lastval is the id of the last call.
  const last = names.findLast((name) => name !== undefined)
  if (last !== undefined) session.drawn.of(last)
  return {
    heldBytes: [...drawn.values()].reduce((sum, { heldBytes }) => sum + heldBytes, 0),
    at(row, call) {
      const name = names[call]
      return name === undefined ? null : drawn.get(name)!.at(row * uses.get(name)! + places[call]!)
    },
  }
}

/** Calls a function of sequences. NULL as an argument gives NULL. */
export async function callFunction(
  session: Session,
  call: string,
  args: readonly (string | null)[],
): Promise<string | null> {
  if (args.includes(null)) return null
  if (call === 'lastval') return session.drawn.last
  const name = nameOfText(args[0]!)
  if (call === 'nextval') {
    const run = takeOne(session, name)
    return run === undefined ? (await draw(session, name, 1)).at(0) : run.toString()
  }
  if (call === 'currval') {
    const { caller, drawn } = session
    const { catalogue } = caller
    caller.demand(nextOperation.name, name)
    if (catalogue.find(name) === undefined && !(await catalogue.exists(name))) throw unknownRelation(name)
    return drawn.current(name)
  }
  return moveSequence(session, name, integerOf(args[1]!), booleanOf(args[2] ?? 'true'))
}
