/** Nodes on one store, in any interleaving of requests, reserves, replies and faults: what P1 and P3 say of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Reservation, ReserveRequest } from '../../../src/engine/engine.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { callerStopped } from '../../../src/operations/caller-session.ts'
import type { Fault, Held } from '../../conformance/faulty-engine.ts'
import { type Node, SharedEngine, startNode } from '../catalogue/node.ts'
import { FakeClock, settled } from '../fake-clock.ts'

/** Carries a reserve out when it arrives, and replies when the test says so. */
class SlowReplies extends SharedEngine {
  #open = false
  #replies: (() => void)[] = []

  override async reserve(name: string, request: ReserveRequest): Promise<Reservation> {
    const reservation = await super.reserve(name, request)
    if (!this.#open) await new Promise<void>((reply) => this.#replies.push(reply))
    return reservation
  }

  reply(): void {
    this.#replies.shift()?.()
  }

  replyAll(): void {
    this.#open = true
    while (this.#replies.length > 0) this.reply()
  }
}

/** Ids that were issued; or `newest`, which the sequence was moved to. */
type Answer = {
  readonly sent: number
  readonly received: number
  readonly ids: bigint[]
  readonly newest?: bigint
}

/** Ids are ≡ `offset` (mod `increment`). */
type Progression = { readonly increment: number; readonly offset: bigint }

const nodeCount = 2
const nodes = fc.nat({ max: nodeCount - 1 })
const faults = fc.constantFrom<Fault | undefined>(
  undefined,
  undefined,
  undefined,
  'lose-reply',
  'lose-request',
  'late',
  'unavailable',
)
const actions = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('ask' as const),
      node: nodes,
      count: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ act: fc.constant('carry out' as const), node: nodes, fault: faults }) },
  { weight: 6, arbitrary: fc.record({ act: fc.constant('reply' as const), node: nodes }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('give up' as const), which: fc.nat({ max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('pass' as const), ms: fc.constantFrom(1, 30, 700) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('deliver' as const), node: nodes }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant('move' as const),
      node: nodes,
      by: fc.integer({ min: 0, max: 20 }),
    }),
  },
)
type Action = typeof actions extends fc.Arbitrary<infer Value> ? Value : never

class Fleet {
  readonly answers: Answer[] = []
  readonly #clock: FakeClock
  readonly #nodes: readonly { node: Node; engine: SlowReplies }[]
  readonly #held: Held[]
  readonly #asked: AbortController[] = []
  readonly #open: Promise<unknown>[] = []
  #now = 0
  #highest = 0n

  private constructor(clock: FakeClock, members: readonly { node: Node; engine: SlowReplies }[]) {
    this.#clock = clock
    this.#nodes = members
    this.#held = members.map(({ node }) => node.engine.hold('reserve'))
  }

  static async start(options: Progression): Promise<Fleet> {
    const clock = new FakeClock()
    const store = new MemoryStore()
    const members: { node: Node; engine: SlowReplies }[] = []
    for (let each = 0; each < nodeCount; each++) {
      const engine = new SlowReplies(store)
      const node = await startNode({
        clock,
        store,
        reach: () => engine,
        generators: { order: { kind: 'sequence', ...options } },
      })
      members.push({ node, engine })
    }
    return new Fleet(clock, members)
  }

  async do(action: Action): Promise<void> {
    switch (action.act) {
      case 'ask':
        return this.#ask(action.node, action.count)
      case 'carry out':
        return this.#carryOut(action.node, action.fault)
      case 'reply':
        return this.#nodes[action.node]!.engine.reply()
      case 'give up':
        return this.#asked.at(-1 - action.which)?.abort(callerStopped)
      case 'pass':
        return this.#clock.pass(action.ms)
      case 'deliver':
        // Not awaited: what is carried out late may be answered late, too.
        return void this.#nodes[action.node]!.node.engine.deliver()
      case 'move':
        return this.#move(action.node, action.by)
    }
  }

