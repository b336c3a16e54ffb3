/** Holes in numbers of GAPS none, counted on each engine; short/gaps.test.ts has SQLite. */
import { type TestContext, test } from 'node:test'
import { startEtcd } from '../launch/etcd.ts'
import { roundsOf } from './campaign.ts'
import { databases } from './databases.ts'
import { killedWithoutGaps } from './missing-numbers.ts'

const kills = roundsOf(2, 0.05)

const engines: Readonly<Record<string, (t: TestContext) => Promise<string | undefined>>> = {
  SQLite: async () => undefined,
  etcd: async (t) => (await startEtcd(t)).url('gaps'),
  ...Object.fromEntries(
    Object.entries(databases).map(([name, start]) => [
      name,
      async (t: TestContext) => (await start(t)).newDatabase(),
    ]),
  ),
}

for (const [name, start] of Object.entries(engines))
  test(
    `a server on ${name} that is killed loses one batch at most, and none of callers with keys`,
    {
      timeout: 600_000,
    },
    async (t) => killedWithoutGaps(t, kills, await start(t)),
  )
