import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import { Desk } from './desk.ts'

async function open(): Promise<Desk> {
  const desk = new Desk()
  await desk.namespaces.open()
  return desk
}

describe('ID.NAMESPACE', () => {
  test('sets, shows, lists and drops namespaces', async () => {
    const desk = await open()
    const words =
      'ID.NAMESPACE SET shop MATCH shop:* OWNER team-a RATE 1000 daily 5000 GENERATORS 50 WAITING 7'
    assert.equal(await desk.ask(...words.split(' ')), 'OK')
    await desk.ask('id.namespace set alice MATCH * USER alice')
    const figures = { issued: 0, refused: 0, waitingNow: 0 }
    const shop = {
      ...{ name: 'shop', match: 'shop:*', owner: 'team-a', idsPerSecond: 1000, idsPerDay: 5000 },
      ...{ generators: 50, waiting: 7, ...figures, shareOfDay: '0' },
    }
    const alice = { name: 'alice', match: '*', user: 'alice', ...figures, shareOfDay: null }
    assert.deepEqual(await desk.ask('ID.NAMESPACE GET shop'), shop)
    assert.equal(await desk.ask('ID.NAMESPACE GET other'), null)
    assert.deepEqual(await desk.ask('ID.NAMESPACE LIST'), [alice, shop])
    assert.equal(await desk.ask('ID.NAMESPACE DROP shop'), 1)
    assert.equal(await desk.ask('ID.NAMESPACE DROP shop'), 0)
  })

  test('is named in ID.INFO to readers that may name all of its pattern, and to no other', async () => {
    const desk = await open()
    desk.catalogue.add('shop:order', { kind: 'segment' })
    await desk.ask('ID.NAMESPACE SET everything MATCH * OWNER boss')
    await desk.ask('ID.NAMESPACE SET shop MATCH shop:* OWNER team-a')
    await desk.ask('ID.NAMESPACE SET robot MATCH * USER robot-7')
    const notesFor = async (...patterns: string[]) => {
      desk.session.access = new Access('reader', undefined, patterns)
      const { notes } = (await desk.ask('ID.INFO shop:order')) as { notes: string[] }
      return notes.filter((note) => note.includes('namespace'))
    }
    assert.deepEqual((await notesFor('*')).sort(), [
      "namespace 'everything' of boss counts its ids, on each node by itself",
      "namespace 'robot' counts the ids that robot-7 draws, on each node by itself",
      "namespace 'shop' of team-a counts its ids, on each node by itself",
    ])
    assert.deepEqual((await notesFor('shop:*')).sort(), [
      'a namespace counts ids of it, on each node by itself',
      "namespace 'shop' of team-a counts its ids, on each node by itself",
    ])
  })

  test('shows what was counted', async () => {
    const desk = await open()
    await desk.ask('ID.NAMESPACE SET shop MATCH * DAILY 10')
    const order = desk.meters.meter(desk.catalogue.add('order', { kind: 'segment' }), 'default')
    await order.draw(4)
    await assert.rejects(order.draw(7))
    const shown = (await desk.ask('ID.NAMESPACE GET shop')) as Record<string, unknown>
    assert.deepEqual([shown.issued, shown.refused, shown.shareOfDay], [4, 1, '0.4'])
  })

  test('refuses what is wrong', async () => {
    const desk = await open()
    const set = 'ID.NAMESPACE SET shop'
    const words =
      'ERR after the name come pairs of a word and a value, each word once: MATCH, OWNER, USER, RATE, DAILY, GENERATORS, LEASES, WAITING'
    await desk.refuses(
      [
        ['ID.NAMESPACE SET shop MATCH', "ERR wrong number of arguments for 'id.namespace|set' command"],
        [`${set} MATCH * RATE`, 'ERR syntax error'],
        [`${set} MATCH * SPEED 5`, words],
        [`${set} MATCH * MATCH x`, 'ERR option MATCH is given twice; give it once'],
        [
          `${set} RATE 5`,
          'ERR MATCH (match) must be text of 1 to 512 bytes without white space and control characters',
        ],
        [`${set} MATCH * RATE -5`, 'ERR RATE (idsPerSecond) must be a whole number from 1 to 1000000000'],
      ].map(([line, error]) => [line!.split(' '), error!] as const),
    )
  })
})
