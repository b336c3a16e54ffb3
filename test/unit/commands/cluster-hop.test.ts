import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasCode } from '../../../src/base/errors.ts'
import { Moved } from '../../../src/base/moved.ts'
import type { ClusterView } from '../../../src/commands/context.ts'
import { AnswerLost, answerHere, sendToLeader, Unreachable } from '../../../src/commands/forward.ts'

const details = { node: 'second', slot: 1234, resp: '127.0.0.1:1', http: undefined }
const cluster = { leadWithin: async () => ({ state: 'here' }) } as unknown as ClusterView

test('a draw that is repeated here is sent on, and never refused as moved, if the leadership has just gone on', async () => {
  const third = { ...details, node: 'third' }
  const repeat = (send: (node: string) => Promise<string>) =>
    sendToLeader<string>(cluster, details, {
      onlyDraws: true,
      send: ({ node }) => send(node),
      isNotLed: () => false,
      answerHere: () => {
        throw new Moved(third)
      },
    })
  const lost = new AnswerLost('127.0.0.1:1', 'it closed the connection')
  assert.equal(await repeat(async (node) => (node === 'third' ? node : Promise.reject(lost))), 'third')
  await assert.rejects(
    repeat(() => Promise.reject(lost)),
    (error) => hasCode(error, 'UNKNOWN'),
  )
})

test('a draw that is lost twice at a leader which is being killed goes to its successor', async () => {
  const second = { id: 'second', resp: '127.0.0.1:1', http: undefined }
  const draw = (successor: object) => {
    const view = {
      leadWithin: async (_slot: number, _signal: unknown, _waits: boolean, other?: string) =>
        other === undefined ? { state: 'elsewhere', node: second } : successor,
    } as unknown as ClusterView
    return sendToLeader<string>(view, details, {
      onlyDraws: true,
      send: async ({ node, resp }) => {
        if (node === 'second') throw new AnswerLost(String(resp), 'read ECONNRESET')
        return node
      },
      isNotLed: () => false,
      answerHere: () => 'here',
    })
  }
  assert.equal(await draw({ state: 'elsewhere', node: { ...second, id: 'third' } }), 'third')
  assert.equal(await draw({ state: 'here' }), 'here')
  await assert.rejects(draw({ state: 'nobody' }), (error) => hasCode(error, 'UNKNOWN'))
})

test('a request that another node has forwarded goes no further', async () => {
  const answer = answerHere<string>(cluster, details, () => {
    throw new Moved(details)
  })
  await assert.rejects(answer, (error) => hasCode(error, 'CLUSTERDOWN'))
})

test('a request whose leader has ended follows the leadership to a successor, and on from there', async () => {
  const nodes = ['third', 'fourth'].map((id) => ({ id, resp: `${id}:1`, http: undefined }))
  const view = {
    leadWithin: async () => ({ state: 'elsewhere', node: nodes.shift() }),
  } as unknown as ClusterView
  const answer = await sendToLeader<string>(view, details, {
    onlyDraws: false,
    send: async ({ node, resp }) => {
      if (node === details.node) throw new Unreachable(String(resp), 'connection refused')
      return node
    },
    isNotLed: (node) => node === 'third',
    answerHere: () => 'here',
  })
  assert.equal(answer, 'fourth')
})
