import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestFigures } from '../../../src/listening/request-figures.ts'
import { ConnectionMessages } from '../../../src/postgres/connection-messages.ts'
import { Output } from '../../../src/postgres/output.ts'
import { message, startup } from './serve.ts'

type Session = ConstructorParameters<typeof ConnectionMessages>[0]
type Host = ConstructorParameters<typeof ConnectionMessages>[1]

test('no session begins while a password is checked: its messages would go to the client that is served then', async () => {
  const output = new Output()
  let begun = 0
  const node = {
    get catalogue() {
      begun++
      return assert.fail('the rest of a session is not part of this test')
    },
  }
  const access = { users: { get: () => ({}) }, initial: { user: '' }, login: async () => ({}) }
  const figures = new RequestFigures()
  const host = {
    output,
    figures,
    access,
    hasTls: false,
    node,
    onError() {},
  } as unknown as Host
  const messages = new ConnectionMessages({ address: '127.0.0.1:5000' } as unknown as Session, host)
  messages.frames.push(Buffer.concat([startup({ user: 'app' }), message('p', 'secret')]))
  assert.equal(messages.advance(), 'answered')
  output.take()
  const write = await messages.advance()
  assert.equal(begun, 0)
  assert.equal(output.length, 0)
  assert.ok(typeof write === 'function')
  write()
  assert.equal(begun, 1)
})
