/**
 * npm run fuzz:mysql: conversations at random through the MySQL proxy's relay, without sockets.
 *
 *     npm run fuzz:mysql -- --runs 100000              of each sort
 *     npm run fuzz:mysql -- --runs 1000 --seed 42      what a failure has printed
 */
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { checkHonest, checkHostile, honest, hostile } from './mysql.ts'

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '20000' }, seed: { type: 'string' } },
})
const numRuns = Number(values.runs)
const options = { numRuns, ...(values.seed !== undefined && { seed: Number(values.seed) }) }
await fc.assert(fc.asyncProperty(honest, checkHonest), options)
await fc.assert(fc.asyncProperty(hostile, checkHostile), options)
console.log(`${numRuns} honest and ${numRuns} hostile conversations; no fault, and no byte that was not sent`)
