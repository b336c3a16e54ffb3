/**
 * Objects of the product that can check themselves. Whatever was asked of one of them since the last event of a simulation,
 * its invariants hold at the next; those that a unit test has used hold after the test (unit/invariants.ts). The hooks are
 * here: production code knows nothing of them.
 */

import { ClockBuffer } from '../src/buffers/clock-buffer.ts'
import { ScrambledBuffer, ShuffledBuffer } from '../src/buffers/permuted-buffers.ts'
import { RangeBuffer } from '../src/buffers/range-buffer.ts'
import { WaitQueue } from '../src/buffers/wait-queue.ts'
import { GeneratorsInUse } from '../src/catalogue/generators-in-use.ts'
import { Standby } from '../src/catalogue/leadership/standby.ts'
import { NodeLease } from '../src/cluster/node-lease.ts'
import { GroupCommit } from '../src/issuing/group-commit.ts'
import { Reservoir } from '../src/issuing/reservoir.ts'
import { WorkerId } from '../src/issuing/worker-id.ts'
import { FreeList } from '../src/leasing/free-workers.ts'
import { RangeLeases } from '../src/leasing/range-leases.ts'
import { WorkerIdQuotas } from '../src/leasing/worker-id-quotas.ts'

/** Throws where an invariant does not hold. */
export type SelfChecking = { assertInvariants(): void }

const touched = new Set<SelfChecking>()

/** Something was asked of it. */
export function touch(each: SelfChecking): void {
  touched.add(each)
}

/** Checks what was touched since the last time. Returns the first error. */
export function brokenInvariant(): Error | undefined {
  if (touched.size === 0) return undefined
  try {
    for (const each of touched) each.assertInvariants()
    return undefined
  } catch (error) {
    return error as Error
  } finally {
    touched.clear()
  }
}

/** What an earlier simulation has left says nothing about the next. */
export function forgetTouched(): void {
  touched.clear()
}

/** Every call of a method of these objects touches them. */
function watch({ prototype }: { readonly prototype: SelfChecking }): void {
  for (const [name, { value: method, ...rest }] of Object.entries(
    Object.getOwnPropertyDescriptors(prototype),
  )) {
    if (typeof method !== 'function' || name === 'constructor' || name === 'assertInvariants') continue
    const touching = function (this: SelfChecking, ...args: readonly unknown[]): unknown {
      touched.add(this)
      return method.apply(this, args)
    }
    Object.defineProperty(prototype, name, { ...rest, value: touching })
  }
}

for (const each of [
  ClockBuffer,
  FreeList,
  GeneratorsInUse,
  GroupCommit,
  NodeLease,
  WorkerIdQuotas,
  RangeBuffer,
  RangeLeases,
  Reservoir,
  ScrambledBuffer,
  ShuffledBuffer,
  Standby,
  WaitQueue,
  WorkerId,
])
  watch(each)
