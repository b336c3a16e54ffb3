/** Carries out the functions with effects in the list behind SELECT, when all rows are known. */
import type { Context, Frame, Steps } from './plan.ts'
import type { SlotCall } from './scope.ts'
import { unsupported } from './sql-error.ts'
import type { Value } from './values.ts'

/** So many rows are called in one part. */
const roundsMax = 100

type ServerCall = Extract<SlotCall, { kind: 'server' }>

/**
 * The frames with the results of their calls. One function for all rows is called once, with all of them; several functions are
 * called row by row, because one may show what another one did.
 */
export function* withSlots(
  slots: readonly SlotCall[],
  frames: readonly Frame[],
  context: Context,
): Steps<readonly Frame[]> {
  const isOne = slots.filter(({ kind }) => kind === 'server').length === 1
  if (isOne) return yield* round(slots, frames, context)
  const done: Frame[] = []
  for (const [index, frame] of frames.entries()) {
    // Promises that are settled already do not let others run.
    if (index % roundsMax === roundsMax - 1) yield
    for (const each of yield* round(slots, [frame], context)) done.push(each)
  }
  return done
}

function* round(
  slots: readonly SlotCall[],
  frames: readonly Frame[],
  context: Context,
): Steps<readonly Frame[]> {
  let current = frames
  for (const [number, slot] of slots.entries()) {
    if (slot.kind !== 'server') continue
    const results = yield* call(slot, current, context)
    current = current.map((frame, index) => {
      const values = [...(frame.slots ?? [])]
      values[number] = results[index]!
      return { ...frame, slots: values }
    })
  }
  return current
}

/** A null argument makes the result null, without a call. */
function* call(
  { name, args }: ServerCall,
  frames: readonly Frame[],
  context: Context,
): Steps<readonly Value[]> {
  const all = frames.map((frame) => args.map((arg) => arg.run(frame)))
  const calls = all.filter((values) => !values.includes(null))
  if (calls.length === 0) return all.map(() => null)
  // A subquery inside of an expression cannot wait, and may be evaluated again.
  if (!context.canWait) throw unsupported(`${name} in a subquery`)
  const pending = context.session.call(name, calls)
  const results = (pending instanceof Promise ? yield pending : pending) as readonly Value[]
  let next = 0
  return all.map((values) => (values.includes(null) ? null : results[next++]!))
}
