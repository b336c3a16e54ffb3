/** Ids without a network: the library and its peers on npm, in one process. */
import type { Lifetime } from '../test/launch/lifetime.ts'
import type { Lap } from './in-process-probe.ts'
import { runProbe } from './probe.ts'
import type { Budget, Section } from './report.ts'
import { type Effort, spreadOf } from './rounds.ts'

const snowflake: Budget = { most: 20 }
const budgets: Readonly<Record<string, Budget>> = {
  'fahao/ids: snowflake, bigint': snowflake,
  'fahao/ids: snowflake, decimal string': { most: 80 },
  'openFahao: snowflake, tryNext, bigint': snowflake,
  'openFahao: sequence, tryNextNumber': { most: 5 },
  'openFahao: segment, tryNextNumber': { most: 5 },
  'openFahao: sequence, decimal string': { most: 30 },
  'openFahao: sequence, text of 19 digits': { most: 60 },
  'openFahao: sequence, text of 19 digits, and its last digit': { most: 80 },
  'openFahao: segment, while a refill is due': { most: 25 },
  'openFahao: segment, default step, tight loop': { most: 25 },
}

/** Nanoseconds per id. */
export async function inProcess(_lifetime: Lifetime, { rounds, quick, before }: Effort): Promise<Section[]> {
  const probe = (...build: string[]) =>
    runProbe<Lap[]>('in-process-probe.ts', `${rounds}`, quick ? '50' : '200', ...build)
  const figuresOf = (laps: readonly Lap[], prefix: string, own: typeof budgets) =>
    [...new Set(laps.map(({ name }) => name))].map((name) => ({
      what: prefix + name,
      unit: 'ns',
      ...(own[name] && { budget: own[name] }),
      ...spreadOf(laps.filter((lap) => lap.name === name).map(({ ns }) => ns)),
    }))
  return [
    {
      name: 'In process: one id',
      how: `mitata in a process of its own, every contender once per round; median of ${rounds} rounds, each the median of its loops of 1000 ids.`,
      figures: [
        ...figuresOf(await probe(), '', budgets),
        ...(before === undefined ? [] : figuresOf(await probe(before), 'the earlier build: ', {})),
      ],
    },
  ]
}
