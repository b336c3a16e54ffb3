/** What runs on a machine of the simulation, as clients see it: three of them, from the least that leads to what servers run. */
import { sectionCounter } from '../../src/catalogue/families/family-records.ts'
import type { Cluster } from '../../src/cluster/cluster.ts'
import { slotOf } from '../../src/cluster/slots.ts'
import type { Reply } from '../../src/commands/command.ts'
import type { Layout } from '../../src/ids/layout.ts'
import type { Run } from '../../src/ids/run.ts'
import type { Kind } from '../../src/issuing/issuer.ts'

/** How many ids are asked for, of which generator. */
export type Request = {
  readonly generator: string
  readonly count: number
  /** All in one run whose ids follow one another. */
  readonly contiguous?: boolean
  /** A moment of an earlier period, in Unix ms. */
  readonly at?: number
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal
}

/** What a client hears. */
export type Answer =
  | {
      readonly runs: readonly Run[]
      /** Of the counter that has issued them, where that is certain. */
      readonly increment?: number | undefined
    }
  /** Another node leads the generator: ask there. */
  | { readonly moved: string }
  | { readonly down: string; readonly code: string }

/** What an operator wants. */
export type Order =
  | { readonly do: 'create'; readonly generator: string; readonly options: Options }
  | { readonly do: 'alter'; readonly generator: string; readonly options: Options }
  | { readonly do: 'drop'; readonly generator: string }
  | { readonly do: 'info'; readonly generator: string }
  | { readonly do: 'set'; readonly generator: string; readonly newest: bigint }

/** Options of generators, as the simulation uses them. */
export type Options = {
  readonly kind?: Kind
  readonly increment?: number | string
  readonly period?: 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year'
  readonly zone?: string
  readonly width?: number
  readonly keep?: number
  readonly gene?: number
  readonly step?: number | 'adaptive'
  readonly layout?: string
  readonly horizon?: string
  readonly floor?: bigint
  /** Whether the floor holds for what nodes have buffered too. */
  readonly now?: boolean
}

/** The reply to an operator: the kind now, undefined if there is no generator, and its incarnation. */
export type Now = { readonly kind: Kind | undefined; readonly incarnation: bigint }

/** What becomes of an order. */
export type Done = Now | { readonly moved: string } | { readonly down: string; readonly code: string }

/** What a holder of a worker lease asks for. */
export type LeaseRequest =
  | { readonly do: 'lease'; readonly generator: string; readonly ttlMs: number }
  | {
      readonly do: 'renew'
      readonly generator: string
      readonly lease: string
      readonly untilUs: number
      readonly ttlMs: number
    }
  | { readonly do: 'return'; readonly lease: string; readonly fromUs: number; readonly untilUs: number }

/** A worker id, and the span in which ids of a generator may be stamped, in Unix µs. */
export type Grant = {
  readonly lease: string
  readonly worker: number
  readonly fromUs: number
  readonly untilUs: number
  readonly layout: Layout
}

/** What a holder hears. */
export type LeaseReply =
  | Grant
  | { readonly returned: boolean }
  | { readonly moved: string }
  | { readonly down: string; readonly code: string }

export interface Program {
  /** Its part in a cluster; undefined: it stands alone. */
  readonly cluster: Cluster | undefined
  /** Answers a request, as a server does in the callback that brought it. */
  ask(request: Request): Promise<Answer>
  /** Leases, renews and takes back worker ids. */
  lease(request: LeaseRequest): Promise<LeaseReply>
  /** Carries out a command, as for a Redis client. Rejects with the FahaoError that the client receives. */
  command(words: readonly string[]): Promise<Reply>
  /** Carries out an operator's order. */
  obey(order: Order): Promise<Done>
  /** See `FahaoNode.advance`. */
  advance(gap: bigint): Promise<number>
  /** A clean stop. */
  close(): Promise<void>
}

/** How ids were issued, as far as the program knows. */
export type Issued = {
  readonly kind: Kind | undefined
  readonly incarnation?: bigint | undefined
  readonly layout?: string | undefined
  readonly fence?: bigint
}

/** Told of ids in the moment when they are issued. */
export type OnIssue = (generator: string, runs: readonly Run[], how: Issued) => void

const slots = new Map<string, number>()

/** The slot of a generator, computed once for each name. */
export function slotOfName(generator: string): number {
  let slot = slots.get(generator)
  if (slot === undefined) {
    slot = slotOf(generator)
    slots.set(generator, slot)
  }
  return slot
}

/** The family of the simulation. */
export const family = 'room:*'

/** Counter of a generator. */
export function counterOf(generator: string): string {
  if (generator.startsWith('room:')) return sectionCounter(family, slotOfName(generator))
  return `generators/${generator}`
}
