import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fuzzHttp } from './http.ts'

/** The same requests in each run; `npm run fuzz:http` sends others. */
const seed = 20_260_101

test('generated requests for every operation cause no fault, and refused ones use up no id', async () => {
  const { requests, ids, statuses } = await fuzzHttp({ after }, { runs: 150, seed })
  assert.ok(requests > 500 && ids > 100, `${requests} requests, ${ids} ids`)
  const answered = [...statuses.keys()].filter((key) => key.endsWith(' 200'))
  assert.ok(answered.length > 20, answered.join(', '))
})
