/** Logins: whether their times tell users apart, what a reconnect costs, and how the event loop fares meanwhile. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Logins } from '../src/auth/logins.ts'
import { digestOf, Passwords } from '../src/auth/passwords.ts'
import { type Clock, systemClock } from '../src/base/clock.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { loginAtServer } from './login-server.ts'
import type { Figure, Section } from './report.ts'
import type { Effort } from './rounds.ts'
import { effectOf, figuresOf, timesOf } from './told-apart.ts'

const reconnects = 2000
const guesses = 100
/** A thirty-second of the present cost: a smaller derivation shows a difference beside it more clearly. */
const lowCost = { ln: 10, r: 8, p: 1 }
const kinds = ['unknown user', 'user that is off', 'user with one password', 'user with two passwords']
/** What a leak would look like: a user whose passwords have two salts. The test must tell it apart. */
const leaking = 'user with two salts'

/** The decision about logins in process, then logins at a server. */
export async function login(lifetime: Lifetime, effort: Effort): Promise<Section[]> {
  return [await byTime(effort), await byLoad(), ...(await loginAtServer(lifetime, effort))]
}

async function byTime({ quick }: Effort): Promise<Section> {
  const passwords = new Passwords(lowCost)
  const users = await usersOf(passwords)
  // The clock leaps before each attempt that is to be checked, so that no limit is reached.
  let leapUs = 0
  const clock: Clock = { ...systemClock, monoUs: () => systemClock.monoUs() + leapUs }
  const logins = new Logins(passwords, clock)
  const attempt = async (kind: string, password: string, outcome: string) => {
    const hashes = () => users.get(kind)
    const start = process.hrtime.bigint()
    const result = await logins.login({ user: kind, password, address: '192.0.2.1', hashes })
    const time = Number(process.hrtime.bigint() - start) / 1000
    if (result.outcome !== outcome) throw new Error(`${kind} got ${result.outcome}, not ${outcome}`)
    return time
  }
  const rounds = quick ? 300 : 2000
  await timesOf([...kinds, leaking], 20, (kind, round) => {
    leapUs += 200_000_000
    return attempt(kind, `early ${round}`, 'wrong')
  })
  const wrong = await timesOf([...kinds, leaking], rounds, (kind, round) => {
    leapUs += 200_000_000
    return attempt(kind, `wrong ${round}`, 'wrong')
  })
  const control = effectOf(wrong.get(leaking)!, wrong.get(kinds[0]!)!)
  wrong.delete(leaking)
  // From here on the address is limited: the clock stands still.
  leapUs = 0
  const frozen = new Logins(passwords, { ...systemClock, monoUs: () => 0 })
  for (let n = 0; n < 10; n++) {
    await frozen.login({ user: 'x', password: `${n}`, address: '192.0.2.1', hashes: () => undefined })
  }
  const limited = await timesOf(kinds, rounds * 10, async (kind, round) => {
    const hashes = () => users.get(kind)
    const start = process.hrtime.bigint()
    const { outcome } = await frozen.login({
      user: kind,
      password: `wrong ${round}`,
      address: '192.0.2.1',
      hashes,
    })
    const time = Number(process.hrtime.bigint() - start) / 1000
    if (outcome !== 'limited') throw new Error(`${kind} got ${outcome}`)
    return time
  })
  return {
    name: 'Logins, told apart by time',
    how: `A wrong password for each kind of user in turn, in an order that changes; ${rounds} rounds with a derivation (N = 2^${lowCost.ln}), ${rounds * 10} of an address that is limited. The effect is that of the Mann-Whitney test: 0 for times that tell nothing, 0.5 for times that tell all.`,
    figures: [
      ...figuresOf('wrong password', wrong),
      figure(`control, ${leaking} beside ${kinds[0]}: effect`, '', control, { least: 0.3 }),
      ...figuresOf('limited', limited),
    ],
  }
}

async function byLoad(): Promise<Section> {
  const passwords = new Passwords()
  const hashes = [await passwords.hashPassword('secret')]
  const logins = new Logins(passwords, systemClock)
  const reconnect = () =>
    logins.login({ user: 'alice', password: 'secret', address: '192.0.2.1', hashes: () => hashes })
  const [firstMs] = await measured(reconnect)
  const [, cpuMs] = await measured(() => Promise.all(Array.from({ length: reconnects }, reconnect)))
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const [guessMs, guessCpuMs] = await measured(() =>
    Promise.all(Array.from({ length: guesses }, (_, n) => passwords.find(hashes, digestOf(`guess ${n}`)))),
  )
  delay.disable()
  return {
    name: 'Logins, under load',
    how: `${reconnects} logins with a password that was right before, at once; then ${guesses} wrong ones, hashed at the present cost, two at a time.`,
    figures: [
      figure('first login', 'ms', firstMs),
      figure(`${reconnects} reconnects: processor time`, 'ms', cpuMs, { most: 1000 }),
      figure(`${guesses} wrong logins: time`, 'ms', guessMs),
      figure(`${guesses} wrong logins: processor time of each`, 'ms', guessCpuMs / guesses),
      figure('event loop, delay meanwhile: p99', 'ms', delay.percentile(99) / 1e6, { most: 20 }),
      figure('event loop, delay meanwhile: longest', 'ms', delay.max / 1e6),
    ],
  }
}

/** Time and processor time of some work, in ms. */
async function measured(work: () => Promise<unknown>): Promise<[ms: number, cpuMs: number]> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return [performance.now() - start, (user + system) / 1000]
}

async function usersOf(passwords: Passwords): Promise<Map<string, readonly string[]>> {
  const one = await passwords.hashPassword('one')
  const two = await passwords.hashPassword('two', [one])
  return new Map([
    ['user with one password', [one]],
    ['user with two passwords', [one, two]],
    [leaking, [one, await passwords.hashPassword('three')]],
  ])
}

function figure(what: string, unit: string, value: number, budget?: Figure['budget']): Figure {
  return { what, unit, value, low: value, high: value, ...(budget && { budget }) }
}
