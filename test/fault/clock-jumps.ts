/**
 * A wall clock that is set back an hour, stands a year ahead for a second, or is frozen, under load and across
 * crashes: no id twice, order kept, ids never stay away, and no bound is left in the wrong year.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { decode, layouts } from '../../src/ids.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { type MovableClock, movableClock } from '../launch/faketime.ts'
import { create, judge } from './campaign.ts'
import { type Ask, Load, nowUs } from './load.ts'
import { isCovered, storedBound, storedWorkerIds } from './stored.ts'

const strict = ['sequence', 'timestamp']
const kinds = ['sequence', 'segment', 'timestamp', 'snowflake'] as const
/** Every kind, and a snowflake that begins each millisecond somewhere else. */
const generators = [...kinds, 'random'] as const
const asks: Ask[] = generators.flatMap((generator) => [
  { generator, command: ['ID.NEXT', generator] },
  { generator, command: ['ID.NEXT', generator, 'COUNT', 5] },
])
const issueTimeoutMs = 2000
/** Crashes leave time reserved for at most 1.25 horizons of 10 minutes. */
const aheadMaxMs = 15 * 60_000

/** What happens to a clock, in libfaketime's words, and for how long it stays so. */
const misfortunes = {
  'an hour back': { to: () => '-1h', forMs: 700 },
  'a year ahead for a second': { to: () => '+1y', forMs: 1000 },
  frozen: { to: () => frozenNow(), forMs: 700 },
} as const
const names = Object.keys(misfortunes) as (keyof typeof misfortunes)[]

function frozenNow(): string {
  const pad = (value: number) => `${value}`.padStart(2, '0')
  const now = new Date()
  const date = [now.getFullYear(), pad(now.getMonth() + 1), pad(now.getDate())].join('-')
  return `${date} ${[now.getHours(), now.getMinutes(), now.getSeconds()].map(pad).join(':')}`
}

async function startWithClock(
  t: TestContext,
  workerId: string,
): Promise<{ server: FahaoServer; clock: MovableClock }> {
  const clock = movableClock(t)
  const args = ['--worker-id', workerId, '--log-level', 'info']
  const server = await startFahao(t, { args, env: clock.env })
  const client = await server.connect()
  for (const kind of kinds) await create(client, kind, kind)
  await create(client, 'random', 'snowflake', 'SEQUENCESTART', 'random')
  await client.close()
  return { server, clock }
}

/** Ids and bounds of the clock kinds tell a time near now, once the clock has come back. */
async function assertUnpoisoned(server: FahaoServer, context: string): Promise<void> {
  const client = await server.connect()
  const latestMs = Date.now() + aheadMaxMs
  for (const generator of ['timestamp', 'snowflake', 'random']) {
    const id = BigInt((await client.command('ID.NEXT', generator)) as string)
    const { unixUs } = decode(layouts.twitter, id)
    assert.ok(Number(unixUs) / 1000 < latestMs, `${generator} tells ${unixUs} µs ${context}`)
  }
  await client.close()
  const timestampMs = layouts.twitter.epochUs / 1000 + Number(storedBound(server.file, 'timestamp') >> 12n)
  assert.ok(timestampMs < latestMs, `the bound of timestamp stands at ${timestampMs} ms ${context}`)
  for (const { id, boundUs } of storedWorkerIds(server.file))
    assert.ok(Number(boundUs) / 1000 < latestMs, `worker id ${id} is reserved until ${boundUs} µs ${context}`)
}

function countAboveBound(load: Load, file: string): number {
  return generators.filter((name) => {
    const { highest } = load.journal(name)
    const kind = name === 'random' ? 'snowflake' : name
    return highest >= 0n && !isCovered(file, kind, name, highest)
  }).length
}

function assertNeverStuck(load: Load, fromUs: number, context: string): void {
  for (const name of generators) {
    const silenceMs = load.journal(name).silenceMs(fromUs, nowUs())
    assert.ok(silenceMs < issueTimeoutMs, `${name} was silent for ${silenceMs} ms ${context}`)
  }
  assert.deepEqual([...load.errorTexts.values()], [], context)
}

/** Moves the clock of a server that runs, each round in another way. */
export async function liveJumps(t: TestContext, workerId: string, rounds: number): Promise<void> {
  const { server, clock } = await startWithClock(t, workerId)
  const load = new Load()
  load.start([server.resp], asks)
  await pause(300)
  for (let round = 0; round < rounds; round++) {
    const name = names[round % names.length]!
    const { to, forMs } = misfortunes[name]
    const fromUs = nowUs()
    clock.set(to())
    await pause(forMs)
    clock.set('+0')
    await pause(300)
    assertNeverStuck(load, fromUs, `with the clock ${name}`)
  }
  await load.stop()
  await assertUnpoisoned(server, 'after live jumps')
  assert.match(server.output(), /stands .* ahead; waiting/, 'the year ahead was seen')
  const aboveBound = countAboveBound(load, server.file)
  judge(t, load, strict, { name: `clock jumps, live (${workerId})`, rounds, aboveBound })
  await server.kill('SIGTERM')
}

/** Kills the server in each round, and starts it again with a clock that is wrong. */
export async function jumpsAtRestart(t: TestContext, workerId: string, rounds: number): Promise<void> {
  const { server, clock } = await startWithClock(t, workerId)
  const load = new Load()
  const recoveriesMs: number[] = []
  let aboveBound = 0
  for (let round = 0; round < rounds; round++) {
    const name = names[round % names.length]!
    // Half of the crashes come with the misfortune, half of them during it.
    const during = round % 2 === 0
    load.start([server.resp], asks)
    await pause(200)
    if (during) clock.set(misfortunes[name].to())
    await pause(200)
    await server.kill('SIGKILL')
    await load.stop()
    aboveBound += countAboveBound(load, server.file)
    clock.set(misfortunes[name].to())
    await server.start()
    const readyUs = nowUs()
    const before = new Map(generators.map((each) => [each, load.journal(each).count]))
    load.start([server.resp], asks)
    await pause(misfortunes[name].forMs)
    clock.set('+0')
    const isBack = () => generators.every((each) => load.journal(each).count > before.get(each)!)
    while (!isBack() && nowUs() < readyUs + 2_000_000) await pause(5)
    assert.ok(isBack(), `ids stayed away, started with the clock ${name}: ${[...load.errorTexts.values()]}`)
    recoveriesMs.push(Math.max(...generators.map((each) => firstAfterMs(load, each, readyUs))))
    await load.stop()
    await assertUnpoisoned(server, `after a start with the clock ${name}`)
  }
  assert.deepEqual([...load.errorTexts.values()], [])
  judge(t, load, strict, {
    name: `clock jumps and kill -9 (${workerId})`,
    rounds,
    aboveBound,
    recoveriesMs,
  })
}

function firstAfterMs(load: Load, generator: string, fromUs: number): number {
  const first = [...load.journal(generator).replies].find(({ receivedUs }) => receivedUs > fromUs)!
  return (first.receivedUs - fromUs) / 1000
}
