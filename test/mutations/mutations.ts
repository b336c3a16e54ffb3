/**
 * Safety faults: some were found and repaired, others would be easy to make. Each is put into a copy of the source, and a
 * test must fail then: `npm run mutations`. Those with a scenario must be found by the simulation as well:
 * `npm run sim -- --mutations`.
 */

/** One fault, as a change of the source. */
export type Mutation = {
  /** What is wrong with the changed source. */
  readonly fault: string
  /** A test file that `npm test` runs and that fails on the changed source. */
  readonly foundBy: string
  /** The scenario of the simulation that finds it too, if one does. */
  readonly scenario?: string
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly from: string
  readonly to: string
}

/** All of them. */
export const mutations: readonly Mutation[] = [
  {
    fault: 'the PostgreSQL door draws an id at once for a caller that may not have it',
    foundBy: 'test/unit/commands/in-process.test.ts',
    file: 'src/commands/in-process.ts',
    from: '&& access.reaches(name))) return false',
    to: '|| access.reaches(name))) return false',
  },
  {
    fault: 'the PostgreSQL door lets a client in without the password of its user',
    foundBy: 'test/unit/postgres/access.test.ts',
    file: 'src/postgres/login.ts',
    from: "if (known?.nopass) return this.#authenticate(request, '')",
    to: 'if (known) return this.#finish(request, access.users.access(user)!)',
  },
  {
    fault: 'the PostgreSQL door reads on after an error, instead of skipping to Sync',
    foundBy: 'test/unit/postgres/protocol.test.ts',
    file: 'src/postgres/conversation.ts',
    from: 'if (this.#script === undefined) this.#isSkipping = true',
    to: 'if (this.#script === undefined) this.#isSkipping = false',
  },
  {
    fault: 'a worker lease begins now, though the time of the holder before it has not passed',
    foundBy: 'test/unit/leasing/leases-property.test.ts',
    file: 'src/leasing/worker-leases.ts',
    from: 'Math.max(nowUs, free.fromUs)',
    to: 'Math.max(nowUs, 0 * free.fromUs)',
  },
  {
    fault: 'a renewal of a worker lease ignores where its holder takes the span to end',
    foundBy: 'test/unit/leasing/worker-leases.test.ts',
    file: 'src/leasing/worker-leases.ts',
    from: 'held.record.boundUs !== expectedUs',
    to: 'held.record.boundUs < 0 * expectedUs',
  },
  {
    fault: 'a copy of a holder that has renewed its worker lease gives the time of the holder back',
    foundBy: 'test/unit/leasing/leases-property.test.ts',
    scenario: 'cluster',
    file: 'src/leasing/worker-leases.ts',
    from: 'held.record.boundUs !== untilUs',
    to: 'held.record.boundUs < untilUs',
  },
  {
    fault:
      'time of a worker lease is answered by a record of the generator from before that time was durable',
    foundBy: 'test/unit/leasing/worker-leases.test.ts',
    file: 'src/leasing/worker-leases.ts',
    from: 'const given = await this.#confirmed(name, extended)',
    to: 'const given = this.#answer(name, extended, before)',
  },
  {
    fault: 'alterations, each above what was leased above the one before, go on without a limit',
    foundBy: 'test/unit/leasing/ahead-limit.test.ts',
    file: 'src/catalogue/incarnation-change.ts',
    from: "if (next.kind === 'snowflake') await",
    to: "if (next.kind === 'timestamp') await",
  },
  {
    fault: 'a node reserves the whole of its lead above a floor that lies far ahead',
    foundBy: 'test/unit/leasing/ahead-limit.test.ts',
    file: 'src/issuing/snowflake-source.ts',
    from: 'ratePerSecond, forUs)',
    to: 'ratePerSecond, leadUs)',
  },
  {
    fault: 'a plain worker id goes to another owner without its rest',
    foundBy: 'test/unit/leasing/pools-property.test.ts',
    file: 'src/leasing/pool-view.ts',
    from: 'Math.max(record.untilUs + record.restUs, ',
    to: 'Math.max(record.untilUs, ',
  },
  {
    fault: 'plain worker ids are claimed at once after an advance',
    foundBy: 'test/unit/leasing/pools-property.test.ts',
    file: 'src/recovery/repair-pools.ts',
    from: 'const closedUs = nowUs + longestUs',
    to: 'const closedUs = nowUs + 0 * longestUs',
  },
  {
    fault: 'an advance raises only the counters that the store still has',
    foundBy: 'test/unit/recovery/repair-generators.test.ts',
    scenario: 'forgetting',
    file: 'src/recovery/repair-generators.ts',
    from: "if (definition.kind === 'snowflake') continue",
    to: 'if (definition !== undefined) continue',
  },
  {
    fault: 'a claim of a worker id outlives an advance',
    foundBy: 'test/unit/recovery/repair-workers.test.ts',
    scenario: 'forgetting',
    file: 'src/recovery/repair-workers.ts',
    from: 'epoch: record.epoch + epochJump, ',
    to: '',
  },
  {
    fault: 'an advance leaves incarnations as they are',
    foundBy: 'test/unit/recovery/repair-generators.test.ts',
    scenario: 'forgetting',
    file: 'src/recovery/repair-generators.ts',
    from: 'stored.incarnation + BigInt(epochJump)',
    to: 'stored.incarnation + 0n * BigInt(epochJump)',
  },
  {
    fault: 'incarnations that count in different scales share a counter',
    foundBy: 'test/unit/catalogue/scales.test.ts',
    scenario: 'single',
    file: 'src/catalogue/stored.ts',
    from: 'scaleOf(old.definition) === scaleOf(next)) return',
    to: 'scaleOf(old.definition) !== name) return',
  },
  {
    fault: 'strict order is acknowledged before other nodes have received the change',
    foundBy: 'test/unit/catalogue/incarnation-change.test.ts',
    scenario: 'fleet',
    file: 'src/catalogue/incarnation-change.ts',
    from: '|| engine.watchDelayMs === 0) return',
    to: '|| engine.watchDelayMs >= 0) return',
  },
  {
    fault: 'a catalogue that could not be opened continues to listen',
    foundBy: 'test/unit/catalogue/successor.test.ts',
    scenario: 'servers',
    file: 'src/catalogue/generators-in-use.ts',
    from: `      await inUse.closeAll()
      throw error`,
    to: '      throw error',
  },
  {
    fault: 'a node that has not received a drop continues the old incarnation of a name that it creates',
    foundBy: 'test/unit/catalogue/incarnation-change.test.ts',
    scenario: 'fleet',
    file: 'src/catalogue/engine-catalogue.ts',
    from: 'open.version < record.version)',
    to: 'open.version === 0n)',
  },
  {
    fault: 'a node is declared dead without the margin',
    foundBy: 'test/unit/cluster/failure-detector.test.ts',
    scenario: 'leaders',
    file: 'src/cluster/failure-detector.ts',
    from: '(ttlMs + marginMs) * 1000',
    to: '(ttlMs + 0 * marginMs) * 1000',
  },
  {
    fault: 'a leader issues on its lease without the margin',
    foundBy: 'test/unit/cluster/lease.test.ts',
    scenario: 'leaders',
    file: 'src/cluster/lease.ts',
    from: '(this.#timing.ttlMs - this.#timing.marginMs) * 1000',
    to: 'this.#timing.ttlMs * 1000',
  },
  {
    fault: 'a leftover range is offered twice',
    foundBy: 'test/unit/catalogue/leftover-ranges.test.ts',
    scenario: 'cluster',
    file: 'src/catalogue/leadership/leftover-ranges.ts',
    from: `    this.#ranges.delete(name)
`,
    to: '',
  },
  {
    fault: 'a lease is counted from the answer to its renewal',
    foundBy: 'test/unit/cluster/lease.test.ts',
    scenario: 'leaders',
    file: 'src/cluster/lease.ts',
    from: 'this.#deadlineUs = sent.monoUs +',
    to: 'this.#deadlineUs = now.monoUs + 0 * sent.monoUs +',
  },
  {
    fault: 'a shard is taken from a leader that is not dead',
    foundBy: 'test/unit/cluster/cluster.test.ts',
    file: 'src/cluster/handover.ts',
    from: 'isUnchanged && isGone(answer)',
    to: 'isUnchanged',
  },
  {
    fault: 'a leader issues until its hand-over is written',
    foundBy: 'test/unit/cluster/cluster.test.ts',
    file: 'src/cluster/leaderships.ts',
    from: 'return led !== undefined && led.losingUs === undefined ? led.term',
    to: 'return led !== undefined ? led.term',
  },
  {
    fault: 'a machine that was suspended counts the lease from before',
    foundBy: 'test/unit/cluster/lease.test.ts',
    file: 'src/cluster/lease.ts',
    from: 'wallUs - monoUs - this.#aheadUs <= this.#marginUs',
    to: 'wallUs >= this.#aheadUs - this.#marginUs',
  },
  {
    fault: 'group commit serves callers that came after the reserve had begun',
    foundBy: 'test/unit/issuing/group-commit-order.test.ts',
    scenario: 'fleet',
    file: 'src/issuing/group-commit.ts',
    from: 'waiter.place < joined && waiter.count <= left',
    to: 'joined >= 0 && waiter.count <= left',
  },
  {
    fault: 'a worker id is claimed from now on, whatever its bound was',
    foundBy: 'test/unit/issuing/worker.test.ts',
    scenario: 'forgetting',
    file: 'src/issuing/worker.ts',
    from: 'Math.max(timeline.nowUs(), fromUs, this.#lost.get(id) ?? 0)',
    to: 'Math.max(timeline.nowUs(), this.#lost.get(id) ?? 0)',
  },
  {
    fault: 'the counter is not sealed before the next incarnation begins',
    foundBy: 'test/unit/catalogue/incarnations.test.ts',
    scenario: 'fleet',
    file: 'src/catalogue/incarnation-change.ts',
    from: `  await seal(engine, name, stored)
  await waitForOtherNodes`,
    to: '  await waitForOtherNodes',
  },
  {
    fault: 'the timeline follows the wall clock backwards',
    foundBy: 'test/unit/base/timeline.test.ts',
    file: 'src/base/timeline.ts',
    from: 'if (aheadUs > 0) {',
    to: 'if (aheadUs !== 0) {',
  },
  {
    fault: 'a reserve ignores the floor, the highest end that the node has held',
    foundBy: 'test/unit/issuing/group-commit.test.ts',
    file: 'src/issuing/reserved-counter.ts',
    from: 'floor: floor > this.bound ? floor : this.bound',
    to: 'floor',
  },
  {
    fault: 'a counter admits a fence lower than one that it has seen',
    foundBy: 'test/conformance/memory.test.ts',
    file: 'src/engine/counter.ts',
    from: 'if (fence < counter.fence)\n    return new',
    to: 'if (fence < 0n * counter.fence)\n    return new',
  },
  {
    fault: 'a counter admits an older incarnation',
    foundBy: 'test/conformance/memory.test.ts',
    file: 'src/engine/counter.ts',
    from: 'if (incarnation < counter.incarnation) {',
    to: 'if (incarnation < 0n * counter.incarnation) {',
  },
  {
    fault: 'a release does not compare the version',
    foundBy: 'test/conformance/memory.test.ts',
    file: 'src/engine/counter.ts',
    from: 'const refused = counter.version !== version || fence',
    to: 'const refused = fence',
  },
  {
    fault: 'ids are issued from a reserve for what was read before an advance',
    foundBy: 'test/unit/catalogue/advanced.test.ts',
    file: 'src/issuing/reserved-counter.ts',
    from: 'if (engine.advances === advances) return',
    to: 'if (engine.advances >= advances) return',
  },
  {
    fault: 'a range is released although another process may have raised a floor into it',
    foundBy: 'test/unit/issuing/floors.test.ts',
    file: 'src/issuing/reserved-counter.ts',
    from: 'const start = untouched > this.aloneFrom ? untouched : this.aloneFrom',
    to: 'const start = untouched',
  },
  {
    fault: 'a node goes on with its buffers after a copy of its memory was noticed',
    foundBy: 'test/unit/node/copies.test.ts',
    file: 'src/node/start.ts',
    from: '      catalogue.abandonAll()\n',
    to: '',
  },
  {
    fault: 'a node goes on under the worker id that a copy of its memory may hold',
    foundBy: 'test/unit/node/copies.test.ts',
    file: 'src/node/start.ts',
    from: '      worker.renounce(newId())\n',
    to: '',
  },
  {
    fault: 'two copies of a leader take the renewal of one for their own',
    foundBy: 'test/unit/node/copies.test.ts',
    file: 'src/cluster/lease.ts',
    from: 'return ownUs !== undefined && ownUs !== sentUs',
    to: 'return ownUs !== undefined && sentUs === undefined',
  },
  {
    fault: 'two copies of a node extend the claim of one worker id in turn',
    foundBy: 'test/unit/node/copies.test.ts',
    file: 'src/issuing/worker.ts',
    from: '!held.tried.includes(record.boundUs)',
    to: 'held.tried.includes(Number.NaN)',
  },
  {
    fault: 'a range that a copy of this memory may hold is released',
    foundBy: 'test/unit/node/copies.test.ts',
    file: 'src/issuing/reserved-counter.ts',
    from: ' || this.#isCopied()) return undefined',
    to: ') return undefined',
  },
  {
    fault: 'ids of a refill from before a copy was noticed reach the callers that wait',
    foundBy: 'test/unit/node/copies.test.ts',
    file: 'src/catalogue/issuing-plans.ts',
    from: '      deps.copies?.check()\n',
    to: '',
  },
  {
    fault: 'a range that goes back takes the range of another caller along',
    foundBy: 'test/unit/issuing/caller-ranges.test.ts',
    file: 'src/issuing/caller-ranges.ts',
    from: 'const counter = new ReservedCounter(this.#incarnation, this.#bound, this.#options)',
    to: 'const counter = (Object(this).one ??= new ReservedCounter(this.#incarnation, 0n, this.#options))',
  },
  {
    fault: 'a range goes back for any token',
    foundBy: 'test/unit/leasing/range-leases.test.ts',
    file: 'src/leasing/range-leases.ts',
    from: '|| !isSame(range.lease, lease)) return',
    to: ') return',
  },
  {
    fault:
      'a character of two bytes whose second is a backslash hides the end of a text, and of a row that needs an id',
    foundBy: 'test/unit/proxy/sql/fill.test.ts',
    file: 'src/proxy/sql/lexer.ts',
    from: 'else if (byte >= 0x80 && lengthAt) at +=',
    to: 'else if (byte < 0x80 && lengthAt) at +=',
  },
  {
    fault: 'an INSERT behind a change of the SQL mode is read by the old mode',
    foundBy: 'test/unit/proxy/sql/statements.test.ts',
    file: 'src/proxy/sql/statements.ts',
    from: "    if (change === 'unknown') this.#isSessionKnown = false\n    else if (change !== 'none')",
    to: "    if (change !== 'unknown' && change !== 'none')",
  },
  {
    fault: 'an INSERT is sent without ids because a server may leave the executable comment in front of it',
    foundBy: 'test/unit/proxy/sql/statements.test.ts',
    file: 'src/proxy/sql/statements.ts',
    from: "if (isLeft && (yield* new StatementsReader(text, context, 'leave').read()) === relay)",
    to: 'if (isLeft)',
  },
  {
    fault:
      'an id is evaluated before LAST_INSERT_ID() of the same row, which then is not the id of the statement before',
    foundBy: 'test/unit/proxy/sql/fill.test.ts',
    file: 'src/proxy/sql/fill.ts',
    from: 'const moved = isLate && isFollowed(insert)',
    to: 'const moved = isLate && isFollowed(insert) && first < 0',
  },
  {
    fault: 'LOAD DATA writes rows without ids into a filled table',
    foundBy: 'test/unit/proxy/sql/statements.test.ts',
    file: 'src/proxy/sql/targets.ts',
    from: "if (cursor.take('INTO')) cursor.take('TABLE')",
    to: "cursor.take('INTO')",
  },
]
