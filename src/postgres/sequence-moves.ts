/** setval and ALTER SEQUENCE … RESTART: how a sequence is moved forward. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Definition } from '../catalogue/definition.ts'
import { refuseJump } from '../catalogue/floor.ts'
import { max63 } from '../ids/limits.ts'
import { moveOperation, newestOperation } from '../operations/newest.ts'
import { unknownRelation } from './errors.ts'
import type { Session } from './session.ts'
import { SqlError } from './sql-error.ts'

/** 55000, object_not_in_prerequisite_state. */
const notInState = '55000'
const forceHint = 'SET over RESP takes FORCE; there is no way back.'

/** The definition of a generator. Errors: 42P01. */
export async function definitionOf(session: Session, name: string): Promise<Definition> {
  try {
    return await session.caller.definition(name)
  } catch (error) {
    throw hasCode(error, 'NOGENERATOR') ? unknownRelation(name) : error
  }
}

/**
 * Moves a sequence forward: the next id is the one after `value`, or, if it is not called, `value` itself.
 * Returns the value. 55000 where that is below what was issued, or no id of the sequence.
 */
export async function moveSequence(
  session: Session,
  name: string,
  value: bigint,
  isCalled: boolean,
): Promise<string> {
  const { caller, drawn } = session
  caller.demand(moveOperation.name, name)
  const newest = isCalled ? value : value - 1n
  checkValue(name, value, newest, await definitionOf(session, name))
  try {
    if (!(await caller.run(moveOperation, { name, newest, condition: 'XX' }))) throw unknownRelation(name)
  } catch (error) {
    if (!(error instanceof FahaoError) || error instanceof SqlError || error.code !== 'ERR') throw error
    // The sentence about a move that skips very many ids names FORCE, which SQL has not.
    const hint = error.message.endsWith('FORCE') ? forceHint : undefined
    throw new SqlError(notInState, error.message, { hint })
  }
  if (isCalled) drawn.move(name, value)
  return String(value)
}

/**
 * Throws 22003 or 55000 if `value` cannot become the next id of a generator that is altered to `definition`. `block`: also
 * to another increment, and the larger of the two, which is how many ids a value may stand for. What happens meanwhile, and what the caller may not read, is refused by the move itself.
 */
export async function checkRestart(
  { caller }: Session,
  name: string,
  value: bigint,
  definition: Definition,
  block?: bigint,
): Promise<void> {
  caller.demand(moveOperation.name, name)
  if (block === undefined) checkValue(name, value, value - 1n, definition)
  else checkBounds(name, value, value - 1n, definition)
  const { access } = caller.session
  const mayRead = access.unrestricted || access.allows(newestOperation.name)
  const newest = mayRead ? await caller.run(newestOperation, { name }) : undefined
  const last = newest ?? (await caller.catalogue.current(name)).floor - 1n
  if (value <= last) throw new SqlError(notInState, `the ids of "${name}" up to ${last} are used already`)
  if (block !== undefined && value < last + block)
    throw new SqlError(
      notInState,
      `the ids of "${name}" up to ${last} are used already, and a value may stand for ${block} ids; RESTART WITH ${last + block} or above`,
    )
  try {
    refuseJump(name, last, value - 1n, definition.max ?? max63)
  } catch (error) {
    throw hasCode(error, 'ERR')
      ? new SqlError(notInState, (error as Error).message, { hint: forceHint })
      : error
  }
}

function checkBounds(name: string, value: bigint, newest: bigint, { max = max63 }: Definition): void {
  if (newest < 0n || value > max)
    throw new SqlError('22003', `setval: value ${value} is out of bounds for sequence "${name}" (1..${max})`)
}

function checkValue(name: string, value: bigint, newest: bigint, definition: Definition): void {
  checkBounds(name, value, newest, definition)
  const { increment = 1, offset = 0n, kind } = definition
  const stride = BigInt(increment)
  if (kind === 'sequence' && (value - offset) % stride !== 0n) throw between(name, value, stride, offset)
}

function between(name: string, value: bigint, stride: bigint, offset: bigint): SqlError {
  const before = value - ((((value - offset) % stride) + stride) % stride)
  return new SqlError(
    notInState,
    `the ids of "${name}" are ${stride} apart and ${value} is none of them; the nearest are ${before} and ${before + stride}`,
  )
}