  /** Lets everything have its answer. */
  async settle(): Promise<void> {
    for (const [index, { node, engine }] of this.#nodes.entries()) {
      node.engine.heal()
      this.#held[index]!.letGo()
      engine.replyAll()
    }
    for (let each = 0; each < 4; each++) await this.#clock.pass(1000)
    await Promise.all(this.#open)
    await Promise.all(this.#nodes.map(({ node }) => node.stop()))
  }

  #ask(at: number, count: number): void {
    const sent = ++this.#now
    const giveUp = new AbortController()
    this.#asked.push(giveUp)
    const generator = this.#nodes[at]!.node.catalogue.find('order')!
    const asked = generator.draw(count, { signal: giveUp.signal }).then(
      (runs) => {
        const ids = runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
        assert.equal(ids.length, count)
        this.#highest = ids.reduce((a, b) => (a > b ? a : b), this.#highest)
        this.answers.push({ sent, received: ++this.#now, ids })
      },
      (error) => assert.match(error.code, /^(?:ABORTED|DRY|STALE)$/),
    )
    this.#open.push(asked)
  }

  #carryOut(at: number, fault: Fault | undefined): void {
    const held = this.#held[at]!
    this.#held[at] = this.#nodes[at]!.node.engine.hold('reserve')
    held.letGo(fault)
  }

  #move(at: number, by: number): void {
    const sent = ++this.#now
    const newest = this.#highest + BigInt(by)
    const moved = this.#nodes[at]!.node.catalogue.find('order')!
      .moveTo(newest)
      .then(
        () => this.answers.push({ sent, received: ++this.#now, ids: [], newest }),
        (error) => assert.match(error.code, /^(?:ERR|UNKNOWN|UNAVAILABLE)$/),
      )
    this.#open.push(moved)
  }
}

/**
 * No id twice, and none that is not above every id whose reply had been received when it was asked for. Of values that
 * a sequence is moved to, those between the same two ids are one.
 */
function check(answers: readonly Answer[], { increment, offset }: Progression): void {
  const idAtOrBelow = (value: bigint) => value - positiveRemainder(value - offset, BigInt(increment))
  const events = answers.flatMap((answer) => [
    { at: answer.sent, answer, sent: true },
    { at: answer.received, answer, sent: false },
  ])
  let known = -1n
  const knownAtStart = new Map<Answer, bigint>()
  for (const { answer, sent } of events.sort((a, b) => a.at - b.at)) {
    if (sent) knownAtStart.set(answer, known)
    else for (const id of [...answer.ids, answer.newest ?? known]) known = id > known ? id : known
  }
  for (const answer of answers) {
    const before = knownAtStart.get(answer)!
    for (const id of answer.ids)
      assert.ok(id > before, `${id} is not above ${before}, which had been received`)
    if (answer.newest !== undefined)
      assert.ok(
        idAtOrBelow(answer.newest) >= idAtOrBelow(before),
        `moved to ${answer.newest}, below ${before}`,
      )
  }
  const ids = answers.flatMap((answer) => answer.ids)
  assert.equal(new Set(ids).size, ids.length, 'an id was issued twice')
}

function positiveRemainder(value: bigint, divisor: bigint): bigint {
  return ((value % divisor) + divisor) % divisor
}

test('group commit on several nodes issues no id twice and keeps real-time order, whatever is lost, late or given up', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(actions, fc.boolean()), { minLength: 50, maxLength: 150, size: 'max' }),
      fc.constantFrom({ increment: 1, offset: 0n }, { increment: 5, offset: 3n }),
      async (steps, options) => {
        const fleet = await Fleet.start(options)
        for (const [action, rest] of steps) {
          await fleet.do(action)
          if (rest) await settled()
        }
        await fleet.settle()
        check(fleet.answers, options)
      },
    ),
    { numRuns: 200 },
  )
})
