/**
 * DBSIZE: how many generators a user may name. All of these are read, which takes a minute where they are millions. So a
 * count that took longer than `slowUs` is answered again for `keptTimes` as long, and callers that come while it is read share
 * it: clients that ask every second cost a node a small part of its time.
 */
import type { Access } from '../auth/access.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { isServedHere } from './cluster-table.ts'
import type { CommandContext } from './context.ts'
import { everyGenerator } from './generator-names.ts'

const slowUs = 1_000_000
const keptTimes = 20

type Count = { readonly fromUs: number; readonly found: Promise<number>; untilUs: number }

/** The counts of one server, by what a user may name: a change of the user's rights begins another one. */
export class NamesCount {
  readonly #counts = new WeakMap<Access, Count>()
  readonly #clock: Clock

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Counts the generators that the user may name and this node serves. */
  of(context: CommandContext): Promise<number> {
    const { access } = context.session
    const nowUs = this.#clock.monoUs()
    const known = this.#counts.get(access)
    if (known !== undefined && nowUs > known.fromUs + slowUs && nowUs < known.untilUs)
      // The client that began it may have gone, and ended it.
      return known.found.catch(() => this.of(context))
    const count: Count = { fromUs: nowUs, found: countNames(context), untilUs: Number.POSITIVE_INFINITY }
    this.#counts.set(access, count)
    const settled = () => {
      const tookUs = this.#clock.monoUs() - nowUs
      count.untilUs = tookUs > slowUs ? nowUs + tookUs * (keptTimes + 1) : 0
    }
    count.found.then(settled, () => this.#counts.delete(access))
    return count.found
  }
}

async function countNames(context: CommandContext): Promise<number> {
  let count = 0
  const isOwn = isServedHere(context)
  for await (const part of everyGenerator(context)) count += part.filter(({ name }) => isOwn(name)).length
  return count
}
