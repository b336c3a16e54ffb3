/** Requests with keys on each engine of a cluster; short/once.test.ts has few of them. */
import { after, describe, test } from 'node:test'
import { runsOn } from './campaign.ts'
import { clusterEngines } from './cluster-engines.ts'
import { onceEach } from './once.ts'

const requests = process.env.FAULT_ROUNDS === undefined ? 1000 : 50_000

for (const [name, start] of Object.entries(clusterEngines).filter(([name]) => runsOn(name, ['PostgreSQL'])))
  describe(`a cluster on ${name}`, async () => {
    const engine = await start({ after })
    test(
      'answers each request with a key once, whichever leaders end and answers are lost',
      {
        timeout: 1_800_000,
      },
      (t) => onceEach(t, engine, requests),
    )
  })
