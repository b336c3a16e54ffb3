/** A service that leases worker ids, in memory, whose clock a test sets; and a client of it under fake time. */
import { type ClientDeps, FahaoClient } from '../../../client/src/client.ts'
import type { ClientOptions } from '../../../client/src/index.ts'
import { parseUrls, settingsOf } from '../../../client/src/options.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import type { FakeClock } from '../fake-clock.ts'

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
  /** Of the generator. */
  layout: string
  format = '{id}'
  /** Requests, as the first words of each. */
  readonly requests: string[] = []
  readonly #leases = new Map<string, Lease>()

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

  /** Answers a request as a node does. */
  readonly answer = (words: readonly string[]): unknown => {
    const [verb, name, lease] = words
    this.requests.push(`${verb} ${name}`)
    if (this.refusal !== undefined) throw this.refusal
    const ttlUs = Number(words[words.indexOf('TTL') + 1]) * 1000
    if (verb === 'ID.LEASE') return this.#lease(ttlUs)
    const held = this.#leases.get(lease!)
    if (held === undefined) throw new FahaoError('NOLEASE', 'take another')
    if (verb === 'ID.RETURN') return 1
    if (Number(words[words.indexOf('UNTIL') + 1]) !== held.untilUs)
      throw new FahaoError('NOLEASE', 'take another')
    held.untilUs = Math.max(held.untilUs, this.nowUs + ttlUs)
    return this.#grant(lease!, held)
  }

  /** The lowest worker id comes last, so that a new lease has a smaller one. */
  #lease(ttlUs: number): unknown {
    const lease = `lease-${this.requests.length}`
    const fromUs = this.nowUs + this.spansAheadUs
    const held = { worker: 900 - this.requests.length, fromUs, untilUs: fromUs + ttlUs }
    this.#leases.set(lease, held)
    return this.#grant(lease, held)
  }

  #grant(lease: string, { worker, fromUs, untilUs }: Lease): unknown {
    const definition = JSON.stringify({ kind: 'snowflake', layout: this.layout, format: this.format })
    const { nowUs } = this
    return { kind: 'snowflake', incarnation: '1', definition, nowUs, lease, worker, fromUs, untilUs }
  }
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
