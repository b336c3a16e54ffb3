/** Leases of a segment as a test says what the service does, with fake time. */
import assert from 'node:assert/strict'
import { type Definition, definitionOf } from '../../../client/src/definition.ts'
import type { Grant } from '../../../client/src/requests.ts'
import { SegmentSource } from '../../../client/src/segment-source.ts'
import { CopyDetector } from '../../../src/base/copy-detector.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { Run } from '../../../src/ids/run.ts'
import { FakeClock } from '../fake-clock.ts'

export const horizonMs = 60_000

/** A service that leases ranges until it is away, and a source that takes ids of it. */
export class Leasing {
  readonly clock = new FakeClock()
  readonly source: SegmentSource
  isAway = false
  /** Of the leases from now on. */
  ttlMs = 2 * horizonMs
  /** The sizes of all requests, also of those that were refused. */
  readonly asked: number[] = []
  /** The ids that the source has counted as drawn. */
  drawn = 0
  /** Throws what a quota says to a request for `count` ids. */
  quota: (count: number) => void = () => {}
  /** From where ranges were given back. */
  readonly returned: bigint[] = []
  /** What was returned, whether it went back or not. */
  readonly returns: { readonly lease: string; readonly from: bigint }[] = []
  /** Grants wait for it. */
  answers: Promise<void> | undefined
  #newest = ''
  #leases = 0
  #next = 1n
  readonly #run = new Run()

  /** @param first the ids of the first grant. */
  constructor(first = 1000) {
    const answer = this.#grant(first)
    this.source = new SegmentSource(
      {
        name: 'user',
        clock: this.clock,
        copies: new CopyDetector({ clock: this.clock, onCopy: () => this.source.drop() }),
        timeoutMs: 10_000,
        horizonMs,
        onEvent: () => {},
        onAltered: () => {},
        onDrawn: (ids) => {
          this.drawn += ids
        },
        definition: this.#definition,
        lease: async (count) => {
          this.asked.push(count)
          if (this.isAway) throw new FahaoError('UNAVAILABLE', 'away')
          this.quota(count)
          const answer = this.#grant(count)
          await this.answers
          return answer
        },
        returnLease: async (lease, from) => {
          if (this.isAway) throw new FahaoError('UNAVAILABLE', 'away')
          this.returns.push({ lease, from })
          if (lease !== this.#newest) return false
          this.#newest = ''
          this.#next = from
          this.returned.push(from)
          return true
        },
        onChange: () => assert.fail('the definition is the same'),
      },
      answer,
    )
  }

  /** Another client leases `count` ids. */
  leaseElsewhere(count: number): void {
    this.#grant(count)
  }

  /** Takes ids at a rate for `seconds`; returns how many were missing. */
  async takeFor(seconds: number, perSecond: number): Promise<number> {
    let missing = 0
    let due = 0
    for (let tenth = 0; tenth < seconds * 10; tenth++) {
      for (due += perSecond / 10; due >= 1; ) {
        const taken = this.source.take(Math.floor(due), this.#run)
        if (taken === 0) {
          missing += Math.floor(due)
          due %= 1
        } else due -= taken
      }
      await this.clock.pass(100)
      this.source.assertInvariants()
    }
    return missing
  }

  /** The first raw value that is not leased: how much of the space is gone. */
  get bound(): bigint {
    return this.#next
  }

  get #definition(): Definition {
    return definitionOf(this.#grant(0).grant)
  }

  #grant(count: number) {
    const range = { start: this.#next, end: this.#next + BigInt(count) }
    if (count > 0) {
      this.#next = range.end
      this.#newest = `lease-${++this.#leases}`
    }
    const grant: Grant = {
      kind: 'segment',
      incarnation: '1',
      definition: {},
      format: undefined,
      orders: undefined,
      clock: undefined,
      drawnMax: undefined,
      nowUs: this.clock.wall,
      lease: this.#newest,
      ranges: [range],
      ttlMs: this.ttlMs,
      key: undefined,
      worker: undefined,
      fromUs: undefined,
      untilUs: undefined,
    }
    return { grant, sentUs: this.clock.mono }
  }
}
