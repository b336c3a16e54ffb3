/** Whether two kinds of requests can be told apart by their times. */
import type { Figure } from './report.ts'
import { spreadOf } from './rounds.ts'

/** Largest effect that counts as none. An observer who guesses the kind from one time is right in 60 of 100 cases. */
const effectMax = 0.1

/**
 * The effect size of the Mann-Whitney test: the distance from 1/2 of the probability that a time of one kind is longer than
 * one of the other. 0: the times do not tell the kinds apart; 0.5: each time does. It depends on ranks alone, so a few
 * long times on a busy machine do not hide or feign a difference.
 */
export function effectOf(times: readonly number[], others: readonly number[]): number {
  const all = [...times.map((time) => ({ time, own: true })), ...others.map((time) => ({ time, own: false }))]
  all.sort((a, b) => a.time - b.time)
  let longer = 0
  let below = 0
  for (let start = 0; start < all.length; ) {
    let end = start
    let [own, other] = [0, 0]
    for (; end < all.length && all[end]!.time === all[start]!.time; end++) {
      if (all[end]!.own) own++
      else other++
    }
    longer += own * (below + other / 2)
    below += other
    start = end
  }
  return Math.abs(longer / (times.length * others.length) - 0.5)
}

/** Times of each kind: every kind once per round, in an order that changes from round to round. */
export async function timesOf<Kind>(
  kinds: readonly Kind[],
  rounds: number,
  timeOf: (kind: Kind, round: number) => Promise<number>,
): Promise<Map<Kind, number[]>> {
  const times = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]))
  for (let round = 0; round < rounds; round++) {
    const order = kinds.map((kind) => ({ kind, place: Math.random() })).sort((a, b) => a.place - b.place)
    for (const { kind } of order) times.get(kind)!.push(await timeOf(kind, round))
  }
  return times
}

/** Each kind beside the first one: its median time, and the effect with its budget. Times are in µs. */
export function figuresOf(what: string, times: ReadonlyMap<string, readonly number[]>): Figure[] {
  const [[first, reference]] = times as unknown as [[string, readonly number[]]]
  return [...times].flatMap(([kind, each]) => {
    const { value } = spreadOf(each)
    const median = { what: `${what}, ${kind}: time`, unit: 'µs', value, low: value, high: value }
    if (kind === first) return [median]
    const effect = effectOf(each, reference)
    // Four standard deviations of chance, where there are too few times for the stated effect.
    const chance = 4 * Math.sqrt(1 / (12 * each.length) + 1 / (12 * reference.length))
    return [
      median,
      {
        what: `${what}, ${kind} beside ${first}: effect`,
        unit: '',
        value: effect,
        low: effect,
        high: effect,
        budget: { most: Math.max(effectMax, chance) },
      },
    ]
  })
}
