/** How large a step, how long a horizon, how long a layout: arithmetic for `fahao advise`. */

import type { Layout } from '../ids/layout.ts'
import { counterLifetime, lifetime } from '../ids/lifetime.ts'
import { max53, max63 } from '../ids/limits.ts'

/** What is asked about. */
export type AdviceRequest = {
  /** Ids per second at peak, over all nodes. */
  readonly rate: number
  readonly nodes: number
  /** How long ids should go on without the engine, in ms. */
  readonly horizonMs: number
  readonly layout: Layout
  /** Now, in Unix µs. */
  readonly nowUs: number
}

/** What to expect and what to set. */
export type Advice = {
  /** For sequences and segments. */
  readonly counter: {
    /** Ids that each node has in hand at peak, at least and at most. */
    readonly inHand: readonly [least: number, most: number]
    /** Ids that a node killed without warning leaves unused, at most. */
    readonly lostByCrash: number
    /** A step with which the horizon is in hand even when traffic was low before the engine went away. */
    readonly step: number
    /** How long counting from 1 lasts at this rate without a pause. */
    readonly passes53: string
    readonly ends: string
  }
  /** For timestamps and snowflakes. */
  readonly clock: {
    readonly idsPerSecondPerNode: number
    /** Whether its time field is full already. */
    readonly ended: boolean
    /** Whether that is enough for this rate, now. */
    readonly enough: boolean
    readonly nodes: number
    readonly ends: string
    readonly passes53: string | undefined
    /** Whether ids are larger than 2^53 − 1 now. */
    readonly past53Now: boolean
  }
}

/** Works it out. A refill keeps between one and two horizons' worth in hand. */
export function advise({ rate, nodes, horizonMs, layout, nowUs }: AdviceRequest): Advice {
  const perNode = rate / nodes
  const horizonIds = Math.ceil((perNode * horizonMs) / 1000)
  const until = (max: bigint) => counterLifetime({ bound: 1n, max, ratePerSecond: rate, nowUs }).ends
  const { idsPerSecondPerNode, nodes: room, ends, endsUs, passes53, passes53Us } = lifetime(layout)
  const ended = endsUs <= BigInt(nowUs)
  return {
    counter: {
      inHand: [horizonIds, 2 * horizonIds],
      lostByCrash: 2 * horizonIds,
      step: Math.max(1000, 2 * horizonIds),
      passes53: until(max53),
      ends: until(max63),
    },
    clock: {
      idsPerSecondPerNode,
      ended,
      enough: !ended && perNode <= idsPerSecondPerNode && nodes <= room,
      nodes: room,
      ends,
      passes53,
      past53Now: passes53Us !== undefined && passes53Us <= BigInt(nowUs),
    },
  }
}
