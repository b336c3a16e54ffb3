/** Names that are chosen to collide under a hash without a key, beside as many random ones. */
import { startFahao } from '../test/launch/fahao.ts'
import type { Lifetime } from '../test/launch/lifetime.ts'
import { askEach, getOf, type NameRequest } from './name-links.ts'
import { processCpuUs } from './process-cpu.ts'
import type { Figure, Section } from './report.ts'
import { type Effort, interleaved, ratioOf, spreadOf } from './rounds.ts'

/** Hostile ones as a share of the time of random ones; the rest is what two processes of one kind differ by. */
const ratioMost = 1.15
const connections = 8
const pipeline = 128
/** How often a round asks each name: the time of a process is told in hundredths of a second. */
const timesEach = 10
/** Blocks of a name. Behind the beginning `7yzx`, both of `colliding` lead FNV-1a from its state to the same one. */
const blocks = 17
const colliding = ['epad', '33zx'] as const

type Kind = 'hostile' | 'random'
type Measured = { readonly seconds: number; readonly cpuUs: number }

/** GET of each name, again and again, on a server for each kind. */
export async function hostileNames(lifetime: Lifetime, effort: Effort): Promise<Section> {
  const count = effort.quick ? 20_000 : 100_000
  const args = ['--auto-create', '*=sequence', '--log-level', 'warn']
  const parties = new Map(
    await Promise.all(
      (['hostile', 'random'] as const).map(async (kind) => {
        const server = await startFahao(lifetime, { args })
        return [kind, { server, names: namesOf(kind, count) }] as const
      }),
    ),
  )
  const measure = async (kind: Kind, times: number, request?: NameRequest): Promise<Measured> => {
    const { server, names } = parties.get(kind)!
    const requests = count * times
    const before = processCpuUs(server.pid)
    const seconds = await askEach(server.resp, {
      count: requests,
      connections,
      pipeline,
      ...(request && { request }),
      nameOf: (index) => names[index % count]!,
    })
    return { seconds, cpuUs: (processCpuUs(server.pid) - before) / requests }
  }
  const created = { hostile: await measure('hostile', 1), random: await measure('random', 1) }
  for (const kind of parties.keys()) await measure(kind, 1, getOf)
  const rounds = await interleaved([...parties.keys()], effort.rounds, (kind) =>
    measure(kind, timesEach, getOf),
  )
  const of = (kind: Kind, what: keyof Measured) => rounds.get(kind)!.map((each) => each[what])
  const figure = (what: string, unit: string, values: readonly number[]): Figure => ({
    what,
    unit,
    ...spreadOf(values),
  })
  return {
    name: `Keys: ${count.toLocaleString('en-US')} names with one FNV-1a hash`,
    how: `GET of each name ${timesEach} times in a round, over ${connections} connections in pipelines of ${pipeline}, beside as many random names of the same length on another server; interleaved, ratios round by round, median of ${effort.rounds}. INCR has created each. GET finds the name and waits for no refill.`,
    figures: [
      {
        what: 'server CPU per request to random names',
        unit: '×',
        budget: { most: ratioMost },
        ...ratioOf(of('hostile', 'cpuUs'), of('random', 'cpuUs')),
      },
      {
        what: 'time to random names',
        unit: '×',
        ...ratioOf(of('hostile', 'seconds'), of('random', 'seconds')),
      },
      figure('creation, CPU to random names', '×', [created.hostile.cpuUs / created.random.cpuUs]),
      figure('hostile names: CPU per request', 'µs', of('hostile', 'cpuUs')),
      figure('random names: CPU per request', 'µs', of('random', 'cpuUs')),
    ],
  }
}

function namesOf(kind: Kind, count: number): string[] {
  const names = new Set<string>()
  for (let number = 0; names.size < count; number++) {
    const block = (at: number) =>
      kind === 'hostile'
        ? colliding[(number >> at) & 1]!
        : Math.random().toString(36).slice(2, 6).padEnd(4, '0')
    names.add(`7yzx${Array.from({ length: blocks }, (_, at) => block(at)).join('')}`)
  }
  return [...names]
}
