/**
 * npm run fuzz:http: generated requests against a real server, for every operation of the OpenAPI document and the compatible APIs.
 *
 *     npm run fuzz:http -- --runs 5000              up to ten requests each
 *     npm run fuzz:http -- --runs 100 --seed 42     what a failure has printed
 */
import { parseArgs } from 'node:util'
import { Scope } from '../launch/lifetime.ts'
import { fuzzHttp } from './http.ts'

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '2000' }, seed: { type: 'string' } },
})
const scope = new Scope()
try {
  const seed = values.seed === undefined ? undefined : Number(values.seed)
  const { requests, ids, statuses } = await fuzzHttp(scope, { runs: Number(values.runs), seed })
  for (const [key, count] of [...statuses].sort()) console.log(`${key}: ${count}`)
  console.log(`${requests} requests, ${ids} ids; no fault, and no id lost to a refused request`)
} finally {
  await scope.end()
}
