/**
 * Faults that were found and mended, and others that would be easy to make: each is put back into a copy of the source to
 * see that the simulation finds it. `npm run sim -- --mutations`.
 */

/** One fault, as a change of the source. */
export type Mutation = {
  /** What is wrong then. */
  readonly fault: string
  /** In which scenario it has to show. */
  readonly scenario: string
  readonly file: string
  /** Stands there exactly once. */
  readonly from: string
  readonly to: string
}

/** All of them. */
export const mutations: readonly Mutation[] = [
  {
    fault: 'an advance raises only the counters that the store still has',
    scenario: 'forgetting',
    file: 'src/recovery/repair-generators.ts',
    from: "if (definition.kind === 'snowflake') continue",
    to: 'if (definition !== undefined) continue',
  },
  {
    fault: 'a claim of a worker id outlives an advance',
    scenario: 'forgetting',
    file: 'src/recovery/repair-workers.ts',
    from: 'epoch: record.epoch + epochJump, ',
    to: '',
  },
  {
    fault: 'an advance leaves incarnations as they are',
    scenario: 'forgetting',
    file: 'src/recovery/repair-generators.ts',
    from: 'stored.incarnation + BigInt(epochJump)',
    to: 'stored.incarnation + 0n * BigInt(epochJump)',
  },
  {
    fault: 'incarnations that count in different scales share a counter',
    scenario: 'single',
    file: 'src/catalogue/stored.ts',
    from: 'scaleOf(old.definition) === scaleOf(next)) return',
    to: 'scaleOf(old.definition) !== name) return',
  },
  {
    fault: 'strict order is acknowledged before other nodes have heard of it',
    scenario: 'fleet',
    file: 'src/catalogue/incarnation-change.ts',
    from: '|| engine.newsMs === 0) return',
    to: '|| engine.newsMs >= 0) return',
  },
  {
    fault: 'a catalogue that could not be opened goes on listening',
    scenario: 'servers',
    file: 'src/catalogue/engine-catalogue.ts',
    from: `      await catalogue.close()
      throw error`,
    to: '      throw error',
  },
  {
    fault: 'a node that has not heard of a drop goes on with the old life of what is created there',
    scenario: 'fleet',
    file: 'src/catalogue/engine-catalogue.ts',
    from: 'open.version < record.version && !isRow(record)',
    to: 'open.version === rowVersion && !isRow(record)',
  },
  {
    fault: 'a node is declared dead without the margin',
    scenario: 'leaders',
    file: 'src/cluster/failure-detector.ts',
    from: '(ttlMs + marginMs) * 1000',
    to: '(ttlMs + 0 * marginMs) * 1000',
  },
  {
    fault: 'a leader believes in its lease without the margin',
    scenario: 'leaders',
    file: 'src/cluster/lease.ts',
    from: '(this.#timing.ttlMs - this.#timing.marginMs) * 1000',
    to: 'this.#timing.ttlMs * 1000',
  },
  {
    fault: 'a leftover range is offered twice',
    scenario: 'cluster',
    file: 'src/catalogue/leftover-ranges.ts',
    from: `    this.#left.delete(name)
`,
    to: '',
  },
  {
    fault: 'a lease is counted from the answer to its renewal',
    scenario: 'leaders',
    file: 'src/cluster/lease.ts',
    from: 'this.#deadlineUs = sent.monoUs +',
    to: 'this.#deadlineUs = this.#clock.monoUs() + 0 * sent.monoUs +',
  },
  {
    fault: 'group commit serves those who came after the reserve had begun',
    scenario: 'fleet',
    file: 'src/issuing/group-commit.ts',
    from: 'waiter.place < joined && waiter.count <= left',
    to: 'joined >= 0 && waiter.count <= left',
  },
  {
    fault: 'a worker id is claimed from now on, whatever its bound was',
    scenario: 'forgetting',
    file: 'src/issuing/worker.ts',
    from: 'Math.max(timeline.nowUs(), fromUs, this.#lost.get(id) ?? 0)',
    to: 'Math.max(timeline.nowUs(), this.#lost.get(id) ?? 0)',
  },
  {
    fault: 'the counter is not sealed before the next incarnation begins',
    scenario: 'fleet',
    file: 'src/catalogue/incarnation-change.ts',
    from: `  await seal(engine, name, stored)
  await othersToHear`,
    to: '  await othersToHear',
  },
]
