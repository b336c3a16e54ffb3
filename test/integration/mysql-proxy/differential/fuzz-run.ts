/**
 * npm run fuzz:sql: hostile statements and statements at random, through the proxy into tables with guards.
 *
 *     npm run fuzz:sql -- --statements 200000
 *     npm run fuzz:sql -- --statements 1000 --seed 42
 */
import { parseArgs } from 'node:util'
import { inScope } from '../../../launch/lifetime.ts'
import { fuzzSql } from './fuzz.ts'

const { values } = parseArgs({
  options: { statements: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
})
await inScope(async (scope) => {
  const options = { seed: Number(values.seed), statements: Number(values.statements) }
  const { counts, failures } = await fuzzSql(scope, options)
  for (const [key, count] of [...counts].sort()) console.log(`${key}: ${count}`)
  console.log(
    failures.length === 0
      ? 'no row without an id, with another’s, or with other values than directly'
      : failures.join('\n'),
  )
  if (failures.length > 0) process.exitCode = 1
})
