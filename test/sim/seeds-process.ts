/** A process of `npm run sim`: runs the seeds that it is told, and tells when one is over, and how all went. */
import { runSeeds, type Seeds } from './seeds.ts'

const tally = await runSeeds(JSON.parse(process.argv[2]!) as Seeds, () => process.send!('seed'))
process.send!(tally, undefined, undefined, () => process.exit())
