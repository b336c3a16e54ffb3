/**
 * What a process that uses the client was granted, as its replies said. Each id that the client gives lies in a grant for its
 * generator, and is given in time.
 *
 * Invariants
 *  1. An id of a range is ≡ offset (mod increment), and is given before the deadline, which counts from the request.
 *  2. An id of a worker lease has the worker id and a whole unit of the span of one reply for its generator.
 *  3. Nothing of a grant that was asked for before a copy of the memory was noticed is given afterwards.
 */
import { fieldsOf } from '../../client/src/requests.ts'
import { type DecodedId, decode } from '../../src/ids/id-parts.ts'
import type { Layout } from '../../src/ids/layout.ts'
import { parseLayout } from '../../src/ids/layout-text.ts'
import type { Machine } from './machine.ts'

/** Of a counter, raw values `[start, end)`, every `increment`-th. */
type RangeGrant = {
  readonly kind: 'range'
  readonly start: bigint
  readonly end: bigint
  readonly increment: number
  readonly offset: bigint
  readonly incarnation: bigint
  /** When it was asked for, in true µs. */
  readonly sentUs: number
  /** On the monotonic clock, in µs. */
  readonly deadlineUs: number
}
/** Of a worker lease, Unix µs `[fromUs, untilUs)`. */
type SpanGrant = {
  readonly kind: 'span'
  readonly layout: Layout
  readonly worker: number
  readonly fromUs: number
  readonly untilUs: number
}
/** Of a reply to a request for ids. */
type IdsGrant = {
  readonly kind: 'ids'
  readonly first: bigint
  readonly stride: bigint
  readonly count: bigint
}

/** What a reply permits. */
export type Grant = RangeGrant | SpanGrant | IdsGrant

/** Leases that still matter after a reply, at most: those before are over. */
const keptMax = 200

const layouts = new Map<string, Layout>()

export class ClientGrants {
  readonly #machine: Machine
  readonly #byName = new Map<string, Grant[]>()
  /** When a copy was noticed last, in true µs. */
  #copiedUs = 0

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /**
   * A reply arrives.
   * @param sentUs when its request was sent, in true µs.
   * @param sentMonoUs and on the monotonic clock of the machine.
   */
  replied(words: readonly string[], reply: unknown, sentUs: number, sentMonoUs: number): void {
    if (sentUs < this.#copiedUs) return
    const [verb, name = ''] = words
    if (verb === 'ID.RUNS') for (const run of reply as readonly unknown[][]) this.#add(name, idsOf(run))
    if (verb === 'ID.NEXT') for (const id of reply as readonly string[]) this.#add(name, idsOf([id, 1, 1]))
    if (verb !== 'ID.LEASE' && verb !== 'ID.RENEW') return
    const fields = fieldsOf(reply)
    if (fields.lease == null) return
    const { worker, fromUs, untilUs, incarnation, ranges, ttlMs } = fields
    const definition = JSON.parse(String(fields.definition))
    if (worker !== undefined) {
      const layout = layoutOf(String(definition.layout))
      this.#add(name, {
        kind: 'span',
        layout,
        worker: Number(worker),
        fromUs: Number(fromUs),
        untilUs: Number(untilUs),
      })
      return
    }
    for (const [start, end] of ranges as readonly (readonly string[])[])
      this.#add(name, {
        kind: 'range',
        start: BigInt(start!),
        end: BigInt(end!),
        increment: Number(definition.increment),
        offset: BigInt(definition.offset),
        incarnation: BigInt(String(incarnation)),
        sentUs,
        deadlineUs: sentMonoUs + Number(ttlMs) * 1000,
      })
  }

  /** The client has noticed that its memory may exist twice. */
  copied(nowUs: number): void {
    this.#copiedUs = nowUs
    this.#byName.clear()
  }

  /** The grant of an id that the client gives at this moment. */
  grantOf(name: string, id: bigint): Grant | undefined {
    return this.#byName.get(name)?.findLast((grant) => this.#covers(grant, id))
  }

  #add(name: string, grant: Grant): void {
    const known = this.#byName.get(name) ?? []
    this.#byName.set(name, known)
    known.push(grant)
    if (known.length > 2 * keptMax) known.splice(0, keptMax)
  }

  #covers(grant: Grant, id: bigint): boolean {
    if (grant.kind === 'ids') {
      const { first, stride, count } = grant
      const index = (id - first) / stride
      return id >= first && index < count && first + index * stride === id
    }
    if (grant.kind === 'range') {
      const { start, end, increment, offset, deadlineUs } = grant
      const isCounted = (id - offset) % BigInt(increment) === 0n
      return id >= start && id < end && isCounted && this.#machine.monoUs() < deadlineUs
    }
    const { layout, worker, fromUs, untilUs } = grant
    const decoded = decodedBy(layout, id)
    if (decoded === undefined) return false
    const { unixUs, node } = decoded
    return node === worker && Number(unixUs) >= fromUs && Number(unixUs) + layout.unitUs <= untilUs
  }
}

function idsOf([first, stride, count]: readonly unknown[]): IdsGrant {
  return {
    kind: 'ids',
    first: BigInt(String(first)),
    stride: BigInt(String(stride)),
    count: BigInt(String(count)),
  }
}

/** Undefined: the id is of another layout. */
function decodedBy(layout: Layout, id: bigint): DecodedId | undefined {
  try {
    return decode(layout, id)
  } catch {
    return undefined
  }
}

function layoutOf(text: string): Layout {
  const known = layouts.get(text) ?? parseLayout(text)
  layouts.set(text, known)
  return known
}
