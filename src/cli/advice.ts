/** The arithmetic of `fahao advise`: step, horizon and lifetime of layouts. */
import type { Layout } from '../ids/layout.ts'
import { counterLifetime, lifetime } from '../ids/lifetime.ts'
import { max53, max63 } from '../ids/limits.ts'

/** The load and the layout that the advice is for. */
export type AdviceRequest = {
  /** Ids per second at peak, over all nodes. */
  readonly rate: number
  readonly nodes: number
  /** How long ids should last without the engine, in ms. */
  readonly horizonMs: number
  readonly layout: Layout
  /** Now, in Unix µs. */
  readonly nowUs: number
}

/** Expected figures, and the step to set. */
export type Advice = ReturnType<typeof advise>

/** Computes the advice. Refills keep between one and two horizons of ids buffered. */
export function advise({ rate, nodes, horizonMs, layout, nowUs }: AdviceRequest) {
  const perNode = rate / nodes
  const horizonIds = Math.ceil((perNode * horizonMs) / 1000)
  const until = (max: bigint) => counterLifetime({ bound: 1n, max, ratePerSecond: rate, nowUs }).ends
  const { idsPerSecondPerNode, nodes: room, ends, endsUs, passes53, passes53Us } = lifetime(layout)
  const ended = endsUs <= BigInt(nowUs)
  return {
    /** For sequences and segments. */
    counter: {
      /** Ids that each node buffers at peak, at least and at most. */
      inHand: [horizonIds, 2 * horizonIds],
      /** The most ids that a crash of a node leaves unused. */
      lostByCrash: 2 * horizonIds,
      /** A step that buffers one horizon of ids even after a time of little traffic. */
      step: Math.max(1000, 2 * horizonIds),
      /** When a counter that starts at 1 passes 2^53−1 at this rate without a pause. */
      passes53: until(max53),
      ends: until(max63),
    },
    /** For timestamps and snowflakes. */
    clock: {
      idsPerSecondPerNode,
      /** Whether the time field has ended. */
      ended,
      /** Whether the layout has room for this rate and these nodes now. */
      enough: !ended && perNode <= idsPerSecondPerNode && nodes <= room,
      nodes: room,
      ends,
      passes53,
      /** Whether ids exceed 2^53−1 now. */
      past53Now: passes53Us !== undefined && passes53Us <= BigInt(nowUs),
    },
  } as const
}
