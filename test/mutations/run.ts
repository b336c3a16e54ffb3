/**
 * npm run mutations: puts each safety fault into a copy of the source and runs the test file that must fail then.
 *
 *     npm run mutations                    all
 *     npm run mutations -- --fault lease   those whose description contains the word
 */
import { parseArgs } from 'node:util'
import { mutations } from './mutations.ts'
import { failingTest } from './put-back.ts'

const { values } = parseArgs({ options: { fault: { type: 'string', default: '' } } })
console.log('| fault put into the source | test file that fails | first test that fails |\n|---|---|---|')
for (const mutation of mutations.filter(({ fault }) => fault.includes(values.fault))) {
  const title = await failingTest(mutation)
  if (title === undefined) process.exitCode = 1
  console.log(`| ${mutation.fault} | ${mutation.foundBy} | ${title ?? '**none**'} |`)
}
