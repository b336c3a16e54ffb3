/**
 * The largest request of every command over RESP and of every operation over HTTP, on a node with 8,000 generators, by an
 * administrator and by a token with as many and as long patterns as there may be: how much of it is done between two
 * rounds of the event loop, in which all others wait.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Engine } from '../../../src/engine/engine.ts'
import { openAnyEngine } from '../../../src/legacy/open.ts'
import { RawClient } from '../../launch/raw-client.ts'
import type { RawReply } from '../../launch/raw-reply.ts'
import { compatRows, operationRows } from '../../unit/docs/permissions.ts'
import { type CrowdedNode, filling, measuredCommands, startCrowdedNode } from './crowded-node.ts'
import { largestOperation, sendLargest } from './largest.ts'
import { type Work, WorkMeter } from './work-meter.ts'

/** Blocks of code between two rounds: some 10 ms of a machine as it is now. */
const workMax = 3_000_000
/** The blocks that take as long as to parse a record and to copy it out of a store. */
const recordWork = 500
/** A number of words: to look for the names in them in all patterns of the token takes nearly twice `workMax`. */
const wordsOfToken = 64

let crowded: CrowdedNode
let meter: WorkMeter | undefined

before(async () => {
  crowded = await startCrowdedNode(async (...args) => counting(await openAnyEngine(...args)))
  meter = new WorkMeter()
})
after(async () => {
  meter?.close()
  await crowded.close()
})

for (const user of ['root', 'many'] as const) {
  describe(`a request of ${user === 'root' ? 'an administrator' : 'a token with the most patterns'} is done in turns`, () => {
    const own = user === 'root' ? filling : { ...filling, words: wordsOfToken, apart: false }
    for (const row of measuredCommands) {
      test(row.name, async () => {
        await sendLargest(row, own, async (request) => {
          const client = await RawClient.connect(crowded.respPort)
          await client.command('AUTH', user, user === 'root' ? 'any' : crowded.token)
          let reply: RawReply = null
          const work = await meter!.measure(async () => {
            reply = await client.command(...request)
          })
          await client.close()
          check(work, request.slice(0, 6).join(' '))
          return reply
        })
      })
    }
  })
}

describe('an HTTP request of a token with the most patterns is done in turns', async () => {
  const rows = [...(await operationRows()), ...compatRows()]
  // Afterwards no generator is in use.
  const last = rows.filter(({ path }) => path.endsWith('/advance'))
  for (const row of [...rows.filter((each) => !last.includes(each)), ...last]) {
    test(`${row.method} ${row.path}`, async () => {
      for (const { method, url, body } of largestOperation(row, filling)) {
        let status = 0
        const work = await meter!.measure(async () => {
          const answer = await crowded.app.inject({
            method: method as 'GET',
            url,
            headers: { host: 'localhost', authorization: `Bearer ${crowded.token}` },
            ...(body === undefined ? {} : { payload: body as object }),
          })
          status = answer.statusCode
        })
        check(work, `${method} ${url.slice(0, 60)} ${String(status)}`)
      }
    })
  }
})

/** The same engine; to read a record counts as work. */
function counting(engine: Engine): Engine {
  const { list, read } = engine
  return Object.assign(engine, {
    list: async (...args: Parameters<Engine['list']>) => {
      const records = await list.apply(engine, args)
      meter?.add(records.length * recordWork)
      return records
    },
    read: async (key: string) => {
      const record = await read.call(engine, key)
      meter?.add(recordWork)
      return record
    },
  })
}

function check({ most, total, rounds }: Work, what: string): void {
  if (process.env.SHOW_WORK !== undefined && total > 0) console.log(most, total, rounds, what.slice(0, 70))
  assert.ok(most <= workMax, `${what}: ${most} blocks of code at once, of ${total} in ${rounds} rounds`)
}
