/** A database that goes away: per-node ids are issued on, strict ones are refused clearly, and all come back. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { DatabaseServer } from '../launch/database.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { create, judge, until } from './campaign.ts'
import type { StartDatabase } from './databases.ts'
import { type Ask, Load, nowUs } from './load.ts'

/** Both are defaults. */
const [step, horizonSeconds] = [1000, 600]
/** What a client may be told that can only be tried again. */
const retryable = ['DRY', 'UNAVAILABLE', 'UNKNOWN', 'BUSY']

/** From and until, in µs. */
type Span = readonly [fromUs: number, toUs: number]

type Outage = {
  readonly what: string
  readonly seconds: number
  readonly begin: (database: DatabaseServer) => Promise<void>
  readonly end: (database: DatabaseServer) => Promise<void>
}

/** The ways in which a database goes away, each with the seconds that it lasts at least. */
export const outage = {
  frozen: (seconds: number): Outage => ({
    what: 'frozen',
    seconds,
    begin: (database) => database.freeze(),
    end: async (database) => database.thaw(),
  }),
  killed: (seconds: number): Outage => ({
    what: 'killed',
    seconds,
    begin: (database) => database.kill(),
    end: (database) => database.restart(),
  }),
  readOnly: (seconds: number): Outage => ({
    what: 'read-only',
    seconds,
    begin: (database) => database.setReadOnly(true),
    end: (database) => database.setReadOnly(false),
  }),
} as const

/** The campaign: the database goes away in each of these ways in turn, after `steadySeconds` in which it works. */
export async function outagesOf(
  t: TestContext,
  name: string,
  start: StartDatabase,
  outages: readonly Outage[],
  steadySeconds: number,
): Promise<void> {
  const database = await start(t)
  const node = await startFahao(t, {
    engine: await database.newDatabase(),
    args: ['--log-level', 'warn', '--lead', '90s'],
  })
  const client = await node.connect()
  for (const kind of ['segment', 'snowflake', 'sequence']) await create(client, kind, kind)
  const perNode = new Load()
  perNode.start([node.resp], [...asks('segment', 4), ...asks('snowflake', 4)])
  const steadyUs = nowUs()
  await pause(steadySeconds * 1000)

  const recoveriesMs: number[] = []
  for (const each of outages) {
    const strict = new Load()
    strict.start([node.resp], asks('sequence', 2))
    await each.begin(database)
    const beganUs = nowUs()
    await untilDegraded(node)
    await pause(each.seconds * 1000)
    await untilRefused(strict, each.what)
    const endUs = nowUs()
    await each.end(database)
    const backUs = nowUs()
    await until(
      () => client.command('INCR', 'sequence'),
      (reply) => typeof reply === 'bigint',
      15_000,
    )
    recoveriesMs.push((nowUs() - backUs) / 1000)
    await strict.stop()
    const { errors } = strict
    for (const code of errors.keys()) assert.ok(retryable.includes(code), strict.errorTexts.get(code))
    judge(t, strict, ['sequence'], { name: `${name} ${each.what}: strict`, rounds: 1 })
    tellTail(t, perNode, each.what, [steadyUs, steadyUs + steadySeconds * 1e6], [beganUs, endUs])
    assert.equal((await fetch(`${node.http}/readyz`)).status, 200)
    await untilRestocked(node)
  }
  await perNode.stop()

  assert.deepEqual([...perNode.errorTexts.values()], [], 'no request for a per-node id has failed')
  await checkReserves(node, perNode)
  judge(t, perNode, [], { name: `${name} goes away: per node`, rounds: outages.length, recoveriesMs })
}

function asks(generator: string, clients: number): Ask[] {
  return Array<Ask>(clients).fill({ generator, command: ['ID.NEXT', generator] })
}

/** Resolves when the readiness probe calls the node degraded. */
async function untilDegraded(node: FahaoServer): Promise<void> {
  const giveUpAt = performance.now() + 15_000
  for (;;) {
    const health = await (await fetch(`${node.http}/readyz`)).text()
    if (health.includes('degraded')) return
    if (performance.now() > giveUpAt) assert.fail(`after 15 s still: ${health}`)
    await pause(50)
  }
}

/** Resolves when a request for a strict id has been refused: callers wait for one a while, and may get it after the outage. */
async function untilRefused(strict: Load, what: string): Promise<void> {
  const giveUpAt = performance.now() + 15_000
  while (strict.errors.size === 0) {
    if (performance.now() > giveUpAt)
      assert.fail(`strict ids were not refused while the database was ${what}`)
    await pause(20)
  }
}

/** Resolves when the buffers are full again, so that the next outage begins as this one did. */
async function untilRestocked(node: FahaoServer): Promise<void> {
  const giveUpAt = performance.now() + 15_000
  for (;;) {
    const answer = await fetch(`${node.http}/v1/generators/snowflake`)
    const info = (await answer.json()) as { stats: { inHandSeconds: number } }
    if (info.stats.inHandSeconds > 85) return
    if (performance.now() > giveUpAt) assert.fail(`after 15 s still: ${JSON.stringify(info)}`)
    await pause(50)
  }
}

function tellTail(t: TestContext, load: Load, what: string, steady: Span, outage: Span): void {
  const tail = (sorted: readonly number[]) => sorted[Math.floor(sorted.length * 0.9999)] ?? 0
  for (const [name, journal] of load.journals) {
    const before = tail(journal.latenciesMs(...steady))
    const during = tail(journal.latenciesMs(...outage))
    t.diagnostic(
      `${name}, database ${what}: p99.99 ${during.toFixed(2)} ms, ${(during / before).toFixed(2)} × of ${before.toFixed(2)} ms before`,
    )
  }
}

/**
 * At most one reserve for each `step` ids, and those with which the buffer grows from one step to twice the horizon at
 * the rate of the clients: each of those at least doubles it.
 */
async function checkReserves(node: FahaoServer, load: Load): Promise<void> {
  const answer = await fetch(`${node.http}/v1/generators/segment`)
  const info = (await answer.json()) as { stats: { refills: number } }
  const { refills } = info.stats
  const { count } = load.journal('segment')
  // No rate is higher than all ids in one second.
  const doublings = Math.log2((2 * horizonSeconds * count) / step)
  assert.ok(refills <= count / step + doublings + 1, `${refills} reserves for ${count} ids`)
}
