/**
 * npm run fuzz:sql: statements at random, edited and as they are, on two MariaDB servers.
 *
 *     npm run fuzz:sql -- --statements 200000
 *     npm run fuzz:sql -- --statements 1000 --seed 42
 *     npm run fuzz:sql -- --minutes 5
 */
import { parseArgs } from 'node:util'
import { inScope } from '../../../launch/lifetime.ts'
import { fuzzSql } from './fuzz.ts'
import { startDatabases } from './stage.ts'

const { values } = parseArgs({
  options: {
    statements: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
})
const { seed, minutes, statements = minutes === undefined ? '100000' : 'Infinity' } = values
await inScope(async (scope) => {
  const databases = await startDatabases(scope)
  const signal = minutes === undefined ? undefined : AbortSignal.timeout(Number(minutes) * 60_000)
  const options = { seed: Number(seed), statements: Number(statements), signal }
  const { counts, failures } = await fuzzSql(scope, databases, options)
  for (const [key, count] of [...counts].sort()) console.log(`${key}: ${count}`)
  console.log(failures.length === 0 ? 'no deviation' : failures.join('\n'))
  if (failures.length > 0) process.exitCode = 1
})
