/** Runs of many seeds of one scenario, one after another: what tests and `npm run sim` share. */
import { type Outcome, simulate } from './scenario.ts'

/** A seed that went wrong. */
export type Violation = { readonly scenario: string; readonly seed: number; readonly message: string }

/** How many seeds went how. */
export type Tally = {
  readonly seeds: number
  readonly violations: readonly Violation[]
  readonly cpuSeconds: number
  readonly ids: number
  readonly replies: number
  /** Longest time in which a generator issued nothing although nothing was wrong, in ms. */
  readonly longestGapMs: number
}

/** Which seeds to run. */
export type Seeds = {
  readonly scenario: string
  readonly first: number
  readonly count: number
  /** From one to the next; default 1. */
  readonly stride?: number
  /** Ends with the first violation. */
  readonly untilFound?: boolean
}

/** Stack traces are only useful when a seed is repeated. */
const stackLines = Error.stackTraceLimit

/** Runs the seeds. Every violation names the command that repeats it, and the events before it. `onSeed`: called after each. */
export async function runSeeds(
  { scenario, first, count, stride = 1, untilFound = false }: Seeds,
  onSeed?: () => void,
): Promise<Tally> {
  const before = process.cpuUsage()
  const violations: Violation[] = []
  let [seeds, ids, replies, longestGapMs] = [0, 0, 0, 0]
  Error.stackTraceLimit = 0
  for (let seed = first; seeds < count; seed += stride) {
    seeds++
    const outcome = await outcomeOf(scenario, seed)
    onSeed?.()
    if ('message' in outcome) {
      violations.push(outcome)
      if (untilFound) break
      continue
    }
    ids += outcome.issued
    replies += outcome.answered
    longestGapMs = Math.max(longestGapMs, outcome.longestGapMs)
  }
  Error.stackTraceLimit = stackLines
  const { user, system } = process.cpuUsage(before)
  return { seeds, violations, cpuSeconds: (user + system) / 1e6, ids, replies, longestGapMs }
}

async function outcomeOf(scenario: string, seed: number): Promise<Outcome | Violation> {
  try {
    return await simulate(scenario, seed)
  } catch (error) {
    return { scenario, seed, message: await toldAgain(scenario, seed, error as Error) }
  }
}

/** The same seed once more, and this time everything is written down. */
async function toldAgain(scenario: string, seed: number, { message }: Error): Promise<string> {
  const repeat = `again: npm run sim -- --scenario ${scenario} --first ${seed} --seeds 1`
  Error.stackTraceLimit = stackLines
  const told = await simulate(scenario, seed, true).then(
    () => `${message}\nand it did not happen again: something in it does not follow from the seed`,
    (error: Error) => `${error.message}\n${error.cause instanceof Error ? (error.cause.stack ?? '') : ''}`,
  )
  Error.stackTraceLimit = 0
  return `${told}\n${repeat}`
}
