/** A database that goes away in every way that it can. */
import { describe, test } from 'node:test'
import { secondsOf } from './campaign.ts'
import { databases } from './databases.ts'
import { outage, outagesOf } from './outage-database.ts'

const outages = [
  outage.frozen(secondsOf(4, 60)),
  outage.killed(secondsOf(2, 10)),
  outage.readOnly(secondsOf(3, 30)),
]

for (const [name, start] of Object.entries(databases)) {
  describe(`a node whose ${name} goes away`, () => {
    test(
      'goes on with segments and snowflakes, refuses strict ids clearly, and recovers by itself',
      {
        timeout: 900_000,
      },
      (t) => outagesOf(t, name, start, outages, secondsOf(4, 60)),
    )
  })
}
