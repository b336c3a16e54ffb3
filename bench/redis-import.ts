/** How long `fahao import` takes with the counters of a Redis, while clients count on. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { runProgram } from '../test/launch/program.ts'
import { RawClient } from '../test/launch/raw-client.ts'
import { startRedis } from '../test/launch/redis.ts'
import { processCpuUs } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, spreadOf } from './rounds.ts'

const writers = 8
/** The pause of a client after each number: together they ask for about a thousand a second. */
const pauseMs = 8
const keysPerCommand = 10_000

/** A hundred thousand counters into SQLite, or as many as are wanted. */
export async function redisImport(lifetime: Lifetime, { quick, names }: Effort): Promise<Section> {
  const count = names ?? (quick ? 20_000 : 100_000)
  const redis = await startRedis(lifetime)
  const server = await startFahao(lifetime, { args: ['--log-level', 'warn'] })
  const filling = await RawClient.connect(redis.port, lifetime)
  for (let from = 0; from < count; from += keysPerCommand) {
    const pairs = Array.from({ length: Math.min(keysPerCommand, count - from) }, (_, at) => [
      `room:${from + at}`,
      `${from + at}`,
    ])
    await filling.command('MSET', ...pairs.flat())
  }
  const traffic = new Traffic(count)
  const clients = Array.from({ length: writers }, async () =>
    traffic.run(
      await RawClient.connect(redis.port, lifetime),
      await RawClient.connect(server.resp, lifetime),
    ),
  )
  const fromUs = processCpuUs(server.pid)
  const fromMs = performance.now()
  const [from, into] = [redis.port, server.resp].map((port) => `redis://127.0.0.1:${port}`)
  const program = join(import.meta.dirname, '../dist/fahao.js')
  await runProgram([process.execPath, program, 'import', 'room:*', '--from', from!, '--into', into!])
  const seconds = (performance.now() - fromMs) / 1000
  const cpuUs = processCpuUs(server.pid) - fromUs
  traffic.end()
  await Promise.all(clients)
  const figure = (what: string, unit: string, value: number, most?: number): Figure => ({
    what,
    unit,
    ...(most !== undefined && { budget: { most } }),
    ...spreadOf([value]),
  })
  return {
    name: `Import of ${count.toLocaleString('en-US')} counters of a Redis`,
    how: `\`fahao import 'room:*'\` into SQLite, from its start to its end, while ${writers} clients count on: on Redis until a key is closed there, then on Fahao. One run.`,
    figures: [
      figure('the import', 's', seconds),
      figure('counters a second', '', count / seconds),
      figure('server CPU per counter', 'µs', cpuUs / count),
      figure('numbers that clients got meanwhile', '', traffic.numbers),
      figure('numbers not above the one before of their counter', '', traffic.wrong, 0),
      figure('the longest time without the number of a counter', 'ms', traffic.waitMsMax),
    ],
  }
}

/** Clients that count each key in turn, on Redis until it is closed there. */
class Traffic {
  numbers = 0
  wrong = 0
  waitMsMax = 0
  readonly #newest: Float64Array
  #isOver = false

  constructor(count: number) {
    // A counter begins at its own number.
    this.#newest = Float64Array.from({ length: count }, (_, index) => index)
  }

  end(): void {
    this.#isOver = true
  }

  async run(old: RawClient, client: RawClient): Promise<void> {
    while (!this.#isOver) {
      const index = Math.floor(Math.random() * this.#newest.length)
      const before = this.#newest[index]!
      const sentMs = performance.now()
      const number = await this.#numberOf(`room:${index}`, old, client)
      this.waitMsMax = Math.max(this.waitMsMax, performance.now() - sentMs)
      // A number that another client had got before this request was sent is smaller.
      if (number <= before) this.wrong++
      this.#newest[index] = Math.max(this.#newest[index]!, number)
      this.numbers++
      await pause(pauseMs)
    }
  }

  async #numberOf(key: string, old: RawClient, client: RawClient): Promise<number> {
    for (;;) {
      for (const side of [old, client]) {
        const reply = await side.command('INCR', key)
        if (typeof reply === 'bigint') return Number(reply)
      }
      await pause(pauseMs)
    }
  }
}
