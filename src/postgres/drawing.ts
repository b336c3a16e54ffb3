/** Draws ids as whole numbers, and remembers them for currval. Permissions and semantics are those of ID.NEXT. */
import { hasCode } from '../base/errors.ts'
import type { IssuedIds } from '../commands/in-process.ts'
import { Run } from '../ids/run.ts'
import { unknownRelation } from './errors.ts'
import type { Session } from './session.ts'
import { SqlError } from './sql-error.ts'

/** Filled and emptied within one call. */
const taken = new Run()

/**
 * Takes the next id of a generator that is in use, without a promise; undefined: `draw` has to draw it. Throws QUOTA. The
 * result is valid until the session draws from the generator again.
 */
export function takeOne({ caller, drawn }: Session, name: string): Run | undefined {
  const generator = caller.find(name)
  if (generator === undefined || generator.definition.format !== undefined) return undefined
  if (!caller.takeOne(name, taken)) return undefined
  const newest = drawn.of(name)
  newest.hi = taken.hi
  newest.lo = taken.lo
  return newest
}

/** Draws ids, all or none, in the order of their issue. */
export async function draw(session: Session, name: string, count: number): Promise<IssuedIds> {
  const { caller } = session
  const { definition } = await caller.open(name).catch((error) => {
    throw hasCode(error, 'NOGENERATOR') ? unknownRelation(name) : error
  })
  if (definition.format !== undefined) throw formatted(name)
  const ids = await caller.issue(name, count)
  session.drawn.set(name, BigInt(ids.at(count - 1)))
  return ids
}

function formatted(name: string): SqlError {
  return new SqlError(
    '42809',
    `"${name}" issues texts by its format, and nextval gives whole numbers; ask for its ids over RESP or HTTP`,
  )
}
