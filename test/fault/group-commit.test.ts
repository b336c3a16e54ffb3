/** A sequence on several nodes and one database, without a cluster: strict in real time, whichever node is asked. */
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFahao } from '../launch/fahao.ts'
import { create, judge } from './campaign.ts'
import { databases } from './databases.ts'
import { type Ask, Load } from './load.ts'

const idsWanted = process.env.FAULT_ROUNDS === undefined ? 15_000 : 5_000_000

for (const [name, start] of Object.entries(databases)) {
  describe(`three nodes on ${name}`, () => {
    test('issue one sequence in the order of real time to clients that ask them in turn', {
      timeout: 900_000,
    }, async (t) => {
      const database = await start(t)
      const engine = await database.newDatabase()
      const nodes = await Promise.all(
        [1, 2, 3].map(() => startFahao(t, { engine, args: ['--log-level', 'warn'] })),
      )
      await create(await nodes[0]!.connect(), 'order', 'sequence')
      const load = new Load()
      const one: Ask = { generator: 'order', command: ['INCR', 'order'] }
      const many: Ask = { generator: 'order', command: ['ID.NEXT', 'order', 'COUNT', 500] }
      load.startInTurn(
        nodes.map(({ resp }) => resp),
        [...Array<Ask>(24).fill(one), ...Array<Ask>(8).fill(many)],
      )
      while (load.count < idsWanted && load.errors.size === 0) await pause(50)
      await load.stop()
      judge(t, load, ['order'], { name: `group commit on ${name}`, rounds: 1 })
      if (load.errors.size > 0) throw new Error([...load.errorTexts.values()].join('\n'))
    })
  })
}
