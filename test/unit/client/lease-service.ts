/** A service that leases worker ids, in memory, whose clock a test sets; and a client of it under fake time. */
import type { TestContext } from 'node:test'
import { type ClientDeps, FahaoClient } from '../../../client/src/client.ts'
import type { ClientOptions } from '../../../client/src/index.ts'
import { parseUrls, settingsOf } from '../../../client/src/options.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { Timeline } from '../../../src/base/timeline.ts'
import type { ClockBuffer } from '../../../src/buffers/clock-buffer.ts'
import { clockBuffer } from '../../../src/buffers/scattered-clock-buffer.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { FakeClock } from '../fake-clock.ts'

/** What a record of a worker id holds. */
type Lease = { readonly worker: number; readonly fromUs: number; untilUs: number }

/** Leases worker ids of one snowflake generator. */
export class LeaseService {
  readonly clock: FakeClock
  /** How far its clock is ahead of the machine's, in µs. */
  aheadUs = 0
  /** How far ahead of its clock new spans start, in µs. */
  spansAheadUs = 0
  /** What it answers instead of grants. */
  refusal: FahaoError | undefined
  /** What it answers to leases and renewals instead of grants. */
  leaseRefusal: FahaoError | undefined
  /** Whether the namespace of the generator permits leases. */
  permitsLeases = true
  /** Of the generator. */
  layout: string
  format = '{id}'
  /** Requests, as the first words of each. */
  readonly requests: string[] = []
  readonly #leases = new Map<string, Lease>()
  #incarnation = 1
  /** Where time of this incarnation begins, in Unix µs. */
  #floorUs = 0
  /** Ids that it issues itself, as worker 0. */
  #own: ClockBuffer | undefined

  constructor(clock: FakeClock, layout: string) {
    this.clock = clock
    this.layout = layout
  }

  get nowUs(): number {
    return this.clock.wall + this.aheadUs
  }

  /** Forgets all leases: their holders get NOLEASE. */
  forget(): void {
    for (const name of this.#leases.keys()) this.#leases.delete(name)
  }

  /** Replaces the layout: ids of the new one begin above all time that is leased. */
  alter(layout: string): void {
    const ownUntilUs = this.#own === undefined ? 0 : this.#ownUntilUs()
    const ends = [...this.#leases.values()].map(({ untilUs }) => untilUs)
    this.layout = layout
    this.#incarnation++
    this.#floorUs = Math.max(this.#floorUs, this.nowUs, ownUntilUs, ...ends)
    this.#own = undefined
  }

  /** Answers a request as a node does. */
  readonly answer = (words: readonly string[]): unknown => {
    const [verb, name, lease] = words
    this.requests.push(`${verb} ${name}`)
    if (this.refusal !== undefined) throw this.refusal
    const ttlUs = Number(words[words.indexOf('TTL') + 1]) * 1000
    if (verb === 'ID.RUNS') return this.#runs(Number(words[2]))
    if (verb === 'ID.NEXT') return this.#texts(Number(words[3]))
    if (verb !== 'ID.RETURN' && this.leaseRefusal !== undefined) throw this.leaseRefusal
    if (verb === 'ID.LEASE') return this.#isLeased ? this.#lease(ttlUs) : this.#described()
    const held = this.#leases.get(lease!)
    if (held === undefined) throw new FahaoError('NOLEASE', 'take another')
    if (verb === 'ID.RETURN') return 1
    if (Number(words[words.indexOf('UNTIL') + 1]) !== held.untilUs)
      throw new FahaoError('NOLEASE', 'take another')
    if (!this.#isLeased) throw new FahaoError('WRONGTYPE', 'ask for each id')
    if (held.worker >= 2 ** parseLayout(this.layout).nodeBits)
      throw new FahaoError('WORKERID', 'take another')
    held.untilUs = Math.max(held.untilUs, this.#untilUs(held.fromUs, ttlUs))
    return this.#grant(lease!, held)
  }

  get #isLeased(): boolean {
    return this.permitsLeases && parseLayout(this.layout).unitUs <= 30_000_000
  }

  /** The lowest worker id comes last, so that a new lease has a smaller one. */
  #lease(ttlUs: number): unknown {
    const lease = `lease-${this.requests.length}`
    const fromUs = this.nowUs + this.spansAheadUs
    const held = { worker: this.#freeWorker(), fromUs, untilUs: this.#untilUs(fromUs, ttlUs) }
    this.#leases.set(lease, held)
    return this.#grant(lease, held)
  }

  #freeWorker(): number {
    const nodes = 2 ** parseLayout(this.layout).nodeBits
    const most = nodes > 900 ? 900 - this.requests.length : nodes - 1
    const taken = new Set([...this.#leases.values()].map(({ worker }) => worker))
    for (let worker = most; worker > 0; worker--) if (!taken.has(worker)) return worker
    throw new FahaoError('EXHAUSTED', 'no worker id is free')
  }

  #untilUs(fromUs: number, ttlUs: number): number {
    const { unitUs, epochUs } = parseLayout(this.layout)
    const us = Math.max(fromUs, this.#floorUs, this.nowUs) + Math.max(ttlUs, unitUs)
    return epochUs + Math.ceil((us - epochUs) / unitUs) * unitUs
  }

  #grant(lease: string, { worker, fromUs, untilUs }: Lease): unknown {
    return { ...this.#described(), lease, worker, fromUs: Math.max(fromUs, this.#floorUs), untilUs }
  }

  #described(): object {
    const definition = JSON.stringify({ kind: 'snowflake', layout: this.layout, format: this.format })
    return {
      kind: 'snowflake',
      incarnation: String(this.#incarnation),
      definition,
      nowUs: this.nowUs,
      lease: null,
    }
  }

  #texts(count: number): unknown {
    const runs = this.#ownBuffer().collect(count) ?? []
    return runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => String(run.at(index))))
  }

  #runs(count: number): unknown {
    if (this.layout.startsWith('scatter:')) throw new FahaoError('WRONGTYPE', 'use ID.NEXT')
    const runs = this.#ownBuffer().collect(count) ?? []
    return runs.map((run) => [String(run.first), run.stride, run.count])
  }

