/** The faults that the simulation is tried with still fit the source. That it finds them: `npm run sim -- --mutations`. */
import { test } from 'node:test'
import { mutations } from './mutations.ts'
import { mutated } from './put-back.ts'

for (const mutation of mutations) test(`can be put back: ${mutation.fault}`, () => void mutated(mutation))