  #ownBuffer(): ClockBuffer {
    if (this.#own !== undefined) return this.#own
    const layout = parseLayout(this.layout)
    const timeline = new Timeline(this.clock)
    const borrowMaxUs = Math.max(10_000_000, 10 * layout.unitUs)
    const options = { layout, timeline, borrowMaxUs, sequenceStart: 'zero' as const, random: () => 0 }
    this.#own = clockBuffer(options)
    this.#own.grant(0, this.#own.unitsAt(this.#floorUs) + 1, 2 ** layout.timeBits)
    return this.#own
  }

  #ownUntilUs(): number {
    const { unitUs, epochUs } = parseLayout(this.layout)
    return epochUs + this.#ownBuffer().untouched * unitUs
  }
}

/** Four thousand ids in each ms, of 1024 nodes. */
export const wideLayout = 'time:41,node:10,sequence:12;epoch=2025-01-01T00:00:00Z'

/** A client of a service of its own, and the generator `event` of it; closed when the test ends. */
export async function open(
  t: TestContext,
  layout = wideLayout,
  options: ClientOptions = {},
  deps: Partial<ClientDeps> = {},
  spansAheadUs = 0,
) {
  const clock = new FakeClock()
  const service = new LeaseService(clock, layout)
  service.spansAheadUs = spansAheadUs
  const client = clientOf(service, options, deps)
  t.after(async () => {
    const closed = client.close()
    await clock.pass(2000)
    await closed
  })
  return { clock, service, client, generator: await client.generator('event') }
}

/** A client of this service; close it. */
export function clientOf(
  service: LeaseService,
  options: ClientOptions = {},
  deps: Partial<ClientDeps> = {},
): FahaoClient {
  const urls = parseUrls('redis://a:1')
  const link = () => ({
    node: 'a:1',
    send: async ({ words }: { readonly words: readonly string[] }) => service.answer(words),
    close: () => {},
  })
  return new FahaoClient(urls, settingsOf(urls, options), {
    clock: service.clock,
    random: () => 0,
    link,
    ...deps,
  })
}
